"""Inside and outside of a whole scene: the winding number of its oriented seeds, far ones by blocks.

    w(x) = 1/(4π) Σ_i A_i n_i·(x_i − x) / √(|x_i − x|⁶ + ε⁶),

the solid angle that the seeds, with areas A_i and normals n_i, subtend at x: 1 inside of a closed surface, 0 outside,
and the solution of the Poisson equation that `surface.implicit` solves. Seeds in blocks of four cells around x are
summed one by one. Seeds further away are replaced by blocks, with the sum of A_i n_i at their mean position, wider with
distance: at each level of doubling the blocks in the parent's neighbours that are no neighbours themselves. Blocks of 4
and 8 cells are computed from the seeds around a tile, those from 16 cells on from the whole scene, a table of seven
numbers for every block near the surface. The blocks in a sum depend on the block of x alone, so that w has the same
bits in every tile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._compiled import kernel
from subbundle._groups import changes, summed
from subbundle._types import FloatArray, IntArray
from subbundle.cloud.lattice import z_curve
from subbundle.distributed.mesh_places import NAME_BITS, OF_CELL, cells_of, names_of
from subbundle.distributed.mesh_scale import BLOCK
from subbundle.distributed.tuning import FINE
from subbundle.surface.tuning import SMOOTH_CELLS

# Levels of blocks that a tile computes itself: up to those of the scene.
_LEVELS = (BLOCK // FINE).bit_length() - 1
# ε in cells: w then rises through a plane by 0.70/ε a cell, as the ordinary solution does with its Gaussian.
_SOFT = 0.701 * np.sqrt(2.0 * np.pi) * SMOOTH_CELLS


@dataclass(frozen=True, slots=True)
class Nodes:
    """Blocks that represent their seeds, level after level, each twice as wide as the one before.

    Attributes
    ----------
    keys : [n] of int
        Cell of each, as `names_of` writes it; sorted within a level.
    sources : [n, 6]
        Mean position, in cells of the grid, and sum of areas times normals.
    first : [levels + 1]
        The first row of every level, and n.
    """

    keys: IntArray
    sources: FloatArray
    first: IntArray

    @staticmethod
    def of(blocks: IntArray, columns: FloatArray, levels: int | None = None) -> Nodes:
        """From clusters in ``blocks`` [c, 3]: ``columns`` [c, 7] are areas, and area-weighted positions and normals.

        Without a number of ``levels``, as many as it takes until all blocks are neighbours.
        """
        keys, sources, apart = list[IntArray](), list[FloatArray](), 2
        while len(keys) != levels and (levels is not None or apart > 1 or len(keys) < 2):
            apart = int(np.ptp(blocks, axis=0).max()) if len(blocks) else 0
            names, group = np.unique(names_of(blocks), return_inverse=True)
            columns = summed(group, columns, len(names))
            blocks = cells_of(names) >> 1
            keys.append(names)
            sources.append(np.column_stack([columns[:, 1:4] / np.maximum(columns[:, :1], 1e-300), columns[:, 4:]]))
        return Nodes(np.concatenate(keys), np.concatenate(sources), np.cumsum([0, *map(len, keys)]))

    def below(self, coarser: Nodes) -> Nodes:
        """These levels and then the ``coarser`` ones."""
        first = np.append(self.first[:-1], self.first[-1] + coarser.first)
        return Nodes(np.append(self.keys, coarser.keys), np.concatenate([self.sources, coarser.sources]), first)


class Winding:
    """Winding numbers around oriented seeds at ``places`` [n, 3] (in cells of the grid), sorted by name.

    ``areas`` [n] are in cells, ``moments`` [n, 3] areas times normals; ``scene`` has the seeds further away.
    """

    def __init__(self, places: FloatArray, areas: FloatArray, moments: FloatArray, scene: Nodes) -> None:
        cells = np.floor(places / FINE).astype(np.int64)
        keys = names_of(cells)
        order = np.argsort(keys, kind="stable")
        self._seeds, self._ends = np.concatenate([places, moments], axis=1)[order], changes(keys[order])
        columns = np.column_stack([areas, areas[:, None] * places, moments])
        self._nodes = Nodes.of(cells[order], columns[order], _LEVELS).below(scene)

    def at(self, places: FloatArray) -> FloatArray:
        """w [t] at ``places`` [t, 3], in cells; all seeds within two blocks of them are required."""
        cells = np.floor(places / FINE).astype(np.int64)
        # Along the space-filling curve wide blocks change rarely.
        order = np.argsort(z_curve(cells), kind="stable")
        cells, begins, out = cells[order], changes(cells[order]), np.empty(len(places))
        nodes, targets = self._nodes, np.ascontiguousarray(places[order].T)
        found = np.zeros(len(places))
        _sum_sources(
            targets, begins, cells[begins[:-1]], self._seeds, self._ends, nodes.keys, nodes.sources, nodes.first,
            _SOFT**6, found,
        )  # fmt: skip
        out[order] = found / (4.0 * np.pi)
        return out


@kernel
def _sum_sources(
    targets: FloatArray, begins: IntArray, cells: IntArray, seeds: FloatArray, ends: IntArray, keys: IntArray,
    sources: FloatArray, first: IntArray, soft: float, out: FloatArray,
) -> None:  # fmt: skip
    """4π w at ``targets`` [3, t], in groups between ``begins`` [g + 1], each in one of the finest ``cells`` [g, 3].

    Sources [n, 6] are places and moments: single ``seeds``, those of the finest blocks between their ``ends``, and the
    blocks of `Nodes`. The sums of a target are in the order of the sources and in single precision, relative to the
    centre of the cell: twice as many fit into a register, and roots take half as long.
    """
    levels, small, widest = first.shape[0] - 2, np.float32(soft), 0
    rows, counts = np.empty((levels, 189), np.int64), np.zeros(levels, np.int64)
    near, chosen, middle = np.empty(27, np.int64), np.empty((1, 6), np.float32), np.empty(3)
    for g in range(cells.shape[0]):
        widest = max(widest, begins[g + 1] - begins[g])
    local, sums = np.empty((3, widest), np.float32), np.empty(widest, np.float32)
    for g in range(cells.shape[0]):
        start, size, most = begins[g], begins[g + 1] - begins[g], 0
        for k in range(3):
            middle[k] = FINE * (cells[g, k] + 0.5)
            for t in range(size):
                local[k, t] = targets[k, start + t] - middle[k]
        for level in range(levels):
            c0, c1, c2 = cells[g, 0] >> level, cells[g, 1] >> level, cells[g, 2] >> level
            b0, b1, b2 = cells[g - 1, 0] >> level, cells[g - 1, 1] >> level, cells[g - 1, 2] >> level
            if g == 0 or c0 != b0 or c1 != b1 or c2 != b2:
                counts[level] = _blocks_of(keys, first[level], first[level + 1], c0, c1, c2, True, rows[level])
            most += counts[level]
        neighbours = _blocks_of(keys, first[0], first[1], cells[g, 0], cells[g, 1], cells[g, 2], False, near)
        for i in range(neighbours):
            most += ends[near[i] + 1] - ends[near[i]]
        if most > chosen.shape[0]:
            chosen = np.empty((2 * most, 6), np.float32)
        count = 0
        for i in range(neighbours):
            for n in range(ends[near[i]], ends[near[i] + 1]):
                _put(seeds, n, middle, chosen, count)
                count += 1
        for level in range(levels):
            for i in range(counts[level]):
                _put(sources, rows[level, i], middle, chosen, count)
                count += 1
        for t in range(size):
            sums[t] = 0.0
        for n in range(count):
            s0, s1, s2 = chosen[n, 0], chosen[n, 1], chosen[n, 2]
            m0, m1, m2 = chosen[n, 3], chosen[n, 4], chosen[n, 5]
            for t in range(size):
                x, y, z = s0 - local[0, t], s1 - local[1, t], s2 - local[2, t]
                q = x * x + y * y + z * z
                sums[t] += (x * m0 + y * m1 + z * m2) / np.sqrt(q * q * q + small)
        for t in range(size):
            out[start + t] = sums[t]


@kernel
def _blocks_of(keys: IntArray, begin: int, end: int, c0: int, c1: int, c2: int, far: bool, rows: IntArray) -> int:
    """Rows from ``begin`` to ``end`` of a cell's neighbours, or of the ``far`` children of its parent's neighbours."""
    count, half = 0, 1 << (NAME_BITS - 1)
    l0, l1, l2, wide = c0 - 1, c1 - 1, c2 - 1, 3
    if far:
        l0, l1, l2, wide = 2 * (c0 >> 1) - 2, 2 * (c1 >> 1) - 2, 2 * (c2 >> 1) - 2, 6
    for i in range(l0, l0 + wide):
        for j in range(l1, l1 + wide):
            # Along the last axis cells are contiguous.
            line = ((i + half) << (2 * NAME_BITS)) | ((j + half) << NAME_BITS)
            row = begin + np.searchsorted(keys[begin:end], (line | (l2 + half)) << OF_CELL)
            while row < end and keys[row] < (line | (l2 + wide + half)) << OF_CELL:
                k = ((keys[row] >> OF_CELL) & ((1 << NAME_BITS) - 1)) - half
                if not far or max(abs(i - c0), abs(j - c1), abs(k - c2)) > 1:
                    rows[count] = row
                    count += 1
                row += 1
    return count


@kernel
def _put(sources: FloatArray, n: int, middle: FloatArray, chosen: FloatArray, at: int) -> None:
    for k in range(3):
        chosen[at, k] = sources[n, k] - middle[k]
        chosen[at, k + 3] = sources[n, k + 3]
