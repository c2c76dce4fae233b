"""The zero set of an implicit function as a mesh: wide openings removed, handles too thin to be resolved cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.surface import extract, implicit, openings, repair, tuning
from subbundle.surface.layers import without_layers
from subbundle.surface.openings import Openings
from subbundle.surface.prepare import Prepared
from subbundle.surface.seeds import Seeds, eighth_neighbour
from subbundle.surface.tunnels import Filled
from subbundle.triangles.clip import split_curved, split_quads
from subbundle.triangles.handles import cut_short_loops
from subbundle.triangles.topology import compact

# Half the width of the band around the seeds, in cells, below which it has holes.
_LEAST_BAND = 2.5


@dataclass(frozen=True, slots=True)
class LevelSet:
    """A mesh around the seeds: vertices [n, 3] and faces [m, 3]; which vertices [n] are unseen, those of membranes
    without nearby seeds; and lengths [c] and centroids [c, 3], ``places``, of the loops that were cut."""

    vertices: FloatArray
    faces: IntArray
    unseen: NDArray[np.bool_]
    openings: Openings
    handles: FloatArray
    places: FloatArray


def orientable_level_set(
    seeds: Seeds, grid: implicit.Grid, scan: Prepared, half_width: float, *,
    n_jobs: int, stage: Callable[[str], None],
) -> LevelSet:  # fmt: skip
    """The surface of oriented ``seeds``; unseen patches up to ``half_width`` (inf: all) are bridged."""
    window = scan.window
    kept = without_layers(seeds.points, seeds.normals, seeds.mass, window)
    points, normals = seeds.points[kept], seeds.normals[kept]
    smooth = tuning.SMOOTH_CELLS if scan.facing is None else tuning.SMOOTH_CELLS_NORMALS
    apart = eighth_neighbour(points, grid.cell)
    field = implicit.solve(points, normals, grid, smooth, n_jobs, apart)
    stage("extracting triangles")
    vertices, faces = _triangles(field, None, grid, tuning.SEEN_CELLS * grid.cell)
    del field
    stage("openings and handles")
    coverage = openings.Coverage(points, normals, tuning.SEEN_CELLS * grid.cell, apart)
    far, seen, scale = coverage.of(vertices, repair.vertex_normals(vertices, faces))
    keep, found = openings.classify_patches(vertices, faces, far, seen, half_width)
    faces = repair.keep_large_components(vertices, faces[keep], seen)
    whole, faces, rows = repair.make_manifold(vertices, faces, tuning.SEEN_CELLS * grid.cell)
    seen, scale = _with_new(coverage, whole, faces, seen[rows], scale[rows])
    faces, old = compact(faces, len(whole))
    vertices, seen = whole[old], seen[old]
    # A loop in a membrane has no observations, so it takes the least scale.
    scale = np.where(seen, scale[old], scale.min())
    filled = Filled(scan.points, window)
    narrow, wide = np.pi * tuning.RESOLVED * window, np.pi * tuning.FILLED_WIDTH * window
    cut = cut_short_loops(vertices, faces, narrow, scale, filled, wide)
    seen, _ = _with_new(coverage, cut.vertices, cut.faces, seen, scale)
    vertices, normals = openings.membrane(cut.vertices, cut.faces, seen), repair.vertex_normals(cut.vertices, cut.faces)
    faces, ends = split_curved(vertices, cut.faces, normals, seen, tuning.SPLIT_TURN)
    vertices, seen = np.concatenate([vertices, vertices[ends].mean(axis=1)]), np.append(seen, seen[ends].all(axis=1))
    return LevelSet(vertices, faces, ~seen, found, cut.lengths, cut.middles)


def _with_new(
    coverage: openings.Coverage, vertices: FloatArray, faces: IntArray, seen: NDArray[np.bool_], scale: FloatArray
) -> tuple[NDArray[np.bool_], FloatArray]:
    """``seen`` and ``scale`` of the first vertices, followed by those of the new ones."""
    new = slice(len(seen), None)
    _, too, at = coverage.of(vertices[new], repair.vertex_normals(vertices, faces)[new])
    return np.concatenate([seen, too]), np.concatenate([scale, at])


def non_orientable_level_set(
    seeds: Seeds, grid: implicit.Grid, half_width: float, stage: Callable[[str], None]
) -> LevelSet:
    """The surface of ``seeds`` that cannot be oriented, in a band of ``half_width`` around them."""
    band = max(half_width / grid.cell, _LEAST_BAND)
    field, gauge = implicit.solve_locally(seeds, grid, band)
    stage("extracting triangles")
    vertices, faces = _triangles(field, gauge, grid, 2.0 * band * grid.cell)
    return LevelSet(vertices, faces, np.zeros(len(vertices), np.bool_), Openings((), ()), np.empty(0), np.empty((0, 3)))


def _triangles(field: Any, gauge: Any, grid: implicit.Grid, width: float) -> tuple[FloatArray, IntArray]:
    """The zero set of ``field`` (and its ``gauge``) as a manifold mesh, with holes narrower than ``width`` filled."""
    places, quads = extract.extract(field, gauge)
    if len(quads) == 0:
        raise ValueError("points must lie around a surface; no surface was found between the seeds.")
    vertices = grid.origin + grid.cell * places
    vertices, faces, _ = repair.make_manifold(vertices, split_quads(vertices, quads), width)
    faces, old = compact(faces, len(vertices))
    return vertices[old], faces
