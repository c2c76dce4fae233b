"""Back ends of the local model: rows handed to compiled walks, or to BLAS in many dimensions, and read into the record.

Points are in the cloud's centred coordinates here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._parallel import run_rows
from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.kernels import GAUSSIAN, normal_area
from subbundle.local import standard_errors, walk
from subbundle.local.many import ManyDimensions
from subbundle.local.model import LocalModel
from subbundle.local.regression import n_features, used_up
from subbundle.local.settings import ALL, COMMON, Plan, Widths
from subbundle.local.tangential import robust_rows
from subbundle.local.tuning import ENOUGH, LEAST_SLOPE, NARROWER
from subbundle.local.walk import walk_rows


class _Written:
    """Arrays that a compiled walk writes into."""

    def __init__(self, points: FloatArray, plan: Plan, *, normals: bool = True) -> None:
        n, dim = points.shape
        self.points = points.copy()
        # Every normal direction by itself is listed only in few dimensions.
        self.basis = np.full((n, dim, dim if normals else plan.rank), np.nan)
        self.values, self.means = np.full((n, dim), np.nan), np.full((n, dim), np.nan)
        self.forms = np.full((n, plan.rank * (plan.rank + 1) // 2, dim), np.nan)
        self.numbers = np.full((n, walk.COLUMNS), np.nan)
        self.steps, self.status = np.empty(n, np.int64), np.empty(n, np.int8)


def walk_few(
    cloud: Cloud, points: FloatArray, widths: Widths, own_widths: FloatArray, plan: Plan, n_jobs: int
) -> LocalModel:
    """The local model by the ball, in up to `BLOCK_DIM` dimensions; ``own_widths`` [n], or [0] for ``widths``."""
    out = _Written(points, plan)
    numbers = (
        plan.kernel, plan.rank, plan.codimension, plan.order, plan.reach, plan.tol, plan.relative, plan.max_steps,
        plan.apart, plan.wanted, plan.log_share, plan.min_gap,
    )  # fmt: skip

    surface = cloud.dim == 3 and plan.rank == 2 and plan.kernel != GAUSSIAN
    cases = COMMON if surface and not len(widths[2]) and plan.apart < 0.0 else ALL

    def work(i: int, j: int) -> None:
        walk_rows(
            cloud.tree, widths, own_widths[i:j], numbers, cases, plan.ladder, plan.errors, out.points[i:j],
            out.basis[i:j], out.values[i:j], out.means[i:j], out.forms[i:j], out.numbers[i:j], out.steps[i:j],
            out.status[i:j],
        )  # fmt: skip

    run_rows(work, len(points), n_jobs, calls_blas=False)
    return _model(out, plan, None)


def walk_many(
    cloud: Cloud, points: FloatArray, widths: Widths, own_widths: FloatArray, plan: Plan, n_jobs: int
) -> LocalModel:
    """The local model by the ball, above `BLOCK_DIM` dimensions."""
    walker = ManyDimensions(cloud, widths, plan)
    ends: list[Any] = [None] * len(points)

    def work(start: int, stop: int) -> None:
        for b in range(start, stop):
            ends[b] = walker.walk(points[b], own_widths[b] if own_widths.size else np.nan)

    run_rows(work, len(points), n_jobs)
    out = _Written(points, plan, normals=False)
    for b, end in enumerate(ends):
        out.points[b], out.means[b], out.values[b] = end.point, end.mean, end.values
        out.basis[b], out.forms[b], out.numbers[b] = end.tangents, end.forms, end.numbers
        out.steps[b], out.status[b] = end.steps, end.status
    return _model(out, plan, None)


def walk_robust(
    cloud: Cloud, points: FloatArray, widths: FloatArray, cuts: FloatArray, stretches: FloatArray, basis: FloatArray,
    plan: Plan, n_jobs: int,
) -> LocalModel:  # fmt: skip
    """The local model of a surface in R³ by robust windows over the planes that ``basis`` [n, 3, 3] begins with."""
    out = _Written(points, plan)
    out.basis[:] = basis
    rounds = max(plan.max_steps, 1)

    def work(i: int, j: int) -> None:
        robust_rows(
            cloud.tree, widths[i:j], cuts[i:j], stretches[i:j], rounds, plan.errors,
            out.points[i:j], out.basis[i:j], out.forms[i:j], out.numbers[i:j], out.steps[i:j], out.status[i:j],
        )  # fmt: skip

    run_rows(work, len(points), n_jobs, calls_blas=False)
    return _model(out, plan, cuts)


def _model(out: _Written, plan: Plan, cuts: FloatArray | None) -> LocalModel:
    columns = out.numbers.T
    known = errors_of(columns, plan, cuts)
    return LocalModel(
        points=out.points,
        mean=out.means,
        eigenvalues=out.values,
        tangents=np.ascontiguousarray(out.basis[:, :, : plan.rank]),
        forms=out.forms,
        widths=columns[walk.WIDTH],
        log_mass=columns[walk.LOG_MASS],
        n_effective=columns[walk.EFFECTIVE],
        residual=columns[walk.RESIDUAL],
        offsets=columns[walk.OFFSET],
        looked=columns[walk.LOOKED],
        steps=out.steps,
        status=out.status,
        basis=out.basis if out.basis.shape[2] > plan.rank else None,
        **known,
    )


def errors_of(columns: FloatArray, plan: Plan, cuts: FloatArray | None) -> dict[str, FloatArray]:
    """Noise, gain and standard errors from the ``columns`` [COLUMNS, n] that a walk has written."""
    m, area = plan.codimension, columns[walk.WIDTH] ** 2
    variance, below = _variances(columns, plan)
    if cuts is not None:
        squared, slope = standard_errors.cut_noise(variance, cuts, m)
        if plan.noise is not None:
            below, slope = standard_errors.cut_variance(plan.noise**2, cuts, m)
    else:
        window = normal_area(plan.kernel, plan.reach, plan.rank) * area
        squared = standard_errors.widened(variance, window)
        if plan.noise is not None:
            below = standard_errors.narrowed(np.full_like(area, plan.noise**2), window)
        slope = np.maximum(1.0 - below / window, LEAST_SLOPE)
    # The mean has the variance 1/n_eff; what a quadric adds to it comes with the part of its correction that is made.
    plain = 1.0 / columns[walk.EFFECTIVE]
    gain = (plain + columns[walk.KEPT] ** 2 * (columns[walk.HEIGHT] - plain)) / slope**2
    bias = _bias(columns, m, below)
    # What residuals show beyond noise, the quadric has not followed. Of a quartic all of it may enter the height (|τ|⁴
    # on a plane; 3/8 of it for a fourth power along one direction).
    beyond = variance - below * (1.0 + 2.0 * np.sqrt(2.0 / (m * np.maximum(columns[walk.EFFECTIVE] - 1.0, 1.0))))
    # But no more than the narrower window would show of a bias of the second order: other sheets at the edge of a
    # window leave long residuals and hardly move it.
    most = columns[walk.LESS_BIAS] * ((1.0 - NARROWER**4) / (1.0 - NARROWER**2)) ** 2
    unseen = np.fmin(m * np.maximum(beyond, 0.0), most)
    bias = (np.fmax(bias, unseen) + columns[walk.LOST]) / slope**2
    radius = standard_errors.radius95(below * gain, bias, m)
    return {
        "noise": np.sqrt(squared),
        "height_gain": columns[walk.HEIGHT],
        "gain": gain,
        "bias": np.sqrt(bias),
        "position_error": radius / standard_errors.TWO_SIDED,
        "tangent_error": np.sqrt(m * below * columns[walk.SLOPES] / area),
    }


def _variances(columns: FloatArray, plan: Plan) -> tuple[FloatArray, FloatArray]:
    """Variance per normal direction about the quadric, and that without what the quadric does not follow.

    A shape that no quadric follows adds to the residuals, and less so in the narrower window. Its estimate is the
    noisier one, so it only counts where it is lower by more than its standard error.
    """
    m, k = plan.codimension, plan.rank
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = columns[walk.RESIDUAL] / m / np.maximum(1.0 - used_up(k) / columns[walk.EFFECTIVE], 0.1)
        free = np.maximum(columns[walk.LESS_EFFECTIVE] - used_up(k), 1.0)
        less = columns[walk.LESS_RESIDUAL] / m * columns[walk.LESS_EFFECTIVE] / free
        less = less * (1.0 + np.sqrt(2.0 / (m * free)))
    told = columns[walk.LESS_EFFECTIVE] > ENOUGH * n_features(k)
    return variance, np.where(told, np.minimum(variance, less), variance)


def _bias(columns: FloatArray, m: int, variance: FloatArray) -> FloatArray:
    """|bias|², from the quartic term and the narrower window, each as far as its noise lets it count.

    Both estimate the same vector. Where they differ by more than noise allows, the quartic term is not all there is,
    and its estimate counts for less.
    """
    quartic, less, mutual = columns[walk.BIAS], columns[walk.LESS_BIAS], columns[walk.MUTUAL]
    noise = variance * columns[walk.BEYOND]
    with np.errstate(invalid="ignore", divide="ignore"):
        more = variance * np.maximum(columns[walk.LESS_HEIGHT] - columns[walk.HEIGHT], 0.0) / (1.0 - NARROWER**4) ** 2
        apart = np.maximum(quartic + less - 2.0 * mutual - m * (noise + more), 0.0) / m
        share = (noise + apart) / (noise + apart + more)
        both = (1.0 - share) ** 2 * quartic + share**2 * less + 2.0 * share * (1.0 - share) * mutual
        both -= m * ((1.0 - share) ** 2 * noise + share**2 * more)
    alone = quartic - m * noise
    told = np.isfinite(both) & (columns[walk.LESS_EFFECTIVE] > ENOUGH * 2.0)
    return np.asarray(np.maximum(np.where(told, both, alone), 0.0))
