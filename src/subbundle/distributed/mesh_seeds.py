"""Seeds of one tile, and how positions near them depend on the bandwidth.

The first pass over a scene. A tile keeps the seeds that lie in its box; they are those of `surface.seeds` on the
scene's lattice, so each belongs to exactly one tile and is the same for every tiling. At one seed in every five cells,
a *probe*, heights are computed with all bandwidths, and the terms that `surface.widths` averages are kept: the squared
differences, less those due to noise, and the variances.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from subbundle._groups import best_of
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_places import Territory, names_of
from subbundle.distributed.mesh_scale import Scale
from subbundle.distributed.tuning import PROBES
from subbundle.surface import seeds as seeding
from subbundle.surface import widths as choosing
from subbundle.surface.local import WeightedCloud
from subbundle.surface.pyramid import Pyramid
from subbundle.surface.tuning import SEED_CELLS, START_CELLS
from subbundle.surface.voxels import distinct, voxel_means
from subbundle.triangles.poisson_disk import hashes


@dataclass(frozen=True, slots=True)
class TileSeeds:
    """Seeds of a tile, sorted by name.

    Attributes
    ----------
    names : [n] of int
        Of the voxel of each, which has one seed.
    points, normals, reliability, mass : [n, 3], [n, 3], [n], [n]
        As in `surface.seeds.Seeds`.
    risks : [n, 2 bandwidths]
        Squared bias and variance of every bandwidth; NaN unless the seed is a probe.
    """

    names: IntArray
    points: FloatArray
    normals: FloatArray
    reliability: FloatArray
    mass: FloatArray
    risks: FloatArray

    def seeds(self) -> seeding.Seeds:
        """As the stages of `subbundle.reconstruct` read them."""
        return seeding.Seeds(self.points, self.normals, self.reliability, self.mass)

    def take(self, rows: IntArray) -> TileSeeds:
        """The seeds at ``rows``."""
        return TileSeeds(*(getattr(self, part.name)[rows] for part in fields(self)))

    @staticmethod
    def joined(parts: list[TileSeeds]) -> TileSeeds:
        """The seeds of several tiles, sorted by name."""
        every = TileSeeds(*(np.concatenate([getattr(one, part.name) for one in parts]) for part in fields(TileSeeds)))
        return every.take(np.argsort(every.names, kind="stable"))


class Observed(NamedTuple):
    """Observations [n, 3] of a tile and its halo, weights [n] or None, their cloud, and its pyramid."""

    points: FloatArray
    weights: FloatArray | None
    cloud: WeightedCloud
    levels: Pyramid


def observed(points: FloatArray, tile: Territory, scale: Scale) -> Observed | None:
    """The observations ``points`` [n, 3] within `Scale.halo` of a tile; None where there are hardly any."""
    rows = np.asarray(points, np.float64)
    rows, weights = rows[tile.near(rows, scale.halo)], None
    if scale.side > 0.0 and len(rows):
        rows, weights = voxel_means(rows, None, scale.side, scale.corner)
    elif (kept := distinct(rows, hashes(rows))) is not None:
        rows = rows[kept]
    if len(rows) < 2:
        return None
    cloud, widest = WeightedCloud(rows, weights, lattice=scale.lattice), float(scale.bandwidths[-1])
    sizes = {"side": scale.side, "spacing": scale.spacing, "widest": widest}
    return Observed(rows, weights, cloud, Pyramid(cloud, rows, weights, origin=scale.corner, **sizes))


def seeds_of(points: FloatArray, tile: Territory, scale: Scale) -> TileSeeds:
    """The seeds of a ``tile``, from ``points`` [n, 3]: all that lie within `Scale.halo` of its box."""
    bandwidths, scan = scale.bandwidths, observed(points, tile, scale)
    # Seeds in the voxels of all probes are required, and all starts that may come as near to one as to replace it.
    known = (PROBES + 1.0) * scale.cell
    # Whole voxels of starts: the mean of a voxel must not depend on the tile.
    side = START_CELLS * scale.cell
    if scan is not None:
        middles = scale.corner + side * (np.floor((scan.points - scale.corner) / side) + 0.5)
        near = np.flatnonzero(tile.near(middles, known + 2.0 * scale.largest_shift * scale.cell))
    if scan is None or near.size == 0:
        empty, three = np.empty(0), np.empty((0, 3))
        return TileSeeds(np.empty(0, np.int64), three, three, empty, empty, np.empty((0, 2 * len(bandwidths))))
    weights = None if scan.weights is None else scan.weights[near]
    seeds = seeding.seed_candidates(scan.cloud, scan.points[near], weights, scale.window, scale.cell, scale.corner)
    seeds = seeds.take(np.flatnonzero(tile.near(seeds.points, known)))
    # Voxels of one seed each, sorted as `seed_candidates` sorts them.
    names, risks = (
        names_of(scale.cells(seeds.points, SEED_CELLS)),
        np.full((len(seeds.points), 2 * len(bandwidths)), np.nan),
    )
    own = tile.owns(seeds.points)
    probes = best_of(names_of(scale.cells(seeds.points, PROBES)), -seeds.reliability, names)
    probes = probes[own[probes]]
    if len(probes):
        tried = seeds.take(probes)
        heights, gains = choosing.heights_at(scan.levels, tried.points, tried.normals, bandwidths, scale.pilot)
        with np.errstate(invalid="ignore"):
            terms = choosing.risk_terms(heights, gains, bandwidths, scale.height_noise**2)
        risks[probes] = np.where(np.isfinite(gains).all(axis=0), np.concatenate(terms), np.nan).T
    kept = np.flatnonzero(own)
    seeds = seeds.take(kept)
    return TileSeeds(names[kept], seeds.points, seeds.normals, seeds.reliability, seeds.mass, risks[kept])
