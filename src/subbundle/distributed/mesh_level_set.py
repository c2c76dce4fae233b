"""The triangles of a tile and its surroundings before they are projected: manifold, cut where the cloud ends.

Everything here depends only on the grid, the seeds and windows within `Scale.margin` cells, in the order of the names
of the vertices, so that neighbouring tiles have the same triangles where they overlap. Names are pairs: (vertex of the
grid, −1); where the border cuts an edge, its ends, the one that is kept first; at the centre of a filled hole (first
vertex around it, −2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_grid import zero_set
from subbundle.distributed.mesh_places import Territory, cells_of
from subbundle.distributed.mesh_scale import Scale
from subbundle.distributed.mesh_seeds import TileSeeds
from subbundle.distributed.mesh_sides import Nodes
from subbundle.distributed.tuning import LEAST_WIDTH
from subbundle.surface import openings, repair
from subbundle.surface.layers import without_layers
from subbundle.surface.local import WeightedCloud
from subbundle.surface.trim import RINGS, excess_near_border
from subbundle.surface.tuning import CELL_WINDOWS, RESOLVED, SEEN_CELLS
from subbundle.triangles import clip
from subbundle.triangles.clip import split_quads
from subbundle.triangles.topology import border_edges, compact, component_labels, edges_of, split_umbrellas

# Bits of a name that number the loops of a cell; those above number the fans of faces around one vertex.
_LOOPS = 2
_MIDDLE, _PLAIN = range(-2, 0)


@dataclass(frozen=True, slots=True)
class Piece:
    """The mesh of one tile.

    Attributes
    ----------
    names : [n, 2] of int
        Of the vertices; the same in every tile that has the vertex.
    vertices, normals : [n, 3]
        The same to the bit in every tile; the normals are of unit length.
    error : [n]
        Standard errors across the surface; infinite without nearby observations.
    faces : [m, 3]
        Rows of the vertices; each face is in one tile only.
    seam : [n] of bool
        Vertices that other tiles may share.
    border : [b] of int
        A vertex of every edge of these faces that belongs to no other face of any tile.
    """

    names: IntArray
    vertices: FloatArray
    normals: FloatArray
    error: FloatArray
    faces: IntArray
    seam: NDArray[np.bool_]
    border: IntArray


def level_set_of(
    seeds: TileSeeds, areas: FloatArray, scene: Nodes, cloud: WeightedCloud, tile: Territory, scale: Scale
) -> Piece:
    """The faces of a ``tile`` before they are projected.

    From oriented ``seeds`` around it with their ``areas`` [n], and the whole ``scene``.
    """
    rows = without_layers(seeds.points, seeds.normals, seeds.mass, scale.window)
    seeds, areas = seeds.take(rows), areas[rows]
    names, points, faces = _manifold(*zero_set(seeds, areas, scene, tile.box, scale), tile, scale)
    pairs = np.column_stack([names, np.full(len(names), _PLAIN)])
    faces = _opened(points, faces, seeds, scale)
    if len(faces):
        pairs, points, faces = _trimmed(pairs, points, faces, cloud, scale)
    normals = repair.vertex_normals(points, faces) if len(faces) else points
    lowest = cells_of(pairs[:, 0])[faces].min(axis=1)
    own = tile.owns(scale.corner + scale.cell * (lowest + 0.5))
    edges = edges_of(faces)
    alone = np.repeat(np.flatnonzero(own), (edges.counts[edges.of_face[own]] == 1).sum(axis=1))
    ends = faces[alone, 0]
    others = np.zeros(len(pairs), np.bool_)
    others[faces[~own].ravel()] = True
    faces, old = compact(faces[own], len(pairs))
    unknown = np.full(len(old), np.inf)
    return Piece(pairs[old], points[old], normals[old], unknown, faces, others[old], np.searchsorted(old, ends))


def _manifold(
    names: IntArray, points: FloatArray, quads: IntArray, tile: Territory, scale: Scale
) -> tuple[IntArray, FloatArray, IntArray]:
    """Names, points and faces near the tile, each edge with at most two faces."""
    faces = split_quads(points, quads)
    near = tile.near(points, scale.margin * scale.cell)
    faces = faces[near[faces].all(axis=1)]
    if len(faces) == 0:
        return names, points, faces
    edges = edges_of(faces)
    faces = faces[~(edges.counts > 2)[edges.of_face].any(axis=1)]
    points, faces, rows = split_umbrellas(points, faces)
    # Vertices of one name follow each other, in the order of their fans.
    first = np.searchsorted(rows, rows)
    return names[rows] | np.minimum(np.arange(len(rows)) - first, 3) << _LOOPS, points, faces


def _opened(points: FloatArray, faces: IntArray, seeds: TileSeeds, scale: Scale) -> IntArray:
    """The ``faces`` without patches that are wider than the opening and have no seed nearby.

    As `surface.openings`, with the mesh of a tile: vertices further from the seeds than half the width of the opening
    are removed, and those that far along the mesh, in rings of edges, from all vertices near seeds, like a sheet
    between two of the same orientation; and with them the vertices without seeds around them.
    """
    if len(faces) == 0:
        return faces
    coverage = openings.Coverage(seeds.points, seeds.normals, SEEN_CELLS * scale.cell)
    far, seen, _ = coverage.of(points, repair.vertex_normals(points, faces))
    edges, reached = edges_of(faces).ends, seen.copy()
    for _ in range(scale.rings):
        reached[edges[reached[edges].any(axis=1)].ravel()] = True
    lost = ~reached | (~seen & (far > scale.opening * scale.window))
    for _ in range(scale.rings):
        around = edges[lost[edges].any(axis=1)].ravel()
        lost[around[~seen[around]]] = True
    left: IntArray = faces[~lost[faces].any(axis=1)]
    return left


def _trimmed(
    names: IntArray, points: FloatArray, faces: IntArray, cloud: WeightedCloud, scale: Scale
) -> tuple[IntArray, FloatArray, IntArray]:
    """The mesh cut where the cloud ends, small holes filled and the border smoothed."""
    beyond = excess_near_border(cloud, points, faces, scale.window, scale.noise)
    # As `clip.outer_region`, with the mesh of a tile: the positive region connected to the border.
    positive, outer, pairs = beyond > 0.0, np.zeros(len(points), np.bool_), edges_of(faces).ends
    outer[border_edges(faces).ravel()] = True
    outer &= positive
    pairs = pairs[positive[pairs].all(axis=1)]
    for _ in range(RINGS):
        outer[pairs[outer[pairs].any(axis=1)].ravel()] = True
    faces, edges, t = clip.cut(faces, np.where(positive & ~outer, -1e-12, beyond))
    start, end = points[edges[:, 0]], points[edges[:, 1]]
    points = np.concatenate([points, start + t[:, None] * (end - start)])
    names = np.concatenate([names, names[edges, 0]])
    faces = _without_small_components(points, faces, scale)
    known = len(points)
    points, faces = repair.fill_holes(points, faces, RESOLVED * scale.window)
    names = np.concatenate([names, np.full((len(points) - known, 2), _MIDDLE)])
    for row in range(known, len(points)):
        around = faces[(faces == row).any(axis=1)]
        names[row, 0] = names[around[around != row], 0].min()
    return names, clip.smoothed(points, faces, 1.0 / CELL_WINDOWS), faces


def _without_small_components(points: FloatArray, faces: IntArray, scale: Scale) -> IntArray:
    """The ``faces`` without small connected components, which lie within the mesh of a tile."""
    label, ends = component_labels(faces, len(points)), np.full((2, len(points), 3), -np.inf)
    for way, end in zip((1.0, -1.0), ends, strict=True):
        np.maximum.at(end, label[faces].ravel(), way * points[faces.ravel()])
    left: IntArray = faces[ends.sum(axis=0).max(axis=1)[label[faces[:, 0]]] > LEAST_WIDTH * scale.cell]
    return left
