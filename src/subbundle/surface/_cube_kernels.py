"""Numba loops over grid cells: dual marching cubes.

A field may be signed only locally: ``gauge`` [X, Y, Z, 3] then holds, at every grid point, a vector to the side that is
positive there, and values are compared after their signs have been made to agree. For a globally signed field ``gauge``
is empty, [0, 0, 0, 3].
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel


@kernel
def count_loops(field, gauge, loops_of, first):
    """Number the dual vertices cell by cell: ``first`` [X, Y, Z] is −1, or the number of the cell's first vertex."""
    count = 0
    first[-1], first[:, -1], first[:, :, -1] = -1, -1, -1
    for i in range(field.shape[0] - 1):
        for j in range(field.shape[1] - 1):
            near = _column(field, i, j, 0)
            for k in range(field.shape[2] - 1):
                first[i, j, k] = -1
                before, near = near, _column(field, i, j, k + 1)
                # Most cells have one sign, which the bits of two layers of four corners show.
                if gauge.shape[0] == 0:
                    case = before | near << 4 if before >= 0 and near >= 0 else -1
                else:
                    case = _case(field, gauge, i, j, k)
                if 0 < case < 255:
                    first[i, j, k] = count
                    count += loops_of[case]
    return count


@kernel(inline="always")
def _column(field, i, j, k):
    """Bits x + 2y of the positive corners at height ``k`` of the cells (i, j); −1 when one is unknown."""
    a, b, c, d = field[i, j, k], field[i + 1, j, k], field[i, j + 1, k], field[i + 1, j + 1, k]
    total = a + b + c + d
    return (a > 0.0) | (b > 0.0) << 1 | (c > 0.0) << 2 | (d > 0.0) << 3 if total == total else -1


@kernel(inline="always")
def _value(field, gauge, i, j, k, x, y, z):
    """The field at (x, y, z), its sign relative to the gauge at the grid point (i, j, k)."""
    value = field[x, y, z]
    if gauge.shape[0] > 0:
        side = 0.0
        for axis in range(3):
            side += gauge[i, j, k, axis] * gauge[x, y, z, axis]
        if side < 0.0:
            return -value
    return value


@kernel
def _case(field, gauge, i, j, k):
    """Bit c is set where corner c = x + 2y + 4z is positive; −1 when a corner is unknown."""
    case = 0
    for corner in range(8):
        x, y, z = i + (corner & 1), j + ((corner >> 1) & 1), k + (corner >> 2)
        value = _value(field, gauge, i, j, k, x, y, z)
        if np.isnan(value):
            return -1
        if value > 0.0:
            case |= 1 << corner
    return case


@kernel
def place_vertices(field, gauge, cells, first, loop_of, vertices):
    """Vertex of every loop of the ``cells`` [c, 3]: the mean of its crossings, linear along the edges, in cells."""
    tally = np.zeros(vertices.shape[0])
    for c in range(cells.shape[0]):
        i, j, k = cells[c, 0], cells[c, 1], cells[c, 2]
        case = _case(field, gauge, i, j, k)
        for edge in range(12):
            loop = loop_of[case, edge]
            if loop < 0:
                continue
            axis, low = edge // 4, edge % 4
            x, y, z = _base(axis, low)
            x, y, z = i + x, j + y, k + z
            f = _value(field, gauge, i, j, k, x, y, z)
            g = _value(field, gauge, i, j, k, x + (axis == 0), y + (axis == 1), z + (axis == 2))
            t = f / (f - g)
            row = first[i, j, k] + loop
            vertices[row, 0] += x + (t if axis == 0 else 0.0)
            vertices[row, 1] += y + (t if axis == 1 else 0.0)
            vertices[row, 2] += z + (t if axis == 2 else 0.0)
            tally[row] += 1.0
    for row in range(vertices.shape[0]):
        for d in range(3):
            vertices[row, d] /= tally[row]


@kernel(inline="always")
def _base(axis, low):
    """Lower corner of edge ``low`` of the four along ``axis``: its bits are the coordinates on the other two axes."""
    p, q = low & 1, low >> 1
    if axis == 0:
        return 0, p, q
    if axis == 1:
        return p, 0, q
    return p, q, 0


@kernel
def join_quads(field, gauge, cells, first, loop_of, quads):
    """A quad around every crossed edge whose four cells have a vertex; written from the lower to the upper side.

    The edges are those that begin at the lowest corner of one of the ``cells`` [c, 3], which are all that have
    vertices: the cell of a crossed edge has some. With an empty ``quads`` [0, 4] only counts.
    """
    count = 0
    corners = np.empty(4, np.int64)
    for c in range(cells.shape[0]):
        i, j, k = cells[c, 0], cells[c, 1], cells[c, 2]
        if min(i, j, k) < 1:
            continue
        here = field[i, j, k]
        for axis in range(3):
            there = _value(field, gauge, i, j, k, i + (axis == 0), j + (axis == 1), k + (axis == 2))
            if (here > 0.0) == (there > 0.0):
                continue
            whole = True
            for turn in range(4):
                # Cells around the edge, counter-clockwise seen against the axis; u, v the next two axes.
                du, dv = (turn == 0 or turn == 3), turn < 2
                x, y, z = _shifted(axis, i, j, k, du, dv)
                case = _case(field, gauge, x, y, z)
                if case < 0:
                    whole = False
                    break
                edge = 4 * axis + _slot(axis, du, dv)
                corners[turn] = first[x, y, z] + loop_of[case, edge]
            if not whole:
                continue
            if quads.shape[0] > 0:
                for turn in range(4):
                    quads[count, turn] = corners[turn] if here <= 0.0 else corners[3 - turn]
            count += 1
    return count


@kernel(inline="always")
def _shifted(axis, i, j, k, du, dv):
    """The cell moved back by du, dv along the two axes that follow ``axis`` cyclically."""
    if axis == 0:
        return i, j - du, k - dv
    if axis == 1:
        return i - dv, j, k - du
    return i - du, j - dv, k


@kernel(inline="always")
def _slot(axis, du, dv):
    """Which of the four edges along ``axis`` the edge is for a cell moved back by du, dv."""
    if axis == 1:
        return dv + 2 * du
    return du + 2 * dv
