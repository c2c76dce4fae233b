"""Vertices of a tile on robust quadrics, whose bandwidths follow the risks at the seeds of all tiles around.

As `surface.project`, with everything a function of bounded surroundings: squared biases and variances are averaged over
as many cells as there over the mesh; centres of quadrics are seeds, the most reliable one per voxel, whose side grows
with the bandwidth; and each vertex is projected to the mean of the quadrics of all centres near it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._groups import best_of
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_level_set import Piece
from subbundle.distributed.mesh_places import Territory, averaged, names_of
from subbundle.distributed.mesh_scale import AVERAGED, BEND, DIAGONAL, READ, Scale
from subbundle.distributed.mesh_seeds import TileSeeds
from subbundle.surface import blend, project
from subbundle.surface import widths as choosing
from subbundle.surface.pyramid import Pyramid
from subbundle.surface.tuning import BLENDED_RADIUS, QUADRIC_STEPS, SEEN_CELLS
from subbundle.triangles.tuning import SAME_PLANE

# Sides, in cells, of the voxels with one centre each.
_SIDES = np.sqrt(2.0) ** np.arange(16)


def project_margin(scale: Scale) -> float:
    """Cells around a tile in which seeds are required for its vertices."""
    return AVERAGED + READ + scale.centres + scale.widest


def projected(found: Piece, seeds: TileSeeds, levels: Pyramid, tile: Territory, scale: Scale) -> Piece:
    """The mesh of a tile with the vertices of ``found`` on the surface, their normals and standard errors."""
    # Whole voxels of centres, of which only those near vertices are then fitted.
    here = seeds.take(np.flatnonzero(tile.near(seeds.points, (scale.centres + scale.widest) * scale.cell)))
    widths = _widths(seeds, here.points, scale)
    rows, radii = _centres(here, widths, scale)
    near = tile.near(here.points[rows], scale.centres * scale.cell)
    rows, radii = rows[near], radii[near]
    cuts = choosing.cut(scale.pilot, widths[rows])
    fit = levels.quadric(here.points[rows], here.normals[rows], widths[rows], cuts, rounds=QUADRIC_STEPS)
    way = np.linalg.norm(fit.points - here.points[rows], axis=1)
    good = np.flatnonzero(np.isfinite(fit.gain) & (fit.gain > 0.0) & (way < SEEN_CELLS * scale.cell))
    fit, radii = fit.take(good), radii[good]

    def alike(one: IntArray, other: IntArray) -> NDArray[np.bool_]:
        return np.asarray(np.sum(fit.normals[one] * fit.normals[other], axis=1) > SAME_PLANE)

    bend = averaged(fit.points, fit.points, BEND * scale.cell, fit.curvature[:, None], alike=alike)
    values = np.column_stack([project.height_variance(fit.mass, fit.gain, fit.residual), bend])
    out = blend.blend_at(found.vertices, found.normals, fit, values, radii)
    # Slivers at a border have unreliable normals; the nearest seed's are used. Between sparse centres radii are wider.
    lost = np.flatnonzero(out[:, 0] == 0.0)
    normals = found.normals.copy()
    if lost.size and len(here.names):
        normals[lost] = here.normals[cKDTree(here.points).query(found.vertices[lost])[1]]
        widest = np.full(len(radii), scale.widest * scale.cell)
        out[lost] = blend.blend_at(found.vertices[lost], normals[lost], fit, values, widest)
    vertices, normals, error = _placed(found.vertices, normals, out, scale)
    return replace(found, vertices=vertices, normals=normals, error=error)


def _widths(seeds: TileSeeds, places: FloatArray, scale: Scale) -> FloatArray:
    """The bandwidth [n] of positions at ``places`` [n, 3], from the probes of ``seeds``."""
    bandwidths, probes = scale.bandwidths, np.flatnonzero(np.isfinite(seeds.risks[:, 0]))
    if len(probes) == 0:
        return np.full(len(places), bandwidths[1])
    points = seeds.points[probes]
    mean = averaged(points, points, AVERAGED * scale.cell, seeds.risks[probes]).T
    level = choosing.least_risk(mean[: len(bandwidths)], mean[len(bandwidths) :])
    read = averaged(places, points, READ * scale.cell, level[:, None])[:, 0]
    return choosing.width_of(bandwidths, np.where(np.isfinite(read), read, 1.0))


def _centres(seeds: TileSeeds, widths: FloatArray, scale: Scale) -> tuple[IntArray, FloatArray]:
    """Rows of the seeds that are centres, ascending, and the radius of the weights of each.

    The side of a voxel with one centre, in steps of √2 from one cell on, is such that the radius covers the voxel.
    """
    level = np.searchsorted(_SIDES[1:], BLENDED_RADIUS * widths / (DIAGONAL * scale.cell), side="right")
    side = _SIDES[level]
    rows = np.sort(best_of(names_of(scale.cells(seeds.points, side[:, None]), level), -seeds.reliability, seeds.names))
    radii = np.maximum(BLENDED_RADIUS * widths[rows], DIAGONAL * side[rows] * scale.cell)
    return rows, radii


def _placed(
    start: FloatArray, across: FloatArray, out: FloatArray, scale: Scale
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Positions, normals and standard errors from the sums; vertices without a quadric nearby are not moved."""
    known = out[:, 0] > 0.0
    total = np.where(known, out[:, 0], 1.0)[:, None]
    way, tilted, values = out[:, 1:4] / total, out[:, 4:7] / total, out[:, 7:] / total
    length = np.sqrt(np.sum(tilted**2, axis=1, keepdims=True))
    tilted = np.where(length > 0.0, tilted / np.where(length > 0.0, length, 1.0), across)
    back = project.noise_bias(min(scale.noise, scale.height_noise), values[:, 1])
    stayed = ~known | (np.sum(way**2, axis=1) > (SEEN_CELLS * scale.cell) ** 2)
    points = np.where(stayed[:, None], start, start + way - back[:, None] * tilted)
    return points, np.where(stayed[:, None], across, tilted), np.where(stayed, np.inf, np.sqrt(values[:, 0]))
