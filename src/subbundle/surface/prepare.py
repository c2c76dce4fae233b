"""Preparation of a scan: distinct points, thinned out where dense, with noise, spacing and the window."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, SubbundleWarning
from subbundle._validation import as_points, as_positive
from subbundle.surface import ambient, pilot, tuning, voxels
from subbundle.surface.facing import Facing
from subbundle.surface.local import SAMPLE, WeightedCloud
from subbundle.triangles import poisson_disk

LEAST_POINTS = ambient.LEAST_POINTS
# Points that the pilot is given.
_PILOT_POINTS = 200_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A scan ready for reconstruction: distinct ``points`` [n, 3], or voxel means of a dense scan, with the numbers of
    points in each as ``weights`` [n] and the ``side`` of the voxels, else 0; the ``window``, which is the bandwidth for
    normals and topology, and the ``cell`` of the grid that follows; ``facing``, the points with normals, if given."""

    points: FloatArray
    weights: FloatArray | None
    side: float
    pilot: pilot.Pilot
    window: float
    cell: float
    facing: Facing | None


def warn(message: str) -> None:
    """Issue a `SubbundleWarning`."""
    warnings.warn(message, SubbundleWarning, stacklevel=3)


def prepare(
    rows: FloatArray, normals: FloatArray | None, bandwidth: float | str, jobs: int, *, share: float = 1.0,
    dense: int | None = None,
) -> Prepared:  # fmt: skip
    """Prepare ``rows`` [N, 3] with unit ``normals`` [N, 3] or None.

    The rows may be a fraction ``share`` of a cloud; more than ``dense`` of them, 400,000 by default, are thinned out.
    """
    hashes = poisson_disk.hashes(rows)
    kept = voxels.distinct(rows, hashes)
    if kept is not None:
        rows, hashes = rows[kept], hashes[kept]
        normals = None if normals is None else normals[kept]
    if len(rows) < LEAST_POINTS:
        raise ValueError(f"points must hold at least {LEAST_POINTS} different rows; got {len(rows)}.")
    some = voxels.subset(rows, hashes, _PILOT_POINTS / len(rows))
    few = WeightedCloud(some, n_jobs=jobs)
    if isinstance(bandwidth, str):
        if bandwidth != "auto":
            raise ValueError(f"bandwidth must be a positive number or 'auto'; got {bandwidth!r}.")
        seen = pilot.estimate_pilot(few)
    else:
        if as_positive(bandwidth, "bandwidth") > few.size:
            bound = f"less than the size of the cloud, {few.size:.3g}"
            raise ValueError(f"bandwidth must be {bound}; got {bandwidth:.3g}. Pass bandwidth='auto'.")
        seen = pilot.at_window(few, bandwidth, tuning.WINDOW_BANDWIDTHS)
    first = seen.of_more_points(len(rows) / (share * len(some)), rescale=bandwidth == "auto")
    window = tuning.WINDOW_BANDWIDTHS * first.bandwidth
    if remark := ambient.remark_on(window, few.size):
        warn(remark)
    points, weights, side = rows, None, 0.0
    if len(rows) > (tuning.DENSE_POINTS if dense is None else dense):
        means, counts = voxels.voxel_means(rows, None, tuning.VOXEL_SIDE * window)
        if len(means) < tuning.THINNED * len(rows) / share:
            points, weights, side = means, counts, tuning.VOXEL_SIDE * window
            normals = None if normals is None else normals[cKDTree(rows).query(means)[1]]
    facing = None if normals is None else Facing(points, normals, weights, jobs)
    # With normals two walls may share a window: cells stay as narrow as it allows.
    cell = max(tuning.CELL_WINDOWS * window, tuning.CELL_SPACINGS * first.spacing * (facing is None))
    return Prepared(points, weights, side, first, window, cell, facing)


def check_normals(normals: Any, rows: FloatArray) -> FloatArray | None:
    """Unit normals [N, 3] of ``rows`` [N, 3] on one side; None, with a warning, if neighbours do not agree."""
    given = as_points(normals, "normals", dim=3)
    if len(given) != len(rows):
        raise ValueError(f"normals must have one row per point, {len(rows)}; got {len(given)}.")
    length = np.linalg.norm(given, axis=1, keepdims=True)
    known = length[:, 0] > 0.0
    unit: FloatArray = given / np.where(known[:, None], length, 1.0)
    some = np.flatnonzero(known)[:: max(int(known.sum()) // SAMPLE, 1)]
    if len(some) == 0:
        return None
    near = cKDTree(rows).query(rows[some], k=min(tuning.NEIGHBOURS + 1, len(rows)))[1][:, 1:]
    agree = np.einsum("nd,nkd->nk", unit[some], unit[near])
    # Across an edge normals are unrelated, so pairs are weighted by the absolute value of the cosine.
    same = float(np.maximum(agree, 0.0).sum() / max(np.abs(agree).sum(), np.finfo(float).tiny))
    if same < tuning.SAME_SIDE:
        warn(
            f"the normals were left out: only {100.0 * same:.0f} % of neighbours point to the "
            "same side, so they do not determine the outside. Pass normals that all point outward, or none."
        )
        return None
    return unit
