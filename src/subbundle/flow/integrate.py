"""The entry point of the flow: solve the geodesic equations for a batch of points and covectors.

    ṗ = P(p) η,        η̇ = −∂H/∂p (p, η),        H = ½ η·ṗ constant, speed √(2H).

H is quadratic in η, so γ_{cη}(t) = γ_η(ct): every trajectory is first scaled to unit speed, η ← η/√(2H), and then
integrated over the arc length s = t √(2H). Steps and tolerances are lengths, and fast rows cost no more than slow ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from subbundle._numbers import ROUNDING
from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle._validation import as_bundle, as_choice, as_integer, as_points, as_positive, check_room
from subbundle.bundles.base import Subbundle, completed
from subbundle.flow._batch import ActiveRows, Attempt, Output, projected, row_norm
from subbundle.flow.dopri5 import dopri5
from subbundle.flow.fixed_step import (
    Advance,
    euler,
    fixed_step,
    implicit_midpoint,
    rk4,
    semi_implicit_euler,
)
from subbundle.flow.tuning import ALL_STEPS, COSTLY_STEPS, DEFAULT_TOL

_FIXED_STEP: dict[str, Advance] = {
    "rk4": rk4,
    "euler": euler,
    "semi_implicit_euler": semi_implicit_euler,
    "implicit_midpoint": implicit_midpoint,
}
METHODS = ("dopri5", *_FIXED_STEP)
# The error at a fixed time shrinks with this power of the step.
ORDERS = {"dopri5": 5, "rk4": 4, "euler": 1, "semi_implicit_euler": 1, "implicit_midpoint": 2}
# Steps of dopri5 per length scale, on average, after which a geodesic of a chart is abandoned: most take 5 to 15. One
# that needs more is a helix within a fraction of the length scale of the bundle, around the bracket of its fields, and
# is no longer a shortest curve.
_MOST_STEPS = 50


@dataclass(frozen=True, slots=True)
class Trajectories:
    """Solutions of the geodesic equations at the requested times.

    Attributes
    ----------
    points, covectors : [batch, n_times, dim]
        γ(t) and η(t); NaN at times the row did not reach.
    times : [n_times]
        As requested.
    reached : [batch]
        Time up to which the row is valid; ``times[-1]`` where it arrived.
    status : [batch]
        `Status`: OK, or why the row ended early.
    n_evaluations : [batch]
        Number of evaluations of the field.
    end_points, end_covectors : [batch, dim]
        The last valid state, at time ``reached``.
    speed : [batch]
        √(2H) of the initial state, the arc length per unit of time; NaN where the field is not defined at the start.
    """

    points: FloatArray
    covectors: FloatArray
    times: FloatArray
    reached: FloatArray
    status: StatusArray
    n_evaluations: IntArray
    end_points: FloatArray
    end_covectors: FloatArray
    speed: FloatArray


def integrate(
    bundle: Subbundle,
    points: FloatArray,
    covectors: FloatArray,
    times: FloatArray,
    *,
    unit_speed: bool = False,
    method: str = "dopri5",
    tol: float | None = None,
    step: float | None = None,
    max_steps: int | None = None,
) -> Trajectories:
    """Follow the geodesics with initial ``points`` [batch, dim] and ``covectors`` [batch, dim].

    Parameters
    ----------
    times : [n_times]
        Times of the output; increasing and not negative.
    unit_speed : bool
        Scale every covector to speed 1 first, so that ``times`` are arc lengths. Rows with H = 0 cannot be scaled and
        stay where they are, as they do anyway.
    method : str
        ``"dopri5"`` chooses its steps; ``"rk4"``, ``"euler"``, ``"semi_implicit_euler"`` and ``"implicit_midpoint"``
        take steps of length ``step`` or a little less.
    tol : float, optional
        For dopri5: error allowed per step, relative to the bundle's length scale for points and to |η| for covectors.
        1e-6 unless given.
    step : float, optional
        For the others: longest step, an arc length.
    max_steps : int, optional
        Steps, rejected ones included, after which a row ends with `Status.TOO_MANY_STEPS`. Unless given 10000; on
        manifolds without closed forms (`RiemannianSubbundle`) 1000, and of dopri5 20 per length scale.

    Examples
    --------
    >>> import numpy as np
    >>> from subbundle.bundles.analytic import SphereTangent
    >>> run = integrate(SphereTangent(2), np.array([[1.0, 0, 0]]), np.array([[0, 1.0, 0]]), np.array([np.pi / 2]))
    >>> np.round(run.points[0], 5) + 0.0
    array([[0., 1., 0.]])
    """
    points = as_points(points, "points", dim=as_bundle(bundle).ambient_dim)
    covectors = as_points(covectors, "covectors", dim=bundle.ambient_dim)
    if points.shape != covectors.shape:
        raise ValueError(
            f"points and covectors must have one row each per trajectory; got {points.shape} and {covectors.shape}. "
            "Repeat the shorter one with np.broadcast_to."
        )
    times = _as_times(times)
    default = 1_000 if bundle.is_costly else 10_000
    most: int | IntArray = default if max_steps is None else min(as_integer(max_steps, "max_steps", low=1), 2**62)
    check_room(
        4.0 * points.size * times.size, "Geodesics at so many times", "Pass fewer times, or fewer geodesics at once."
    )
    solve = _solver(bundle, method, tol, step)
    with np.errstate(all="ignore"):
        points, covectors = completed(bundle).project(points, covectors)
        out, rows, speed = _prepare(bundle, points, covectors, times, unit_speed)
        if max_steps is None and method == "dopri5" and bundle.is_costly:
            most = np.minimum(most, most_steps(bundle, times[-1] * rows.pace, tol or DEFAULT_TOL))
        solve(bundle, rows, times, out, max_steps=most)
        _project_states(bundle, out)
        return _finish(out, points, covectors, times, speed, unit_speed)


def most_steps(bundle: Subbundle, lengths: FloatArray | float, tol: float = DEFAULT_TOL) -> IntArray:
    """Steps of dopri5 after which geodesics of these ``lengths`` are abandoned; it takes tol^(−1/5) of them."""
    rate = COSTLY_STEPS if bundle.is_costly else _MOST_STEPS
    rate = rate * max(DEFAULT_TOL / tol, 1.0) ** 0.2
    return np.asarray(np.maximum(rate * np.minimum(lengths / bundle.length_scale, 1e9), rate), dtype=np.int64)


def shared_steps(bundle: Subbundle, length: float, rows: int) -> int:
    """`most_steps` of each of ``rows`` geodesics of one fan; costly ones share 2500, at least 40 of each."""
    most = int(most_steps(bundle, length))
    return min(most, max(ALL_STEPS // max(rows, 1), 2 * COSTLY_STEPS)) if bundle.is_costly else most


def _as_times(times: Any) -> FloatArray:
    given = as_points(times, "times", ndim=None)
    if given.ndim != 1 or not given.size or given[0] < 0 or (np.diff(given) <= 0).any():
        raise ValueError(
            "times must be a 1-D array of increasing numbers, none negative (follow -covectors to go back); got "
            f"{np.array2string(given, threshold=6)}. Pass for example np.linspace(0, 1, 101)."
        )
    return given


def _solver(bundle: Subbundle, method: str, tol: float | None, step: float | None) -> Any:
    """The driver for ``method``, with its tolerance or step."""
    method = as_choice(method, "method", METHODS)
    if method == "dopri5":
        if step is not None:
            raise ValueError(
                f"dopri5 chooses its own steps; got step={step!r}. Pass tol= to make it more or less accurate, or a "
                "fixed-step method, for example method='rk4'."
            )
        return partial(dopri5, tol=DEFAULT_TOL if tol is None else as_positive(tol, "tol"))
    if tol is not None:
        raise ValueError(
            f"{method} takes steps of fixed length and has no tolerance; got tol={tol!r}. Pass step= instead."
        )
    if step is None:
        raise ValueError(
            "Fixed-step methods cannot choose a step from a tolerance; pass step=..., an arc length, for example "
            f"step=0.05*bundle.length_scale (here {0.05 * bundle.length_scale:.4g}), or use method='dopri5'."
        )
    return partial(fixed_step, advance=_FIXED_STEP[method], step=as_positive(step, "step"))


def _prepare(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, times: FloatArray, unit_speed: bool
) -> tuple[Output, ActiveRows, FloatArray]:
    """Evaluate the field at the start, scale rows to unit speed and set aside those that cannot or need not move."""
    batch, dim = points.shape
    # Scaled by powers of two, covectors can be squared without overflow or rounding; zero rows stay as they are.
    exponent = np.frexp(np.abs(covectors).max(axis=1, initial=0.0))[1][:, None]
    state = np.stack([points, np.ldexp(covectors, -exponent)])
    evaluations = np.zeros(batch, np.int64)
    attempt = Attempt(bundle, evaluations)
    slope = attempt.slope(state)
    unit = np.sqrt(np.maximum(np.einsum("bd,bd->b", state[1], slope[0]), 0.0))
    still = (unit == 0.0) | (row_norm(slope[0]) <= ROUNDING * row_norm(state[1]))
    resting = (attempt.status == Status.OK) & still
    speed = np.where(resting, 0.0, np.ldexp(unit, exponent[:, 0]))
    speed[attempt.status != Status.OK] = np.nan
    pace = np.ones(batch) if unit_speed else speed
    attempt.status[(attempt.status == Status.OK) & ~np.isfinite(times[-1] * pace)] = Status.NOT_FINITE

    moving = (attempt.status == Status.OK) & ~resting & (times[-1] * pace > 0.0)
    rows = ActiveRows(np.arange(batch), state, slope, pace, evaluations)
    rows.keep(moving)
    rows.state[1] /= unit[moving, None]
    rows.slope[0] /= unit[moving, None]
    rows.slope[1] /= unit[moving, None] ** 2

    states = np.full((2, batch, len(times), dim), np.nan)
    if times[0] == 0.0:
        states[:, rows.index, 0] = rows.state
    staying = np.flatnonzero(~moving & (attempt.status == Status.OK))
    states[0, staying] = points[staying, None]
    out = Output(states, state, times[-1] * pace * (~resting), attempt.status, evaluations)
    out.lengths[out.status != Status.OK] = 0.0
    return out, rows, speed


def _project_states(bundle: Subbundle, out: Output) -> None:
    """Project states interpolated between steps, and the ends, to the manifold of the bundle, if it has one."""
    states = out.states.reshape(2, -1, out.states.shape[-1])
    for array in (states, out.ends):
        rows = np.flatnonzero(np.isfinite(array).all(axis=(0, 2)))
        known = np.take(array, rows, axis=1)
        found = projected(bundle, known)
        if found is not known:
            array[:, rows] = found


def _finish(
    out: Output, points: FloatArray, covectors: FloatArray, times: FloatArray, speed: FloatArray, unit_speed: bool
) -> Trajectories:
    """Return from unit speed to the caller's, in place; rows that did not move get the caller's own covectors."""
    moved = out.lengths > 0.0
    arrived = out.status == Status.OK
    if unit_speed:
        factor, initial = np.ones(len(points)), np.where(speed[:, None] > 0, covectors / speed[:, None], covectors)
        reached = out.lengths
    else:
        factor, initial = speed, covectors
        reached = np.where(moved, out.lengths / speed, 0.0)
    out.states[1] *= factor[:, None, None]
    out.states[1, ~moved & arrived] = initial[~moved & arrived, None]
    if times[0] == 0.0:
        out.states[0, :, 0] = points
        out.states[1, :, 0] = initial
    out.ends[1] *= factor[:, None]
    out.ends[1, ~moved] = initial[~moved]
    return Trajectories(
        points=out.states[0],
        covectors=out.states[1],
        times=times,
        reached=np.where(arrived, times[-1], reached),
        status=out.status,
        n_evaluations=out.evaluations,
        end_points=out.ends[0],
        end_covectors=out.ends[1],
        speed=speed,
    )
