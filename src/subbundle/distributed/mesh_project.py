"""Vertices of a tile on robust quadrics, whose bandwidths follow the risks that the seeds of all tiles around tell.

As `surface.project`, with everything a function of bounded surroundings: squared biases and variances are summed in
voxels of 8 cells and averaged over 20 cells around; centres of quadrics are seeds, the most reliable of voxels that
grow with the bandwidth; and each vertex goes to the mean of the quadrics of all centres near it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_average import averaged
from subbundle.distributed.mesh_boxes import Territory
from subbundle.distributed.mesh_scale import CENTRES, Scale, names_of
from subbundle.distributed.mesh_seeds import TileSeeds
from subbundle.distributed.mesh_skin import Piece
from subbundle.surface import blend, project
from subbundle.surface import widths as choosing
from subbundle.surface.pyramid import Pyramid
from subbundle.surface.tuning import BLENDED_RADIUS, FURTHEST_CELLS, QUADRIC_STEPS, SHEET_COSINE

# Cells of the voxels that risks are summed in; radius in which voxels are averaged, and in which a seed reads them.
_VOXEL, _AVERAGED, _READ = 8.0, 20.0, 12.0
# Side of the voxels with one centre each: in bandwidths, in cells, and the least radius of a centre in these sides.
_APART, _SIDES, _LEAST_RADIUS = 0.35, np.array([1.0, 1.5, 2.0, 3.0]), 1.7
# Cells over which curvatures are averaged.
_BEND = 3.0
# Widest radius of a centre, in cells: none that counts for a vertex, a few cells beyond its tile, lies outside of
# `CENTRES`. Where no centre counts, radii are wider by the factor.
_WIDEST, _WIDER = CENTRES - _BEND - 4.0, 2.5
# Cells around a tile in which seeds must be known for its vertices.
PROJECT_MARGIN = _AVERAGED + _VOXEL + _READ + CENTRES + float(_SIDES[-1])


def projected(skin: Piece, seeds: TileSeeds, levels: Pyramid, tile: Territory, scale: Scale) -> Piece:
    """The mesh of a tile with the vertices of ``skin`` on the surface, their normals and standard errors."""
    # Whole voxels of centres, of which only those that matter are then fitted.
    close = tile.near(seeds.points, (CENTRES + float(_SIDES[-1])) * scale.cell)
    here = seeds.take(np.flatnonzero(close))
    widths = _widths(seeds, here.points, scale)
    seeds = here
    rows, radii = _centres(seeds, widths, scale)
    near = tile.near(seeds.points[rows], CENTRES * scale.cell)
    rows, radii = rows[near], radii[near]
    cuts = choosing.cut(scale.pilot, widths)
    fit = levels.quadric(seeds.points[rows], seeds.normals[rows], widths[rows], cuts[rows], rounds=QUADRIC_STEPS)
    way = np.linalg.norm(fit.points - seeds.points[rows], axis=1)
    good = np.flatnonzero(np.isfinite(fit.gain) & (fit.gain > 0.0) & (way < FURTHEST_CELLS * scale.cell))
    fit, rows, radii = fit.take(good), rows[good], radii[good]

    def alike(one: IntArray, other: IntArray) -> NDArray[np.bool_]:
        return np.asarray(np.sum(fit.normals[one] * fit.normals[other], axis=1) > SHEET_COSINE)

    bend = averaged(fit.points, fit.points, _BEND * scale.cell, fit.bend[:, None], alike=alike)
    values = np.column_stack([project.height_variance(fit.mass, fit.gain, fit.residual), bend])
    out = blend.blend_at(skin.vertices, skin.normals, fit, values, radii)
    # Slivers at a border have normals that fit nothing; the nearest seed's do. Between sparse centres radii are wider.
    lost = np.flatnonzero(out[:, 0] == 0.0)
    normals = skin.normals.copy()
    if lost.size and len(seeds.names):
        normals[lost] = seeds.normals[cKDTree(seeds.points).query(skin.vertices[lost])[1]]
        wider = np.minimum(_WIDER * radii, _WIDEST * scale.cell)
        out[lost] = blend.blend_at(skin.vertices[lost], normals[lost], fit, values, wider)
    vertices, normals, error = _placed(skin.vertices, normals, out, scale)
    return replace(skin, vertices=vertices, normals=normals, error=error)


def _widths(seeds: TileSeeds, places: FloatArray, scale: Scale) -> FloatArray:
    """The bandwidth [n] of positions at ``places`` [n, 3], from the probes of ``seeds``."""
    rungs = scale.rungs
    if len(seeds.probes) == 0:
        return np.full(len(places), rungs[1])
    points = seeds.points[seeds.probes]
    group = np.unique(names_of(scale.cells(points, _VOXEL)), return_inverse=True)[1]
    count = np.bincount(group).astype(np.float64)
    middles, risks = (
        np.column_stack([np.bincount(group, column) / count for column in table.T]) for table in (points, seeds.risks)
    )
    mean = averaged(middles, middles, _AVERAGED * scale.cell, risks, weights=count).T
    rung = choosing.least_risk(mean[: len(rungs)], mean[len(rungs) :])
    read = averaged(places, middles, _READ * scale.cell, rung[:, None])[:, 0]
    return choosing.width_of(rungs, np.where(np.isfinite(read), read, 1.0))


def _centres(seeds: TileSeeds, widths: FloatArray, scale: Scale) -> tuple[IntArray, FloatArray]:
    """Rows of the seeds that are centres, ascending, and the radius in which each counts."""
    level = np.searchsorted(_SIDES[1:], _APART * widths / scale.cell, side="right")
    side = _SIDES[level]
    cells = np.floor((seeds.points - scale.corner) / (side[:, None] * scale.cell)).astype(np.int64)
    voxel = names_of(cells, level)
    order = np.lexsort((seeds.names, -seeds.reliability, voxel))
    rows = np.sort(order[np.flatnonzero(np.diff(voxel[order], prepend=-1))])
    radii = np.maximum(BLENDED_RADIUS * widths[rows], _LEAST_RADIUS * side[rows] * scale.cell)
    return rows, np.minimum(radii, _WIDEST * scale.cell)


def _placed(
    start: FloatArray, across: FloatArray, out: FloatArray, scale: Scale
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Positions, normals and standard errors from the sums; vertices without a quadric, or too far from it, stay."""
    known = out[:, 0] > 0.0
    total = np.where(known, out[:, 0], 1.0)[:, None]
    way, tilted, values = out[:, 1:4] / total, out[:, 4:7] / total, out[:, 7:] / total
    length = np.sqrt(np.sum(tilted**2, axis=1, keepdims=True))
    tilted = np.where(length > 0.0, tilted / np.where(length > 0.0, length, 1.0), across)
    noise = min(scale.noise, scale.height_noise)
    back = project.taken_back(noise, values[:, 1])
    stayed = ~known | (np.sum(way**2, axis=1) > (FURTHEST_CELLS * scale.cell) ** 2)
    points = np.where(stayed[:, None], start, start + way - back[:, None] * tilted)
    return points, np.where(stayed[:, None], across, tilted), np.where(stayed, np.inf, np.sqrt(values[:, 0]))
