"""The first look at a scene: noise, spacing and windows for all tiles, the same for every tiling.

Of up to 250,000 points they are those of `subbundle.reconstruct`. Of more points a sample would be too sparse to see
the surface, so the scene is looked at around a few places, complete there; where its noise turns out to be wide,
further around and with a share of the points.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._sampling import smallest
from subbundle._types import FloatArray
from subbundle.distributed.mesh_scale import Scale, names_of
from subbundle.distributed.mesh_seeds import mass_fraction
from subbundle.distributed.places import around
from subbundle.distributed.sample import read_sample
from subbundle.distributed.tiles import TilePlan
from subbundle.surface import seeds as planting
from subbundle.surface import widths as choosing
from subbundle.surface.local import WeightedCloud
from subbundle.surface.prepare import prepare
from subbundle.surface.tuning import SEED_CELLS, SUPPORT

# Points of a scene up to which all are looked at; of more, places, and points around each and around all.
_ALL, _PLACES, _AROUND_ONE, _AROUND_ALL = 250_000, 32, 6000, 300_000
# Windows that the surroundings of a place must be wide, from their middle.
_WINDOWS = 12.0


def look_at(plan: TilePlan, bandwidth: float | str = "auto", opening: float = 3.0, *, client: Any = None) -> Scale:
    """Look at the scene that ``plan`` has on disk, to be meshed with gaps up to ``opening`` bridged."""
    return replace(_look_at(plan, bandwidth, client), opening=opening)


def _look_at(plan: TilePlan, bandwidth: float | str, client: Any) -> Scale:
    rows, sample = read_sample(plan)
    origin = 0.5 * (sample.min(axis=0) + sample.max(axis=0))
    if plan.n_points <= _ALL:
        return scale_of(sample, bandwidth, origin=origin)
    places = sample[smallest(rows, _PLACES)]
    share = len(rows) / plan.n_points
    asked = min(max(int(np.ceil(_AROUND_ONE * share)), 8), len(rows) - 1)
    far = cKDTree(sample).query(places, k=[asked + 1], p=np.inf)[0][:, 0]
    # On a surface numbers grow with the square of the radius.
    radius = float(np.median(far)) * np.sqrt(_AROUND_ONE * share / asked)
    extent = float(np.ptp(sample, axis=0).max())
    while True:
        known = cKDTree(places).query(sample, p=np.inf)[0] <= radius
        part = min(_AROUND_ALL * share / max(int(known.sum()), 1), 1.0)
        near = around(plan, places, radius, share=part, client=client)[1]
        scale = scale_of(_packed(near, places, radius), bandwidth, share=part, origin=origin)
        if radius > _WINDOWS * scale.window or radius > extent:
            return scale
        radius = 1.5 * _WINDOWS * scale.window


def _packed(points: FloatArray, places: FloatArray, radius: float) -> FloatArray:
    """``points`` [n, 3] around ``places`` moved, each place with its surroundings, to the nodes of a small grid.

    Widths that are tried begin at a fraction of the size of the cloud, which should be that of what is looked at.
    """
    nearest = cKDTree(places).query(points, p=np.inf)[1]
    side = int(np.ceil(np.sqrt(len(places))))
    nodes = np.column_stack([np.arange(len(places)) // side, np.arange(len(places)) % side, np.zeros(len(places))])
    moved: FloatArray = points + (4.0 * radius * nodes - places)[nearest]
    return moved


def scale_of(
    sample: FloatArray, bandwidth: float | str = "auto", *, share: float = 1.0, origin: FloatArray | None = None,
    n_jobs: int = 1,
) -> Scale:  # fmt: skip
    """Look at ``sample`` [n, 3], a ``share`` of the observations at the places it is from.

    The lattice begins at ``origin`` [3], by default the middle of the sample.
    """
    scan = prepare(np.asarray(sample, np.float64), None, bandwidth, n_jobs, share=share, dense=0)
    begin = 0.5 * (sample.min(axis=0) + sample.max(axis=0)) if origin is None else np.asarray(origin, np.float64)
    cloud = WeightedCloud(scan.points, scan.weights, n_jobs=n_jobs)
    seeds = planting.sprout(cloud, scan.points, scan.weights, scan.window, scan.cell, begin)
    scale = Scale(
        (float(begin[0]), float(begin[1]), float(begin[2])), scan.cell, scan.window, scan.pilot.noise,
        scan.pilot.spacing, scan.pilot.noise, scan.side, SUPPORT,
        float(np.median(seeds.mass)) / share if len(seeds.points) else 1.0,
    )  # fmt: skip
    if len(seeds.points) == 0:
        return scale
    names = names_of(scale.cells(seeds.points, SEED_CELLS))
    least = planting.valley(mass_fraction(seeds, names, scale, np.arange(len(names))))
    noise = choosing.noise_square(cloud, seeds.points, seeds.normals, scan.pilot)
    return replace(scale, least_mass=least, height_noise=float(np.sqrt(noise)))
