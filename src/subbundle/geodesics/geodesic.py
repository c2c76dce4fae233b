"""Geodesics: the curves γ(t) that start at a base point with a covector and solve the geodesic equations.

γ has constant speed √(2H) and γ_{cη}(t) = γ_η(ct), so a geodesic is specified either by its length (then η only gives
the direction, and time is arc length) or by times (then γ(t) = exp(tη)). The exponential map exp_p(η) is the position
at time 1; the geodesic from p to exp_p(η) has length √(2H(p, η)).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subbundle._html import card, endings, strokes
from subbundle._types import FloatArray, IntArray, Status, StatusArray, SubbundleWarning, count_statuses
from subbundle._validation import as_integer, as_positive, check_room
from subbundle.bundles.base import Subbundle
from subbundle.flow import integrate
from subbundle.geodesics.start import as_start


@dataclass(frozen=True, slots=True)
class Geodesics:
    """Points along geodesics. A single geodesic has no batch axis, and a scalar where others have one per row.

    Attributes
    ----------
    points, covectors : [batch, n_times, dim]
        γ(t) and η(t); NaN at times the geodesic did not reach.
    times : [n_times]
        Arc lengths when ``length`` is given.
    status : [batch]
        `Status`: OK, or why the geodesic ended early.
    reached : [batch]
        Time up to which it is valid; ``times[-1]`` where it arrived.
    lengths : [batch]
        Arc length travelled by then.
    n_evaluations : [batch]
        Number of evaluations of the field.
    end_points, end_covectors : [batch, dim]
        The last valid state, at time ``reached``.
    """

    points: FloatArray
    covectors: FloatArray
    times: FloatArray
    status: StatusArray | Status
    reached: FloatArray | float
    lengths: FloatArray | float
    n_evaluations: IntArray | int
    end_points: FloatArray
    end_covectors: FloatArray

    def _repr_html_(self) -> str:
        facts = [("points on each", len(self.times)), ("longest", float(np.max(self.lengths))), *endings(self.status)]
        return card("Geodesics", facts, picture=strokes(self.points))

    def _without_batch_axis(self) -> Geodesics:
        first = {name: getattr(self, name)[0] for name in Geodesics.__slots__ if name != "times"}
        scalars = {name: value.item() for name, value in first.items() if value.ndim == 0}
        return replace(self, **first | scalars | {"status": Status(scalars["status"])})


def geodesic(
    bundle: Subbundle,
    base_point: Any,
    covectors: Any,
    *,
    length: float | None = None,
    times: Any = None,
    n_points: int | None = None,
    method: str = "dopri5",
    tol: float | None = None,
    step: float | None = None,
    max_steps: int | None = None,
) -> Geodesics:
    """Follow geodesics from ``base_point`` [dim] or [batch, dim].

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    base_point : [dim] or [batch, dim]
        Where the geodesics start; on the ridge, if they are to follow the centre of the data (`ridge_project`).
    covectors : [batch, dim] or [batch, rank]
        Initial covectors, by their components or by their coordinates in the frame at ``base_point``. One covector may
        be given without the batch axis.
    length : float, optional
        Arc length of every geodesic; ``covectors`` are scaled to unit speed. Either this or ``times``.
    times : [n_times], optional
        Times t of γ(t) = exp(tη); increasing and not negative.
    n_points : int, optional
        With ``length``: number of equally spaced points, base point and end included; 101 unless given.
    method, tol, step, max_steps
        As in `subbundle.flow.integrate`: ``"dopri5"`` takes ``tol`` (1e-6 unless given), the other methods ``step``.

    See Also
    --------
    exp : the end points only.
    geodesic_between : between two points.
    submanifold : many geodesics from one point.

    Examples
    --------
    A quarter of a great circle, its direction given in the tangent frame:

    >>> import numpy as np
    >>> from subbundle.bundles.analytic import SphereTangent
    >>> arc = geodesic(SphereTangent(2), [0, 0, 1.0], [1.0, 0.0], length=np.pi / 2, n_points=3)
    >>> np.round(arc.points, 4) + 0.0
    array([[0.    , 0.    , 1.    ],
           [0.7071, 0.    , 0.7071],
           [1.    , 0.    , 0.    ]])
    >>> arc.status
    <Status.OK: 0>
    """
    by_length = length is not None
    if by_length == (times is not None):
        came = "both" if by_length else "neither"
        raise ValueError(
            f"geodesic takes either length= or times=; got {came}. Pass length=1.0 for unit-speed geodesics of that "
            "length in the direction of the covectors, or times=[0.5, 1.0] for the points exp(t * covector)."
        )
    if by_length:
        number = 101 if n_points is None else as_integer(n_points, "n_points", low=2)
        check_room(4.0 * number, "Geodesics of so many points", "Pass a smaller n_points.")
        times = np.linspace(0.0, as_positive(length, "length"), number)
    elif n_points is not None:
        raise ValueError("n_points goes with length=; with times= there is one point per time. Leave n_points out.")

    start = as_start(bundle, base_point, covectors)
    run = integrate(
        bundle, start.points, start.covectors, times,
        unit_speed=by_length, method=method, tol=tol, step=step, max_steps=max_steps,
    )  # fmt: skip
    resting = np.flatnonzero(run.speed == 0.0)
    if by_length and resting.size:
        raise ValueError(
            f"covectors must have a direction inside the subspace to be followed for a length; {resting.size} of "
            f"{len(run.speed)} vanish on it (H = 0), first row {resting[0]}. Leave them out, or use times=."
        )
    lengths = run.reached if by_length else np.where(run.reached > 0.0, run.reached * run.speed, 0.0)
    geodesics = Geodesics(
        run.points, run.covectors, run.times, run.status, run.reached, lengths, run.n_evaluations, run.end_points,
        run.end_covectors,
    )  # fmt: skip
    return geodesics._without_batch_axis() if start.single else geodesics


def exp(
    bundle: Subbundle,
    base_point: Any,
    covectors: Any,
    *,
    method: str = "dopri5",
    tol: float | None = None,
    step: float | None = None,
    max_steps: int | None = None,
) -> FloatArray:
    """Points [batch, dim] reached at time 1 from ``base_point`` [dim] or [batch, dim].

    Rows whose geodesic ends early are NaN, and a `SubbundleWarning` reports how many and why; `geodesic` returns the
    status of each. One point and one covector, without batch axes, give one point [dim].

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    base_point : [dim] or [batch, dim]
        Where the geodesics start; on the ridge, if they are to follow the centre of the data (`ridge_project`).
    covectors : [batch, dim] or [batch, rank]
        By their components or by their coordinates in the frame at ``base_point``.
    method, tol, step, max_steps
        As in `subbundle.flow.integrate`.

    See Also
    --------
    log : the inverse.
    geodesic : the whole curve, and a status per row.

    Examples
    --------
    >>> import numpy as np
    >>> from subbundle.bundles.analytic import Heisenberg
    >>> exp(Heisenberg(), [0.0, 0.0, 0.0], [3.0, 4.0, 0.0]).round(6) + 0.0
    array([3., 4., 0.])
    """
    start = as_start(bundle, base_point, covectors)
    run = integrate(
        bundle, start.points, start.covectors, np.array([1.0]),
        method=method, tol=tol, step=step, max_steps=max_steps,
    )  # fmt: skip
    ended = run.status[run.status != Status.OK]
    if ended.size:
        reasons = ", ".join(f"{message}: {count}" for message, count in count_statuses(ended).items())
        warnings.warn(
            f"{ended.size} of {len(run.status)} geodesics ended before time 1 ({reasons}); their points are NaN. "
            "Use sb.geodesic(bundle, base_point, covectors, times=[1.0]) to get the status and end of each.",
            SubbundleWarning,
            stacklevel=2,
        )
    points = run.points[:, 0]
    return points[0] if start.single else points
