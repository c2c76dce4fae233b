"""The principal submanifold as a set of points: the paper's Algorithm 1.

The geodesics from a base point μ whose covectors lie in the dual of the subspace there,

    M_μ(r) = { exp_μ(F v) : v ∈ R^k, |v| ≤ r },

form a k-dimensional submanifold near μ. Algorithm 1 samples it: L directions v_i spread evenly over the unit sphere of
R^k, and on each geodesic the s = ⌊r/Δ⌋ points at the distances Δ, 2Δ, …, sΔ. With μ itself these are s·L + 1 points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subbundle._html import card, endings, strokes
from subbundle._types import FloatArray, IntArray, StatusArray
from subbundle._validation import as_bundle, as_integer, as_points, as_positive, check_room
from subbundle.bundles.base import Subbundle
from subbundle.flow.integrate import shared_steps
from subbundle.geodesics.geodesic import Geodesics, geodesic
from subbundle.geodesics.start import covectors_from_coordinates, default_count, defined_frame, directions
from subbundle.geodesics.tuning import COARSE_TOL

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


@dataclass(frozen=True, eq=False)
class Submanifold:
    """A sampled submanifold. The base point comes first, then geodesic after geodesic, each outwards.

    The j-th point (j = 1..s) of geodesic i (from 0) is row 1 + i·s + j − 1. The layout is always complete: where a
    geodesic ended early, the rows it did not reach have NaN as points, ``valid`` is False, and ``status`` has the
    reason. Covectors, coordinates and distances are those the point would have had.

    Attributes
    ----------
    points : [s·L + 1, dim]
    covectors : [s·L + 1, dim]
        *Initial* covectors: exp_μ(covector) = point.
    coordinates : [s·L + 1, rank]
        Normal coordinates: the covectors in the frame at the base point.
    distances : [s·L + 1]
        Arc length to the base point, |coordinates|.
    valid : [s·L + 1]
        Whether the point was reached.
    status : [L]
        `Status` of each geodesic.
    base_point : [dim]
    frame : [dim, rank]
        Frame at the base point.
    radius, step, n_geodesics
        r, Δ and L.
    geodesics : Geodesics
        The same points by geodesic, [L, s + 1, dim], with the covectors *along* them.
    """

    points: FloatArray
    covectors: FloatArray
    coordinates: FloatArray
    distances: FloatArray
    valid: NDArray[np.bool_]
    status: StatusArray
    base_point: FloatArray
    frame: FloatArray
    radius: float
    step: float
    n_geodesics: int
    geodesics: Geodesics

    def _repr_html_(self) -> str:
        facts = [("points reached", f"{np.sum(self.valid)} of {len(self.valid)}"), ("radius", self.radius)]
        return card("Submanifold", [*facts, *endings(self.status)], picture=strokes(self.geodesics.points))

    def nearest(self, points: Any) -> tuple[IntArray, FloatArray]:
        """Rows of the valid points nearest to ``points`` [batch, dim], and the Euclidean distances to them.

        This is the paper's discrete projection to the submanifold.
        """
        queries = as_points(points, "points", dim=len(self.base_point))
        distance, found = self._tree.query(queries)
        return np.flatnonzero(self.valid)[found], distance

    @cached_property
    def _tree(self) -> cKDTree:
        from scipy.spatial import cKDTree

        return cKDTree(self.points[self.valid])


def submanifold(
    bundle: Subbundle,
    base_point: Any,
    radius: float,
    *,
    step: float,
    n_geodesics: int | None = None,
    method: str = "dopri5",
    tol: float | None = None,
    max_steps: int | None = None,
) -> Submanifold:
    """Sample the submanifold around ``base_point`` [dim] out to ``radius``.

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    base_point : [dim]
        Where all geodesics start; project it to the ridge first (`carry_to_ridge`).
    radius : float
        Their length.
    step : float
        Δ, the distance between points along a geodesic; also the integration step of the fixed-step methods.
    n_geodesics : int, optional
        L. Unless given 2 for rank 1 (there are no more), 100 for rank 2, and twice as many for each further dimension
        up to 5; a quarter on manifolds without closed forms, where a step takes milliseconds (`RiemannianSubbundle`).
    method, tol, max_steps
        As in `subbundle.flow.integrate`, but ``tol`` is 1e-4 unless given: a ten-thousandth of the bandwidth is far
        below the errors from noise and curvature, and costs half of the default's evaluations. On manifolds
        without closed forms ``max_steps`` is 20 per length scale unless given, and 2500 of all geodesics together, but
        40 of each at least; those that end there have `Status.TOO_MANY_STEPS`.

    See Also
    --------
    geodesic : single geodesics.
    Chart : coordinates of given points.

    Examples
    --------
    The upper half of a sphere, by 100 meridians:

    >>> import numpy as np
    >>> from subbundle.bundles.analytic import SphereTangent
    >>> half = submanifold(SphereTangent(2), [0, 0, 1.0], np.pi / 2, step=0.05)
    >>> half.points.shape
    (3101, 3)
    >>> bool(np.allclose(half.points[:, 2], np.cos(half.distances), atol=1e-3))
    True
    """
    base_point = as_points(base_point, "base_point", dim=as_bundle(bundle).ambient_dim, ndim=1)
    radius = as_positive(radius, "radius")
    step = as_positive(step, "step")
    if step > radius:
        raise ValueError(
            f"step must not exceed radius, or no point is left to compute; got step={step:.4g} and "
            f"radius={radius:.4g}. Pass for example step={radius / 50:.3g}."
        )
    costly = bundle.is_costly
    if n_geodesics is None:
        n_geodesics = default_count(bundle.rank) // (4 if costly and bundle.rank > 1 else 1)
    if bundle.rank == 1:
        as_integer(n_geodesics, "n_geodesics", low=2, high=2, why="rank 1 has two directions, there and back")
    else:
        as_integer(n_geodesics, "n_geodesics", low=1)
    frame = defined_frame(bundle, base_point[None])
    check_room(
        16.0 * radius / step * n_geodesics * bundle.ambient_dim,
        "A submanifold sampled like this",
        "Pass a larger step, a smaller radius, or fewer geodesics.",
    )
    unit = directions(bundle.rank, n_geodesics)
    # 0.3 / 0.1 is a little less than 3 and means 3.
    n_steps = int(np.floor(radius / step * (1.0 + 1e-9)))
    distances = step * np.arange(n_steps + 1)
    covectors = covectors_from_coordinates(frame.vectors, unit, frame.duals)
    if method == "dopri5" and tol is None:
        tol = COARSE_TOL
    if max_steps is None and costly:
        max_steps = shared_steps(bundle, radius, n_geodesics)
    curves = geodesic(
        bundle, base_point, covectors,
        times=distances, method=method, tol=tol, step=None if method == "dopri5" else step, max_steps=max_steps,
    )  # fmt: skip
    points = _flatten(curves.points)
    assert isinstance(curves.status, np.ndarray)
    return Submanifold(
        points=points,
        covectors=_flatten(distances[:, None] * covectors[:, None, :]),
        coordinates=_flatten(distances[:, None] * unit[:, None, :]),
        distances=np.concatenate([[0.0], np.tile(distances[1:], n_geodesics)]),
        valid=np.isfinite(points[:, 0]),
        status=curves.status,
        base_point=base_point,
        frame=frame.vectors[0],
        radius=radius,
        step=step,
        n_geodesics=n_geodesics,
        geodesics=curves,
    )


def _flatten(grid: FloatArray) -> FloatArray:
    """[L, s + 1, m] to [s·L + 1, m]: the common start once, then geodesic after geodesic."""
    return np.concatenate([grid[:1, 0], grid[:, 1:].reshape(-1, grid.shape[-1])])
