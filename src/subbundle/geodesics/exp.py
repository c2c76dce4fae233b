"""The exponential map: exp_p(η) is the position at time 1 of the geodesic that starts at p with covector η.

exp_p(tη) = γ(t), and the geodesic from p to exp_p(η) has length √(2H(p, η)).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from subbundle._types import FloatArray, Status, SubbundleWarning, count_statuses
from subbundle.bundles.base import Subbundle
from subbundle.flow import integrate
from subbundle.geodesics.start import as_start


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
        Where the geodesics start; on the ridge, if they are to run through the middle of the data (`ridge_project`).
    covectors : [batch, dim] or [batch, rank]
        By their components or by their coordinates in the frame at ``base_point``.
    method, tol, step, max_steps
        As in `subbundle.flow.integrate`.

    See Also
    --------
    log : the way back.
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
