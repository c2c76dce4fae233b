"""The path itself: the geodesic that joins two points."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import all_finite
from subbundle._validation import as_integer, check_room
from subbundle.bundles.base import Subbundle
from subbundle.geodesics.geodesic import Geodesics, geodesic
from subbundle.geodesics.log import log


def geodesic_between(
    bundle: Subbundle, x: Any, y: Any, *, n_points: int = 101, search: str = "dual", tol: float = 1e-6
) -> Geodesics:
    """Geodesics from ``x`` to ``y``, [dim] or [batch, dim], at ``n_points`` equal steps of time.

    The end points need not be observations. The path starts at ``x`` exactly and ends as near to ``y`` as a geodesic
    of the search comes; `log` gives the residual. Rows without a geodesic are NaN with the status of their search.

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    x, y : [dim] or [batch, dim]
    n_points : int
        Points of the path, both ends included.
    search, tol
        As in `log`.

    See Also
    --------
    distance : the length.
    log : the initial covector.

    Examples
    --------
    >>> import numpy as np, subbundle as sb
    >>> path = sb.geodesic_between(sb.bundles.SphereTangent(2), [0, 0, 1.0], [1.0, 0, 0], n_points=3)
    >>> np.round(path.points[1], 4) + 0.0
    array([0.7071, 0.    , 0.7071])
    """
    n_points = as_integer(n_points, "n_points", low=2)
    check_room(4.0 * n_points, "Geodesics of so many points", "Pass a smaller n_points.")
    found = log(bundle, x, y, search=search, tol=tol)
    covectors = np.atleast_2d(found.covectors)
    single = found.covectors.ndim == 1
    lost = ~all_finite(covectors)
    start = np.atleast_2d(np.asarray(x, dtype=np.float64))
    start = np.broadcast_to(start, covectors.shape)
    path = geodesic(
        bundle, start, np.where(lost[:, None], 0.0, covectors), times=np.linspace(0.0, 1.0, n_points), tol=tol
    )
    status = np.atleast_1d(np.asarray(found.status, dtype=np.int8)).copy()
    assert isinstance(path.status, np.ndarray)
    status[status == 0] = path.status[status == 0]
    points, along = path.points.copy(), path.covectors.copy()
    points[lost], along[lost] = np.nan, np.nan
    result = Geodesics(
        points, along, path.times, status, path.reached, path.lengths, path.n_evaluations, path.end_points,
        path.end_covectors,
    )  # fmt: skip
    return result._without_batch_axis() if single else result
