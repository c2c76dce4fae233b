"""The local model: moments, tangent space, second form, noise and standard errors of a cloud around a point.

`fit_local` is its entry point; `neighbor_fits.fit_to_neighbors` fills the same record from given neighbours. Bundles,
projections onto the ridge, quadratic charts, the vertices of a mesh, tables and the choice of bandwidths read it. Rows
are fitted by a compiled iteration in up to `BLOCK_DIM` dimensions (`walk`), with BLAS above (`many`), by robust windows
for surfaces (`tangential`); these take the cloud's centred coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from subbundle._numbers import SINGULAR
from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle.cloud import Cloud
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.kernels import CODES, reach_of, tail
from subbundle.local import deviations as of
from subbundle.local.frames import completed
from subbundle.local.local_pca import local_pca
from subbundle.local.logs import Logs
from subbundle.local.many import ManyDimensions
from subbundle.local.settings import ALL, COMMON, LOCAL, Plan, Settings, Widths, constant_widths, pairs
from subbundle.local.standard_errors import errors_of
from subbundle.local.tangential import robust_rows
from subbundle.local.tuning import LEFT_OUT
from subbundle.local.walk import iterate_rows


@dataclass(frozen=True, slots=True)
class LocalModel:
    """The local model at points of R^d, one row per query, where the last step began.

    Attributes
    ----------
    points : [n, d]
        The points after the last step; the queries themselves when no steps were taken.
    mean, eigenvalues : [n, d]
        Local mean m and eigenvalues of the second moment about it, descending (the leading k + 1, then NaN, in many
        dimensions). Robust fits have neither: NaN.
    tangents : [n, d, k]
        Orthonormal basis of the tangent space: leading eigenvectors, for order 2 tilted to those of the quadric.
    forms : [n, k (k + 1)/2, d]
        II(t_a, t_b), a ≤ b, vectors of the normal space (1/length). NaN for order 0.
    widths : [n]
        The bandwidth a at the row.
    log_mass : [n]
        Log of Σ w, relative to the typical one where one was given.
    n_effective : [n]
        (Σ w)²/Σ (w²/v): effective number of neighbours.
    residual : [n]
        Σ w |e|²/Σ w of the residuals e of the quadric, summed over normal directions.
    noise : [n]
        Standard deviation σ of the observations along one normal direction, corrected for window and fit; NaN for
        robust fits.
    height_gain : [n]
        Variance of the quadric's height, in units of the variance of an observation's residual.
    position_error : [n]
        Standard error of the position across the manifold, from noise and bias: the true offset is at most 1.96 of it
        long at 95 % of the points. This and the next: NaN where they were not computed, and for robust fits.
    tangent_error : [n]
        Standard error of the tangent space: root mean square of the angle's sine, from noise.
    offsets : [n]
        Length of the last step (the one that would be taken, when none was).
    support_radius : [n]
        Distance from the query beyond which no observation had a weight; NaN for robust fits and above
        `BLOCK_DIM` dimensions.
    steps, status : [n]
    basis : [n, d, d] or None
        Tangents and normals, in up to `BLOCK_DIM` dimensions.
    """

    points: FloatArray
    mean: FloatArray
    eigenvalues: FloatArray
    tangents: FloatArray
    forms: FloatArray
    widths: FloatArray
    log_mass: FloatArray
    n_effective: FloatArray
    residual: FloatArray
    noise: FloatArray
    height_gain: FloatArray
    position_error: FloatArray
    tangent_error: FloatArray
    offsets: FloatArray
    support_radius: FloatArray
    steps: IntArray
    status: StatusArray
    basis: FloatArray | None = None

    @property
    def mass(self) -> FloatArray:
        """Σ w [n]; 0 where no observation was in reach."""
        return np.asarray(np.exp(self.log_mass))

    @property
    def normals(self) -> FloatArray:
        """Orthonormal basis [n, d, d − k] of the normal space, signs arbitrary; computed where it is not stored."""
        k = self.tangents.shape[2]
        return self.basis[:, :, k:] if self.basis is not None else completed(self.tangents)[:, :, k:]

    @property
    def frames(self) -> FloatArray:
        """The tangents as orthonormal rows [n, k, d]."""
        return self.tangents.transpose(0, 2, 1)

    @property
    def second_form(self) -> FloatArray:
        """II(t_a, t_b) [n, k, k, d]."""
        return symmetric_form(self.forms, self.tangents.shape[2])


def partial_model(points: FloatArray, tangents: FloatArray, forms: FloatArray, **known: Any) -> LocalModel:
    """A model of which only ``points`` [n, d], ``tangents``, ``forms`` and what is ``known`` are: NaN elsewhere, status
    OK after no step."""
    n, dim = points.shape
    vectors = {name: np.full((n, dim), np.nan) for name in ("mean", "eigenvalues")}
    names = {one.name for one in fields(LocalModel)} - {"points", "tangents", "forms", "steps", "status", "basis"}
    numbers = {name: np.full(n, np.nan) for name in names - vectors.keys()}
    rest: dict[str, Any] = {"steps": np.zeros(n, np.int64), "status": np.zeros(n, np.int8)}
    return LocalModel(points=points, tangents=tangents, forms=forms, **(vectors | numbers | rest | known))


def symmetric_form(forms: FloatArray, rank: int) -> FloatArray:
    """II [n, k, k, d] from its pairs [n, k (k + 1)/2, d]."""
    result = np.empty((len(forms), rank, rank, forms.shape[2]))
    for pair, (a, b) in enumerate(pairs(rank)):
        result[:, a, b] = result[:, b, a] = forms[:, pair]
    return result


def fit_local(
    cloud: Cloud,
    points: FloatArray,
    width: float | FloatArray,
    rank: int,
    *,
    order: int = 2,
    robust: float | FloatArray | None = None,
    tangents: FloatArray | None = None,
    stretch: float | FloatArray = 1.0,
    steps: int = 0,
    tol: float = 0.0,
    without_self: bool = False,
    kernel: str = "gaussian",
    errors: bool = True,
    n_jobs: int | None = 1,
) -> LocalModel:
    """Fit the local model of ``cloud`` around ``points`` [n, d].

    Parameters
    ----------
    cloud : Cloud
        The observations, with weights v_n if it has some.
    width : float or [n]
        Bandwidth a, one for all rows or one each.
    rank : int
        Dimension k of the tangent spaces.
    order : {0, 1, 2}
        0: mass, mean and eigenvalues only. 1: the ridge, where the mean lies in the tangent space. 2: the ridge
        corrected for curvature by a quadric.
    robust : float, [n] or None
        Height above which an observation has no weight: a biweight on the residuals, over a window in the
        tangential coordinates only, for surfaces in R³. None for the ball.
    tangents : [n, d, k], optional
        Tangent spaces to begin a robust fit with; by default those of a local PCA over the ball.
    stretch : float or [n]
        How many times as wide a robust window is along its first tangent.
    steps : int
        Steps towards the ridge; 0 fits around the points as they are.
    tol : float
        Steps shorter than this fraction of the bandwidth end the iteration; rows that need more than ``steps`` have
        the status NOT_CONVERGED. 0: all steps are taken.
    without_self : bool
        Leave observations equal to the starting point out of the first step.
    errors : bool
        Whether to compute standard errors; they take as long as two steps. Robust fits have ``height_gain`` alone.

    Examples
    --------
    >>> import numpy as np, subbundle as sb
    >>> noisy = sb.datasets.sphere(4000, noise=0.05)
    >>> model = fit_local(sb.Cloud(noisy.points), noisy.points, 0.15, 2, steps=5)
    >>> off = np.abs(np.linalg.norm(model.points, axis=1) - 1.0)
    >>> bool(0.9 < np.mean(off < 1.96 * model.position_error) < 0.98)
    True
    """
    jobs = resolve_jobs(n_jobs)
    start = np.array(points - cloud.centre, dtype=np.float64, order="C")
    widths = np.empty(len(start))
    widths[:] = width
    plan = Plan(
        kernel=CODES[kernel], rank=rank, codimension=max(cloud.dim - rank, 1), order=order,
        reach=tail(rank, LEFT_OUT) if kernel == "gaussian" else reach_of(kernel, rank, cloud.dim),
        tol=tol, max_steps=steps, apart=0.0 if without_self else -1.0, errors=errors,
    )  # fmt: skip
    everywhere = constant_widths(1.0, 0.0, cloud.dim)
    if robust is not None:
        if (cloud.dim, rank) != (3, 2):
            raise ValueError(
                f"robust windows are for rank 2 in R³; got rank {rank} in R^{cloud.dim}. Pass robust=None."
            )
        cuts = np.maximum(robust, SINGULAR * widths)  # a cloud without noise has a cut of 0
        if tangents is None:
            tangents = iterate(cloud, start, everywhere, widths, plan.without_steps(), jobs).tangents
        stretches = np.ones(len(start)) * stretch
        found = _iterate_robust(cloud, start, widths, cuts, stretches, completed(tangents), plan, jobs)
    else:
        found = iterate(cloud, start, everywhere, widths, plan, jobs)
    changes: dict[str, Any] = {"points": found.points + cloud.centre, "mean": found.mean + cloud.centre}
    if tol == 0.0:  # a fixed number of steps need not converge
        changes["status"] = np.where(found.status == Status.NOT_CONVERGED, Status.OK, found.status).astype(np.int8)
    return replace(found, **changes)


def iterate(
    cloud: Cloud, points: FloatArray, widths: Widths, own_widths: FloatArray, plan: Plan, n_jobs: int
) -> LocalModel:
    """The local model over balls; ``own_widths`` [n], or [0] for ``widths``."""
    if plan.order == 0:
        settings = Settings(plan.rank, widths, plan.kernel, plan.reach, LOCAL, plan.log_share, plan.min_gap)
        return as_model(local_pca(cloud, points, settings, own_widths, plan.apart, n_jobs), plan, {})
    few = cloud.dim <= BLOCK_DIM
    out = of.Output(points, plan.rank, cloud.dim if few else plan.rank)
    run_rows(back_end(cloud, widths, own_widths, plan, out), len(points), n_jobs, calls_blas=not few)
    return as_model(out, plan, errors_of(out.numbers.T, plan))


def back_end(
    cloud: Cloud | Logs, widths: Widths, own_widths: FloatArray, plan: Plan, out: of.Output
) -> Callable[[int, int], None]:
    """The iteration of the rows from i to j of ``out``: compiled, or above `BLOCK_DIM` dimensions with BLAS."""
    many = None if cloud.dim <= BLOCK_DIM else ManyDimensions(cloud, widths, plan)
    common = (cloud.dim, plan.rank) == (3, 2) and not len(widths[2])
    cases = COMMON if common else ALL
    with_errors = None if common and not plan.errors else plan.errors
    factors = None if common and not plan.continuation.size else plan.continuation

    def work(i: int, j: int) -> None:
        if many is None:
            iterate_rows(
                cloud.tree, widths, own_widths[i:j], plan.numbers, cases, with_errors, factors, *out.rows(i, j)
            )
            return
        for b in range(i, j):
            many.iterate(out, b, own_widths[b] if own_widths.size else np.nan)

    return work


def _iterate_robust(
    cloud: Cloud, points: FloatArray, widths: FloatArray, cuts: FloatArray, stretches: FloatArray, basis: FloatArray,
    plan: Plan, n_jobs: int,
) -> LocalModel:  # fmt: skip
    """The local model of a surface in R³ by robust windows over planes, initially those of ``basis`` [n, 3, 3]."""
    out = of.Output(points, plan.rank, 3)
    out.basis[:] = basis
    rounds = max(plan.max_steps, 1)

    def work(i: int, j: int) -> None:
        robust_rows(
            cloud.tree, widths[i:j], cuts[i:j], stretches[i:j], rounds,
            out.points[i:j], out.basis[i:j], out.forms[i:j], out.numbers[i:j], out.steps[i:j], out.status[i:j],
        )  # fmt: skip

    run_rows(work, len(points), n_jobs, calls_blas=False)
    return as_model(out, plan, {})


def as_model(out: of.Output, plan: Plan, errors: dict[str, FloatArray]) -> LocalModel:
    """The record of an iteration, with the ``errors`` that are known."""
    columns, unknown = out.numbers.T, np.full(len(out.points), np.nan)
    known = dict.fromkeys(("noise", "position_error", "tangent_error"), unknown) | errors
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
        height_gain=columns[of.HEIGHT],
        offsets=columns[of.OFFSET],
        support_radius=columns[of.SUPPORT],
        steps=out.steps,
        status=out.status,
        basis=out.basis if out.basis.shape[2] > plan.rank else None,
        **known,
    )
