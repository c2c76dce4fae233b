"""Projection onto the ridge, the k-dimensional centre of the cloud: denoising.

The ridge of order 1 is {p : (I − P(p)) (m(p) − p) = 0}: points whose local mean differs from them only along the
bundle. Its bias is about half the curvature times the bandwidth squared. The ridge of order 2 is where a quadric fitted
to the normal coordinates u_j of the neighbours over the tangential ones by weighted least squares,

    u_j ≈ c_j + Σ_a b_ja u_a + Σ_{a≤b} q_jab u_a u_b,

passes through the point itself: c = 0. Its bias is of the fourth order in the bandwidth. The fit also gives the
tangent space (b), the second fundamental form (q) and, from its residuals, the noise.

On a known manifold the neighbours are their logs at the point, a step leads from p to exp_p(step), and the second
fundamental form is that within the manifold. The centring of a bundle concerns its subspaces off the ridge; the ridge
is the same for all. A bundle in closed form has no neighbours, and all points are on its ridge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._numbers import NOTICEABLE
from subbundle._types import FloatArray, Status
from subbundle._validation import as_batch, as_integer, as_positive, as_real
from subbundle.bundles._ridge_frames import ridge_by_frames
from subbundle.bundles._ridge_record import Ridge
from subbundle.bundles.base import Subbundle, completed
from subbundle.bundles.surroundings import surrounding_dim, surroundings_of
from subbundle.bundles.tuning import LADDER
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.kernels import GAUSSIAN, gaussian_reach, tail
from subbundle.local.model import LocalModel, symmetric_form
from subbundle.local.settings import Plan
from subbundle.local.tuning import LEFT_OUT, PER_COEFFICIENT

__all__ = ["Ridge", "ridge_project"]


def ridge_project(
    bundle: Subbundle,
    points: Any,
    *,
    order: int = 2,
    tol: float = 1e-2,
    max_steps: int = 20,
    reach: float | None = None,
    continuation: str | Any | None = "auto",
    errors: bool = False,
) -> Ridge:
    """Project ``points`` [batch, d] (or one point, [d]: a batch of one) onto the ridge of ``bundle``.

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    points : [batch, d] or [d]
    order : {1, 2}
        2 corrects the ridge for the curvature of the cloud, by a quadric: 4, 14, 44 ms a row and step for ranks 16,
        28 and 39 with a thousand neighbours.
    tol : float
        Steps shorter than this fraction of the bandwidth end the iteration. Steps shrink fast, and the
        remaining distance is a fraction of the last one, less than the standard error of the ridge.
    max_steps : int
        Largest number of steps; rows that need more have the status NOT_CONVERGED and hold the last position.
    reach : float or None
        Bandwidths at which the Gaussian is cut; other kernels have compact support. None leaves out about 0.2 % of the
        Gaussian's mass, which moves the ridge by a few thousandths of the bandwidth and is two to four times faster
        than leaving out nothing: observations beyond √k + 2.1 bandwidths and, above 16 dimensions, those of least
        weight.
    continuation : "auto", None, or a falling sequence of factors
        At an isolated observation, as all are in many dimensions, its own weight dominates the mean. Points first take
        a step with a wider bandwidth at each of these factors. With "auto" only those do that have fewer
        than 2 (k + 1) effective neighbours, or a mean shift longer than any on a sheet or its border (one bandwidth),
        from the smallest factor at which neighbours suffice and the mean shift is not mostly tangential. With few
        neighbours and no such factor up to 3.8, a point is without nearby observations (status LEFT_SUPPORT).
    errors : bool
        Whether to compute standard errors of the positions; they take about as long as two steps.

    See Also
    --------
    carry_to_ridge : the same for base points, with other defaults.
    selection.choose_bandwidth : the bandwidth at which the ridge is nearest to the shape.

    Examples
    --------
    >>> import numpy as np, subbundle as sb
    >>> noisy = sb.datasets.sphere(4000, noise=0.05)
    >>> ridge = sb.ridge_project(sb.PrincipalSubbundle(noisy.points, rank=2, bandwidth=0.2), noisy.points)
    >>> bool(np.abs(np.linalg.norm(ridge.points, axis=1) - 1.0).mean() < 0.01)
    True
    """
    start, _ = as_batch(points, "points", bundle.ambient_dim)
    start = surroundings_of(bundle).validate(start, "points")
    factors, min_effective = _continuation(continuation, bundle)
    plan = Plan(
        kernel=GAUSSIAN,
        rank=bundle.rank,
        codimension=codimension(bundle),
        order=as_integer(order, "order", low=1, high=2),
        reach=_reach(reach, bundle),
        tol=as_positive(tol, "tol"),
        max_steps=as_integer(max_steps, "max_steps", low=1, high=10_000),
        continuation=factors,
        min_effective=min_effective,
        omitted=LEFT_OUT if reach is None else 0.0,
        errors=errors,
    )
    learned = completed(bundle).learned
    if learned is None or bundle.rank == surrounding_dim(bundle):
        found = ridge_by_frames(bundle, start, plan)
    else:
        found = learned.rest(start, plan)
    return _ridge(bundle, start, found)


def _reach(reach: float | None, bundle: Subbundle) -> float:
    """The reach as t = distance²/a², at most that at which the whole Gaussian is kept."""
    whole = float(gaussian_reach(bundle.ambient_dim))
    if reach is not None:
        # Compared before it is squared, which would overflow.
        given = as_positive(reach, "reach", hint="It is a number of bandwidths.")
        return whole if given >= np.sqrt(whole) else given**2
    if surrounding_dim(bundle) > BLOCK_DIM:
        return whole
    return tail(bundle.rank, LEFT_OUT)


def _continuation(value: Any, bundle: Subbundle) -> tuple[FloatArray, float]:
    """Factors of the continuation, and the effective number of neighbours below which it is used."""
    if value is None:
        return np.empty(0), 0.0
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'continuation must be "auto", None or a falling sequence of factors; got {value!r}.')
        return LADDER, PER_COEFFICIENT * (bundle.rank + 1.0)
    factors = as_real(value, "continuation")
    if (
        factors.ndim != 1
        or not (factors >= 1.0).all()
        or not np.isfinite(factors).all()
        or (np.diff(factors) > 0).any()
    ):
        raise ValueError(
            "continuation must be a falling sequence of finite factors of at least 1, such as [1.6, 1.25]; "
            f"got {value!r}."
        )
    return np.array(factors), np.inf


def _ridge(bundle: Subbundle, start: FloatArray, found: LocalModel) -> Ridge:
    k = bundle.rank
    arrived = (found.status == Status.OK) | (found.status == Status.NOT_CONVERGED)
    forms, tangents = found.forms, found.tangents
    forms[~arrived], tangents[~arrived] = np.nan, np.nan
    second_form = symmetric_form(forms, k)
    points = np.where(arrived[:, None], found.points, start)
    shifts = np.zeros(len(start))
    shifts[arrived] = surroundings_of(bundle).distance(start[arrived], points[arrived])
    noise = np.where(arrived, found.noise, np.nan)
    # Without noise the shifts are rounding, and so should be the scores.
    level = np.maximum(noise, NOTICEABLE * bundle.length_scale)
    return Ridge(
        points=points,
        tangents=tangents,
        second_form=second_form,
        density=np.exp(found.log_mass),
        curvature=_length(bundle, points, second_form),
        noise=noise,
        position_error=np.where(arrived, found.position_error, np.nan),
        tangent_error=np.where(arrived, found.tangent_error, np.nan),
        outlier_scores=_scores(shifts, level * np.sqrt(codimension(bundle)), arrived),
        shifts=shifts,
        offsets=found.offsets,
        support_radius=found.support_radius,
        neighbours=np.where(arrived, found.n_effective, np.nan),
        steps=found.steps,
        status=found.status,
    )


def _length(bundle: Subbundle, points: FloatArray, second_form: FloatArray) -> FloatArray:
    """√Σ_ab |II(t_a, t_b)|² [batch] in the metric of the space around the bundle."""
    squared = np.zeros(len(points))
    for a, b in np.ndindex(bundle.rank, bundle.rank):
        squared += np.square(surroundings_of(bundle).coordinates(points, second_form[:, a, b])).sum(axis=1)
    return np.asarray(np.sqrt(squared))


def codimension(bundle: Subbundle) -> int:
    """Number of normal directions, at least one."""
    return max(surrounding_dim(bundle) - bundle.rank, 1)


def _scores(shifts: FloatArray, noise: FloatArray, arrived: np.ndarray[Any, Any]) -> FloatArray:
    scores = np.full(len(shifts), np.inf)
    scores[arrived] = shifts[arrived] / noise[arrived]
    return scores
