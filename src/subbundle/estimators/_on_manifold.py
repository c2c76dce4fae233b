"""From observations on a known manifold to a subbundle that is fit for long geodesics.

The steps are those of `_prepare`, on the manifold: the bandwidth is chosen in a picture of the data (offsets in R^D
for spheres, logarithms at the most central observation elsewhere), where distances are about those of the manifold; the
observations are projected along geodesics onto the ridge of their own bundle; and the bundle is built again from what
arrived there, at 0.67 of the bandwidth. In full rank there is nothing to carry: the bundle is the manifold itself.

Points are rows [n, D], matrices one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray, all_finite, evenly
from subbundle._validation import as_choice, as_integer, as_positive
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.bundles.surroundings import Curved
from subbundle.charts.chart import Chart
from subbundle.estimators._prepare import Prepared, denoised, guess_remark, narrower
from subbundle.selection.bandwidth import compare_bandwidths
from subbundle.selection.components import all_components
from subbundle.spaces.base import Space
from subbundle.spaces.rows import as_observations, shaped

# Observations that a sum of squared distances is taken over.
_JUDGES = 300


def prepare_on_manifold(
    points: Any,
    rank: int,
    *,
    space: Space,
    bandwidth: float | str = "auto",
    denoise: bool = True,
    centering: str = "recentred",
    n_jobs: int | None = None,
) -> Prepared:
    """Learn the bundle of the given ``rank`` from ``points`` [N, *shape] or [N, D] on ``space``."""
    rows = as_observations(points, space)
    why = f"dimensions of {space!r}; rank = dim is the manifold itself"
    rank = as_integer(rank, "n_components", low=1, high=space.dim, why=why)
    width, remark = _bandwidth(rows, rank, space, bandwidth, n_jobs)
    bundle = RiemannianSubbundle(rows, rank, width, space=space, centering=centering, n_jobs=n_jobs)
    if denoise and rank < space.dim:
        carried = denoised(bundle, rows)
        narrow = width * narrower(bundle.typical_mass, rank, given=not isinstance(bandwidth, str))
        bundle = RiemannianSubbundle(carried, rank, narrow, space=space, centering=centering, n_jobs=n_jobs)
    return Prepared(all_components(rows), width, bundle, remark=remark)


def central_rows(rows: FloatArray, space: Space) -> IntArray:
    """Rows by their sum of squared distances to up to 300 others, spread over the data, the least first.

    The order of the rows does not matter: those compared with are every so-many-th in lexicographic order.
    """
    order = np.lexsort(rows.T[::-1])
    judges = order[evenly(len(rows), _JUDGES)]
    points = shaped(space, rows)
    total = np.zeros(len(rows))
    for judge in judges:
        total += space.dist(points, points[judge]) ** 2
    return np.asarray(np.argsort(total, kind="stable"), dtype=np.int64)


def kept_variance(chart: Chart, rows: FloatArray, space: Space) -> float:
    """1 − Σ dist(x, x̂)²/Σ dist(x, x̄)²: x̂ the nearest point of the chart, x̄ the most central of ``rows`` [n, D]."""
    around = Curved(space)
    middle = np.broadcast_to(rows[central_rows(rows, space)[0]], rows.shape)
    lost = float(np.sum(chart.locate(rows, outside="nearest").residuals ** 2))
    total = float(np.sum(around.distance(middle, rows) ** 2))
    return 1.0 - lost / total if total > 0.0 else (1.0 if lost == 0.0 else -np.inf)


def _bandwidth(rows: FloatArray, rank: int, space: Space, bandwidth: Any, n_jobs: int | None) -> tuple[float, str]:
    if not isinstance(bandwidth, str):
        return as_positive(bandwidth, "bandwidth", hint="Or pass 'auto'."), ""
    as_choice(bandwidth, "bandwidth", ("auto",))
    pictures = Curved(space).picture(rows[central_rows(rows, space)[0]]).enter(rows)
    pictures = pictures[all_finite(pictures)]
    if rank == space.dim:
        # The subspaces are the tangent spaces whatever the bandwidth, which says only how far the data reaches.
        count = min(4 * (rank + 1), len(pictures) - 1)
        return float(np.median(cKDTree(pictures).query(pictures, k=count + 1)[0][:, -1])), ""
    choice = compare_bandwidths(pictures, rank, n_jobs=n_jobs)
    return choice.bandwidth, guess_remark(choice, len(rows), rank)
