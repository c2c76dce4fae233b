"""The geodesic between two points."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import Status, all_finite
from subbundle._validation import as_integer, as_positive, check_room
from subbundle.bundles.base import Subbundle
from subbundle.bundles.surroundings import surroundings_of
from subbundle.geodesics.geodesic import Geodesics, geodesic
from subbundle.geodesics.log import geodesics_with_paths
from subbundle.geodesics.straighten import evenly_along


def geodesic_between(
    bundle: Subbundle, x: Any, y: Any, *, n_points: int = 101, search: str = "dual", tol: float = 1e-6
) -> Geodesics:
    """Geodesics from ``x`` to ``y``, [dim] or [batch, dim], at ``n_points`` equal steps of time.

    The end points need not be observations. The path starts at ``x`` exactly and ends as near to ``y`` as a geodesic
    of the search comes; `log` gives the residual. Where noise leaves no geodesic that is about as short as the shortest
    path along the data, the row is that path, on the ridge, with NaN covectors and the status STRAIGHTENED. Rows
    without either are NaN with the status of their search.

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    x, y : [dim] or [batch, dim]
    n_points : int
        Points of the path, both ends included.
    search, tol
        As in `log`, and so is the cost: on manifolds without closed forms seconds for each row.

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
    found, paths, single = geodesics_with_paths(bundle, x, y, search, as_positive(tol, "tol"))
    lost = ~all_finite(found.covectors)
    start = np.broadcast_to(np.atleast_2d(np.asarray(x, dtype=np.float64)), found.covectors.shape)
    path = geodesic(
        bundle, start, np.where(lost[:, None], 0.0, found.covectors), times=np.linspace(0.0, 1.0, n_points), tol=tol
    )
    assert isinstance(path.lengths, np.ndarray)
    assert isinstance(path.reached, np.ndarray)
    status = np.where(found.status == Status.OK, path.status, found.status).astype(np.int8)
    points, along, lengths, reached = path.points.copy(), path.covectors.copy(), path.lengths.copy(), path.reached
    ends, end_covectors = path.end_points.copy(), path.end_covectors.copy()
    points[lost], along[lost] = np.nan, np.nan
    for row in np.flatnonzero(status == Status.STRAIGHTENED):
        assert paths is not None
        points[row] = evenly_along(surroundings_of(bundle), paths[row], n_points - 1)
        points[row, 0] = start[row]
        along[row] = np.nan
        ends[row], end_covectors[row], reached[row], lengths[row] = points[row, -1], np.nan, 1.0, found.lengths[row]
    result = Geodesics(points, along, path.times, status, reached, lengths, path.n_evaluations, ends, end_covectors)
    return result._without_batch_axis() if single else result
