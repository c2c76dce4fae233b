"""The first look at a scene: noise, spacing and windows for all tiles, the same for every tiling.

Up to `sample.SAMPLE` points they are those of `subbundle.reconstruct`. Of more points a sample would be too sparse to see
the surface, so the scene is looked at around a few places, complete there; where its noise turns out to be wide, further
around and with a share of the points.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from subbundle._types import FloatArray
from subbundle.distributed.mesh_scale import Scale, names_of
from subbundle.distributed.mesh_seeds import mass_fraction
from subbundle.surface import seeds as planting
from subbundle.surface import widths as choosing
from subbundle.surface.local import WeightedCloud
from subbundle.surface.prepare import Prepared, prepare

# Seeds at which narrow windows are compared.
_COMPARED = 2000


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
        scan.pilot.spacing, scan.pilot.noise, scan.side, planting.LEAST_MASS,
        float(np.median(seeds.mass)) if len(seeds.points) else 1.0,
    )  # fmt: skip
    if len(seeds.points) == 0:
        return scale
    names = names_of(scale.cells(seeds.points, planting.KEEP))
    least = planting.valley(mass_fraction(seeds, names, scale, np.arange(len(names))))
    return replace(scale, least_mass=least, height_noise=_height_noise(cloud, seeds, scan))


def _height_noise(cloud: WeightedCloud, seeds: planting.Seeds, scan: Prepared) -> float:
    """The noise that explains by how much heights at the two narrowest windows differ, as `surface.widths` takes it."""
    some = seeds.take(np.arange(0, len(seeds.points), max(len(seeds.points) // _COMPARED, 1)))
    rungs = choosing.ladder(scan.pilot)[:2]
    heights, gains = choosing.heights_at(cloud, some.points, some.normals, rungs, scan.pilot)
    known = np.isfinite(gains).all(axis=0)
    if not known.any():
        return scan.pilot.noise
    return float(np.sqrt(choosing.noise_of(heights[:, known], gains[:, known], rungs)))
