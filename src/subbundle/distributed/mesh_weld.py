"""Pieces of a mesh made one, by the names of the vertices on the seams.

A vertex inside a tile is in one piece only. Those on seams, a few thousand of a tile with a million, are in up to
eight: their names are all that is held of the whole mesh, and the first piece that has a vertex numbers it. Vertices
and faces are then written piece by piece. Connected components that are too small beside the largest are left out, as
from a mesh of all points at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from subbundle._atomic import atomic_path
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_skin import Piece
from subbundle.surface.repair import are_large, compact
from subbundle.triangles.topology import face_areas, parts_of

_VERTEX = ("x", "y", "z", "nx", "ny", "nz", "standard_error")
_FACE = np.dtype([("count", "u1"), ("corners", "<i4", (3,))])
# Corners of a PLY file are 32-bit numbers.
_MOST = 2**31 - 1

# The pieces of a mesh, one loaded at a time.
Pieces = Callable[[int], Piece]


@dataclass(frozen=True, slots=True)
class Weld:
    """How pieces hang together.

    Attributes
    ----------
    offsets : [k + 1]
        Number of the first vertex that each piece gives, and how many there are.
    seams : [s, 2] of int, [s]
        Names on seams, sorted, and the number of each.
    n_faces, n_border_edges, n_components : int
        Of the whole mesh.
    """

    offsets: IntArray
    names: IntArray
    numbers: IntArray
    n_faces: int
    n_border_edges: int
    n_components: int

    @property
    def n_vertices(self) -> int:
        """Of the whole mesh."""
        return int(self.offsets[-1])

    @property
    def euler_characteristic(self) -> int:
        """V − E + F, with 2 E = 3 F + border edges."""
        return self.n_vertices - (3 * self.n_faces + self.n_border_edges) // 2 + self.n_faces

    def of(self, number: int, piece: Piece) -> tuple[IntArray, NDArray[np.bool_]]:
        """The number [n] that every vertex of a piece has in the whole mesh, and whether the piece gives it."""
        numbers = np.full(len(piece.names), -1, np.int64)
        on_seam = np.flatnonzero(piece.seam)
        numbers[on_seam] = self.numbers[_find(self.names, piece.names[on_seam])]
        first, last = self.offsets[number : number + 2]
        gives = ~piece.seam | ((numbers >= first) & (numbers < last))
        # Vertices of a seam come first among those that a piece gives.
        inner = np.flatnonzero(~piece.seam)
        numbers[inner] = last - len(inner) + np.arange(len(inner))
        return numbers, gives


def weld(pieces: Pieces, count: int, widest: float = np.inf) -> tuple[Pieces, Weld]:
    """The ``count`` pieces without small connected components, and how they hang together.

    Components are small beside the largest, as `surface.repair.are_large` has it, or beside the area ``widest``, if
    that is smaller: in a scene of a thousand houses one house is not small.
    """
    names, given, parts, inner, faces, border, areas = [], [], [], [], 0, 0, [np.empty(0)]
    for number in range(count):
        piece = pieces(number)
        part, area = _parts(piece)
        names.append(piece.names[piece.seam])
        parts.append(part[piece.seam] + sum(map(len, areas)))
        areas.append(area)
        given.append(np.full(len(names[-1]), number))
        inner.append(int((~piece.seam).sum()))
        faces += len(piece.faces)
        border += len(piece.border)
    every, owner, part = np.concatenate(names), np.concatenate(given), np.concatenate(parts)
    order = np.lexsort((owner, every[:, 1], every[:, 0]))
    every, owner, part = every[order], owner[order], part[order]
    new = np.ones(len(every), np.bool_)
    new[1:] = (every[1:] != every[:-1]).any(axis=1)
    # Parts of two pieces that share a vertex are one.
    n_parts = sum(map(len, areas))
    graph = coo_array((np.ones(len(part), np.int8), (part, part[new][np.cumsum(new) - 1])), shape=(n_parts, n_parts))
    component = connected_components(graph, directed=False)[1] if n_parts else np.empty(0, np.int64)
    known = np.bincount(component, np.concatenate(areas)).astype(np.float64)
    kept = are_large(np.minimum(known, widest)) if n_parts else np.ones(0, np.bool_)
    if not kept.all():
        of_piece = np.split(kept[component], np.cumsum([len(area) for area in areas[1:-1]]))
        return weld(lambda number: _without(pieces(number), of_piece[number]), count, widest)
    first = owner[new]
    gives = np.bincount(first, minlength=count) + np.array(inner, np.int64)
    offsets = np.concatenate([[0], np.cumsum(gives)]).astype(np.int64)
    numbers = np.empty(len(first), np.int64)
    by_owner = np.argsort(first, kind="stable")
    begin = np.searchsorted(first[by_owner], first[by_owner])
    numbers[by_owner] = offsets[first[by_owner]] + np.arange(len(first)) - begin
    return pieces, Weld(offsets, every[new], numbers, faces, border, len(kept))


def _parts(piece: Piece) -> tuple[IntArray, FloatArray]:
    """The part [n] that every vertex of a piece hangs with, and the areas [p] of faces near observations."""
    names, part = np.unique(parts_of(piece.faces, len(piece.names)), return_inverse=True)
    area, known = face_areas(piece.vertices, piece.faces), np.isfinite(piece.error)[piece.faces].any(axis=1)
    of_face = part[piece.faces[:, 0]]
    return part, np.bincount(of_face, area * known, len(names)).astype(np.float64)


def _without(piece: Piece, kept: NDArray[np.bool_]) -> Piece:
    """A piece with those of its parts that are ``kept`` [p]."""
    stays = kept[_parts(piece)[0]]
    faces, rows = compact(piece.faces[stays[piece.faces[:, 0]]], len(stays))
    border = np.searchsorted(rows, piece.border[stays[piece.border]])
    return Piece(
        piece.names[rows], piece.vertices[rows], piece.normals[rows], piece.error[rows], faces, piece.seam[rows], border
    )


def write_welded(path: Path, pieces: Pieces, seams: Weld) -> Path:
    """Write the whole mesh as a binary PLY file, a piece at a time; whole or not at all."""
    count = len(seams.offsets) - 1
    if seams.n_vertices > _MOST:
        raise ValueError(
            f"a .ply file holds at most {_MOST} vertices; the mesh has {seams.n_vertices}. Write the tiles to a folder "
            "instead: give a name that does not end in .ply, or a larger bandwidth."
        )
    header = ["ply", "format binary_little_endian 1.0"]
    header += [f"element vertex {seams.n_vertices}", *(f"property double {name}" for name in _VERTEX)]
    header += [f"element face {seams.n_faces}", "property list uchar int vertex_indices", "end_header", ""]
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        stream.write("\n".join(header).encode("ascii"))
        for number in range(count):
            piece = pieces(number)
            numbers, gives = seams.of(number, piece)
            rows = np.flatnonzero(gives)
            rows = rows[np.argsort(numbers[rows], kind="stable")]
            columns = np.column_stack([piece.vertices[rows], piece.normals[rows], piece.error[rows]])
            stream.write(columns.astype("<f8").tobytes())
        for number in range(count):
            piece = pieces(number)
            triangles = np.empty(len(piece.faces), _FACE)
            triangles["count"], triangles["corners"] = 3, seams.of(number, piece)[0][piece.faces]
            stream.write(triangles.tobytes())
    return path


def _find(names: IntArray, wanted: IntArray) -> IntArray:
    """Rows of the ``wanted`` [n, 2] in the sorted ``names`` [s, 2], which has them all."""
    both = np.concatenate([names, wanted])
    order = np.lexsort((np.arange(len(both)), both[:, 1], both[:, 0]))
    known = order < len(names)
    rows = np.empty(len(both), np.int64)
    rows[order] = np.cumsum(known) - 1
    return rows[len(names) :]
