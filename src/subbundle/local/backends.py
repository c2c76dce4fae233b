"""Back ends of the local model: rows handed to compiled walks, or to BLAS in many dimensions, and read into the record.

Points are in the cloud's centred coordinates here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._numbers import SINGULAR
from subbundle._parallel import run_rows
from subbundle._types import BoolArray, FloatArray
from subbundle.cloud import Cloud
from subbundle.kernels import GAUSSIAN, normal_area
from subbundle.local import columns as of
from subbundle.local import standard_errors
from subbundle.local.bias import bias as expected_bias
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
        self.numbers = np.full((n, of.COLUMNS), np.nan)
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
        widths=columns[of.WIDTH],
        log_mass=columns[of.LOG_MASS],
        n_effective=columns[of.EFFECTIVE],
        residual=columns[of.RESIDUAL],
        offsets=columns[of.OFFSET],
        looked=columns[of.LOOKED],
        steps=out.steps,
        status=out.status,
        basis=out.basis if out.basis.shape[2] > plan.rank else None,
        **known,
    )


def errors_of(columns: FloatArray, plan: Plan, cuts: FloatArray | None) -> dict[str, FloatArray]:
    """Noise, gain and standard errors from the ``columns`` [COLUMNS, n] that a walk has written."""
    m, k, area, effective = plan.codimension, plan.rank, columns[of.WIDTH] ** 2, columns[of.EFFECTIVE]
    variances, allowed, told = _variances(columns, plan)
    if cuts is not None:
        squared, slopes = standard_errors.cut_noise(variances[0], cuts, m)
        below = np.where(told, variances * allowed, np.inf).min(axis=0)
        if plan.noise is not None:
            below, slopes = standard_errors.cut_variance(plan.noise**2, cuts, m)
        level = squared if plan.noise is None else np.full_like(area, plan.noise**2)
        below, slopes = np.tile(below, (3, 1)), np.tile(slopes, (3, 1))
    else:
        windows = normal_area(plan.kernel, plan.reach, k) * area * np.array([[1.0], *([f * f] for f in NARROWER)])
        levels = standard_errors.widened(variances, windows)
        squared, level = levels[0], np.where(told, levels * allowed, np.inf).min(axis=0)
        level = level if plan.noise is None else np.full_like(area, plan.noise**2)
        below = standard_errors.narrowed(level, windows)
        slopes = np.maximum(1.0 - below / windows, LEAST_SLOPE)
    # The mean has the variance 1/n_eff; what a quadric adds to it comes with the part of its correction that is made.
    plain = 1.0 / effective
    gain = (plain + columns[of.KEPT] ** 2 * (columns[of.HEIGHT] - plain)) / slopes[0] ** 2
    position, bias = below[0] * gain, columns[of.LOST] / slopes[0] ** 2
    along = position
    if plan.errors > 1:
        # What residuals show beyond noise, the quadric has not followed. At the best bandwidth the squared bias is k/8
        # of the variance, for a bias of the fourth order; half of that is expected beforehand.
        sure = 1.0 + np.sqrt(2.0 / (m * np.maximum(effective - 1.0, 1.0)))
        position = np.maximum(position, SINGULAR * SINGULAR * area)
        scale = np.sqrt(m * (k / 16.0 + np.maximum(variances[0] - below[0] * sure, 0.0) / position))
        deviations, products, moved = _observations(columns, below, slopes, told, level)
        bias, along = expected_bias(k, m, deviations, products, np.maximum(bias + moved, 0.0), position, scale)
    radius = standard_errors.radius95(position, bias, m, along)
    return {
        "noise": np.sqrt(squared),
        "height_gain": columns[of.HEIGHT],
        "gain": gain,
        "bias": np.sqrt(bias),
        "position_error": radius / standard_errors.TWO_SIDED,
        "tangent_error": np.sqrt(m * below[0] * columns[of.SLOPES] / area),
    }


def _variances(columns: FloatArray, plan: Plan) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Variance per normal direction about the quadric in each window [3, n], by what its noise lets it count, and where
    it does.

    A shape that no quadric follows adds to the residuals, and less so in narrower windows. Their estimates are the
    noisier ones, so they only count where they are lower by more than their standard error.
    """
    m, k = plan.codimension, plan.rank
    effective = np.stack([columns[of.EFFECTIVE], *columns[of.NARROW : of.PRODUCTS : 3]])
    residual = np.stack([columns[of.RESIDUAL], *columns[of.NARROW + 1 : of.PRODUCTS : 3]])
    with np.errstate(invalid="ignore", divide="ignore"):
        free = np.maximum(1.0 - used_up(k) / effective, np.where(np.arange(3)[:, None] > 0, 1.0 / effective, 0.1))
        variances, allowed = residual / m / free, 1.0 + np.sqrt(2.0 / (m * free * effective))
        told = effective > ENOUGH * n_features(k)
    allowed[0], told[0] = 1.0, True
    return variances, allowed, told


def _observations(
    columns: FloatArray, below: FloatArray, slopes: FloatArray, told: BoolArray, level: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Deviations [n, 4] and products [n, 9] for `bias`, of offsets: what a window shows of one, over its slope.

    Noise σ² along the tangent space, too, moves the middle of a cloud to the hollow side, by ½ σ² tr II. That counts
    like a correction that was not made: what it adds to the square of that one is returned last.
    """
    gains = np.stack([columns[of.HEIGHT], *columns[of.NARROW + 2 : of.PRODUCTS : 3], columns[of.BEYOND]])
    rows = [0, 1, 2, 0]
    with np.errstate(invalid="ignore"):
        # A quartic that the neighbours do not show has no variance and no estimate.
        found = np.stack([*told, columns[of.BEYOND] > 0.0]) & (gains >= 0.0)
        deviations = np.where(found, np.sqrt(below[rows] * gains) / slopes[rows], np.inf)
    by, products = 1.0 / slopes[[1, 2, 0]], columns[of.PRODUCTS : of.COLUMNS]
    pairs = [by[i] * by[j] for i in range(3) for j in range(i, 3)]
    lost = by * (products[6:9] / slopes[0] - level * products[9:12])
    moved = level * (level * products[13] - 2.0 * products[12] / slopes[0])
    return deviations.T, np.ascontiguousarray(np.vstack([products[:6] * np.stack(pairs), lost]).T), moved
