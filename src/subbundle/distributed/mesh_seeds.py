"""Seeds of one tile, and how positions near them depend on the bandwidth.

The first pass over a scene. A tile keeps the seeds that lie in its box; they are those of `surface.seeds` on the
scene's lattice, so each is found by exactly one tile and is the same for every tiling. At one seed in every five cells,
a *probe*, heights are found with all bandwidths, and what `surface.widths` averages of them is kept: the squared
differences, less what noise explains, and the variances.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_boxes import Territory
from subbundle.distributed.mesh_scale import Scale, names_of
from subbundle.surface import seeds as planting
from subbundle.surface import widths as choosing
from subbundle.surface.local import WeightedCloud
from subbundle.surface.pyramid import Pyramid
from subbundle.surface.tuning import SEED_CELLS, SEED_STRIDE, START_CELLS, SURROUNDINGS
from subbundle.surface.voxels import distinct, voxel_means
from subbundle.triangles.poisson_disk import hashes

# Cells around the box in which seeds must be known, for the probe of a voxel to be known, and in which they may begin:
# four steps of at most a bandwidth, two cells, each.
_KNOWN, _BEGIN = 6.0, 16.0
# Side, in cells, of the voxels with one probe each.
_PROBES = 5.0
# Cells within which seeds around tell what mass is typical; a factor that mixes the bits of a name.
AROUND, _MIX = 16.0, 0x1E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class TileSeeds:
    """Seeds of a tile, sorted by name.

    Attributes
    ----------
    names : [n] of int
        Of the voxel each is alone in.
    points, normals, reliability, mass : [n, 3], [n, 3], [n], [n]
        As in `surface.seeds.Seeds`.
    probes : [p] of int
        Rows of the seeds at which bandwidths were tried.
    risks : [p, 2 rungs]
        Squared bias and variance of every bandwidth.
    """

    names: IntArray
    points: FloatArray
    normals: FloatArray
    reliability: FloatArray
    mass: FloatArray
    probes: IntArray
    risks: FloatArray

    def seeds(self) -> planting.Seeds:
        """As the stages of `subbundle.reconstruct` read them."""
        return planting.Seeds(self.points, self.normals, self.reliability, self.mass)

    def take(self, rows: IntArray) -> TileSeeds:
        """The seeds at ``rows``, which are ascending."""
        place = np.full(len(self.names), -1, np.int64)
        place[rows] = np.arange(len(rows))
        kept = place[self.probes] >= 0
        return TileSeeds(
            self.names[rows], self.points[rows], self.normals[rows], self.reliability[rows], self.mass[rows],
            place[self.probes[kept]], self.risks[kept],
        )  # fmt: skip

    @staticmethod
    def joined(parts: list[TileSeeds]) -> TileSeeds:
        """The seeds of several tiles, sorted by name."""
        shift = np.cumsum([0, *(len(part.names) for part in parts)])
        columns = [np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(parts[0])]
        columns[5] = np.concatenate([part.probes + n for part, n in zip(parts, shift[:-1], strict=True)])
        order = np.argsort(columns[0], kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        probes = place[columns[5]]
        ranked = np.argsort(probes, kind="stable")
        columns = [column[order] for column in columns[:5]] + [probes[ranked], columns[6][ranked]]
        return TileSeeds(*columns)


def levels_of(
    points: FloatArray, tile: Territory, scale: Scale, n_jobs: int = 1
) -> tuple[Pyramid, WeightedCloud, FloatArray, FloatArray | None] | None:
    """The observations ``points`` [n, 3] of a tile and its halo at all resolutions; None where there are hardly any.

    Also the cloud of the finest, and its points and weights.
    """
    rows = np.asarray(points, np.float64)
    rows = rows[tile.near(rows, scale.halo)]
    if len(rows) < 2:
        return None
    weights = None
    if scale.side > 0.0:
        rows, weights = voxel_means(rows, None, scale.side, scale.corner)
    else:
        kept = distinct(rows, hashes(rows))
        rows = rows if kept is None else rows[kept]
    if len(rows) < 2:
        return None
    cloud = WeightedCloud(rows, weights, n_jobs=n_jobs, lattice=scale.lattice)
    sizes: dict[str, Any] = {"side": scale.side, "spacing": scale.spacing, "widest": float(scale.rungs[-1])}
    return Pyramid(cloud, rows, weights, origin=scale.corner, **sizes), cloud, rows, weights


def seeds_of(points: FloatArray, tile: Territory, scale: Scale, n_jobs: int = 1) -> TileSeeds:
    """The seeds of a ``tile``, from ``points`` [n, 3]: all that lie within `Scale.halo` of its box."""
    levels = levels_of(points, tile, scale, n_jobs)
    if levels is None:
        return _none(scale)
    pyramid, cloud, rows, weights = levels
    # Whole voxels of starts: the mean of a voxel must not depend on the tile.
    side = START_CELLS * scale.cell
    middles = scale.corner + side * (np.floor((rows - scale.corner) / side) + 0.5)
    near = np.flatnonzero(tile.near(middles, (_BEGIN + _KNOWN) * scale.cell))
    if near.size == 0:
        return _none(scale)
    near_weights = None if weights is None else weights[near]
    grown = planting.sprout(cloud, rows[near], near_weights, scale.window, scale.cell, scale.corner)
    grown = grown.take(np.flatnonzero(tile.near(grown.points, _KNOWN * scale.cell)))
    # Voxels of one seed each, sorted as `sprout` sorts them.
    names = names_of(scale.cells(grown.points, SEED_CELLS))
    own = tile.owns(grown.points)
    probe = np.zeros(len(names), np.bool_)
    probe[_best_of_voxels(grown, names, scale)] = True
    kept = np.flatnonzero(own)
    probes = np.flatnonzero(probe[kept])
    seeds = grown.take(kept)
    tried = seeds.take(probes)
    known, risks = _risks(pyramid, tried, scale)
    return TileSeeds(names[kept], seeds.points, seeds.normals, seeds.reliability, seeds.mass, probes[known], risks)


def mass_fraction(seeds: planting.Seeds, names: IntArray, scale: Scale, rows: IntArray) -> FloatArray:
    """Kernel mass of the seeds at ``rows``, as a fraction of the median of some of those around; 1 where none is.

    Seeds cover every sheet evenly, however dense it is, and outliers beside it have a small fraction of its mass.
    """
    # One in four, by the bits of its name: which ones does not depend on the tile.
    some = np.flatnonzero(((names * _MIX) >> 40) % SEED_STRIDE == 0)
    fraction = np.ones(len(rows))
    if len(some) == 0 or len(rows) == 0:
        return fraction
    count, reach = min(SURROUNDINGS, len(some)), AROUND * scale.cell
    tree, ranks = cKDTree(seeds.points[some]), [*range(1, count + 1)]
    near = tree.query(seeds.points[rows], k=ranks, distance_upper_bound=reach)[1]
    mass = np.sort(np.append(seeds.mass[some], np.inf)[near], axis=1)
    known = np.isfinite(mass).sum(axis=1)
    middle = np.maximum(known - 1, 0)
    typical = 0.5 * (mass[np.arange(len(rows)), middle // 2] + mass[np.arange(len(rows)), (middle + 1) // 2])
    return np.where(known > 0, seeds.mass[rows] / typical, fraction)


def _best_of_voxels(seeds: planting.Seeds, names: IntArray, scale: Scale) -> IntArray:
    """The most reliable seed of every voxel of `_PROBES` cells; among equals the first by name."""
    voxel = names_of(scale.cells(seeds.points, _PROBES))
    order = np.lexsort((names, -seeds.reliability, voxel))
    best: IntArray = order[np.flatnonzero(np.diff(voxel[order], prepend=-1))]
    return best


def _risks(pyramid: Pyramid, seeds: planting.Seeds, scale: Scale) -> tuple[IntArray, FloatArray]:
    """Which of the ``seeds`` determine a quadric at every bandwidth, and their squared biases and variances."""
    rungs = scale.rungs
    if len(seeds.points) == 0:
        return np.empty(0, np.int64), np.empty((0, 2 * len(rungs)))
    heights, gains = choosing.heights_at(pyramid, seeds.points, seeds.normals, rungs, scale.pilot)
    known = np.flatnonzero(np.isfinite(gains).all(axis=0))
    squares, variances = choosing.risk_terms(heights[:, known], gains[:, known], rungs, scale.height_noise**2)
    return known, np.ascontiguousarray(np.concatenate([squares, variances]).T)


def _none(scale: Scale) -> TileSeeds:
    empty, three = np.empty(0), np.empty((0, 3))
    names = np.empty(0, np.int64)
    return TileSeeds(names, three, three, empty, empty, names, np.empty((0, 2 * len(scale.rungs))))
