"""Projection of base points onto the ridge: `ridge_project` with defaults of its own.

Geodesics keep the offset from the ridge with which they start, so a base point should be projected onto it first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle.bundles.base import Subbundle
from subbundle.bundles.ridge_project import Ridge, ridge_project


def carry_to_ridge(bundle: Subbundle, points: Any, *, order: int = 2, tol: float = 1e-6, max_steps: int = 100) -> Ridge:
    """Project ``points`` [batch, dim] or [dim] onto the ridge of ``bundle``: `ridge_project` with other defaults.

    It uses the whole kernel, iterates to a small tolerance and has no continuation in the bandwidth, for base points.
    Of a single point [dim] the record has no batch axis: its ``points`` is the base point.

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    points : [batch, dim] or [dim]
    order : {1, 2}
        1 for the ridge itself; 2 corrects it for the curvature of the cloud.
    tol : float
        Steps shorter than this fraction of the bandwidth end the iteration.
    max_steps : int
        Largest number of steps; rows that need more have the status NOT_CONVERGED.

    See Also
    --------
    ridge_project : for whole clouds.

    Examples
    --------
    >>> import subbundle as sb
    >>> noisy = sb.datasets.sphere(4000, noise=0.05)
    >>> bundle = sb.PrincipalSubbundle(noisy.points, rank=2, bandwidth=0.2)
    >>> base = sb.carry_to_ridge(bundle, [0.0, 0.0, 1.1]).points
    >>> bool(abs((base**2).sum() - 1.0) < 0.05)
    True
    """
    whole = float(np.finfo(np.float64).max)
    ridge = ridge_project(bundle, points, order=order, tol=tol, max_steps=max_steps, reach=whole, continuation=None)
    return ridge.first() if np.ndim(points) == 1 else ridge
