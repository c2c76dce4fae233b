"""The meshes of the tiles joined by the names of the vertices on the seams.

A vertex inside a tile is in one piece only. Those on seams, a few thousand of a tile with a million, are in up to
eight: of the whole mesh only their names are in memory, and the first piece that has a vertex numbers it. Vertices
and faces are then written piece by piece. Connected components that are too small relative to the largest are left
out, as from a mesh of all points at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import atomic_path
from subbundle._groups import components_of
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_level_set import Piece
from subbundle.io import ply_faces, ply_header
from subbundle.triangles.topology import are_large, compact, component_labels, face_areas

_VERTEX = ("x", "y", "z", "nx", "ny", "nz", "standard_error")
# Corners of a PLY file are 32-bit numbers.
_MOST = 2**31 - 1

# The pieces of a mesh, one loaded at a time.
Pieces = Callable[[int], Piece]


@dataclass(frozen=True, slots=True)
class Weld:
    """Numbering of the vertices of all pieces.

    Attributes
    ----------
    offsets : [k + 1]
        Number of the first vertex that each piece contributes, and the number of vertices.
    seams : k arrays of int
        The numbers of the vertices on seams, of every piece.
    n_faces, n_border_edges, n_components : int
        Of the whole mesh.
    """

    offsets: IntArray
    seams: list[IntArray]
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
        """The number [n] of every vertex of a piece in the whole mesh, and whether the piece contributes it."""
        first, last = self.offsets[number : number + 2]
        numbers, inner = np.empty(len(piece.names), np.int64), int((~piece.seam).sum())
        numbers[piece.seam] = self.seams[number]
        # Vertices of a seam come first among those that a piece contributes.
        numbers[~piece.seam] = last - inner + np.arange(inner)
        return numbers, (numbers >= first) & (numbers < last)


def weld(pieces: Pieces, count: int, widest: float = np.inf) -> tuple[Pieces, Weld]:
    """The ``count`` pieces without small connected components, and the numbering of their vertices.

    Components are small relative to the largest, as in `triangles.topology.are_large`, or to the area ``widest``, if
    that is smaller: in a scene of a thousand houses one house is not small.
    """
    names, parts, areas, inner, faces, border, n_parts = [], [], [], [], 0, 0, 0
    for number in range(count):
        piece = pieces(number)
        part, area = _parts(piece)
        names.append(piece.names[piece.seam])
        parts.append(part[piece.seam] + n_parts)
        areas.append(area)
        inner.append(int((~piece.seam).sum()))
        faces, border, n_parts = faces + len(piece.faces), border + len(piece.border), n_parts + len(area)
    lengths, part = [len(one) for one in names], np.concatenate(parts)
    _, first, group = np.unique(np.concatenate(names), axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    # Components of two pieces with a vertex in common are one.
    component = components_of(np.column_stack([part, part[first][group]]), n_parts)[1]
    known = np.bincount(component, np.concatenate(areas)).astype(np.float64)
    kept = are_large(np.minimum(known, widest)) if n_parts else np.ones(0, np.bool_)
    if not kept.all():
        of_piece = np.split(kept[component], np.cumsum([len(area) for area in areas[:-1]]))
        return weld(lambda number: _without(pieces(number), of_piece[number]), count, widest)
    # A vertex is contributed by the first piece that has it.
    owner = np.repeat(np.arange(count), lengths)[first]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count) + inner)]).astype(np.int64)
    order, numbers = np.argsort(owner, kind="stable"), np.empty(len(owner), np.int64)
    owner = owner[order]
    numbers[order] = offsets[owner] + np.arange(len(owner)) - np.searchsorted(owner, owner)
    return pieces, Weld(offsets, np.split(numbers[group], np.cumsum(lengths)[:-1]), faces, border, len(kept))


def _parts(piece: Piece) -> tuple[IntArray, FloatArray]:
    """Connected component [n] of every vertex of a piece, and the areas [p] of faces near observations."""
    names, part = np.unique(component_labels(piece.faces, len(piece.names)), return_inverse=True)
    area, known = face_areas(piece.vertices, piece.faces), np.isfinite(piece.error)[piece.faces].any(axis=1)
    of_face = part[piece.faces[:, 0]]
    return part, np.bincount(of_face, area * known, len(names)).astype(np.float64)


def _without(piece: Piece, kept: NDArray[np.bool_]) -> Piece:
    """A piece with those of its components that are ``kept`` [p]."""
    stays = kept[_parts(piece)[0]]
    faces, rows = compact(piece.faces[stays[piece.faces[:, 0]]], len(stays))
    border = np.searchsorted(rows, piece.border[stays[piece.border]])
    return Piece(
        piece.names[rows], piece.vertices[rows], piece.normals[rows], piece.error[rows], faces, piece.seam[rows], border
    )


def write_welded(path: Path, pieces: Pieces, seams: Weld) -> Path:
    """Write the whole mesh as a binary PLY file, a piece at a time, atomically."""
    count = len(seams.offsets) - 1
    if seams.n_vertices > _MOST:
        raise ValueError(
            f"a .ply file holds at most {_MOST} vertices; the mesh has {seams.n_vertices}. Write the tiles to a folder "
            "instead: give a name that does not end in .ply, or a larger bandwidth."
        )
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        stream.write(ply_header(seams.n_vertices, [(name, "double") for name in _VERTEX], seams.n_faces))
        for number in range(count):
            piece = pieces(number)
            numbers, gives = seams.of(number, piece)
            rows = np.flatnonzero(gives)[np.argsort(numbers[gives])]
            columns = np.column_stack([piece.vertices[rows], piece.normals[rows], piece.error[rows]])
            stream.write(columns.astype("<f8").tobytes())
        for number in range(count):
            piece = pieces(number)
            stream.write(ply_faces(seams.of(number, piece)[0][piece.faces]))
    return path
