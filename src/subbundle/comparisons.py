"""Methods to compare with on a manifold: Fréchet mean, tangent PCA, principal geodesic, principal flow.

*Tangent PCA* maps the observations to one tangent space by the logarithm and takes the eigenvectors of their second
moment there, Σ log(x_n) ⊗ log(x_n), in the metric of the manifold; its first *principal geodesic* is t ↦ exp(t e_1).
*Principal flow* follows the first eigenvector of the second moment around the current point; the *principal curve*
follows that around the local mean, which is the principal submanifold of rank 1. Both end at the border of the support.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._numbers import SINGULAR
from subbundle._types import FloatArray, Status, StatusArray, evenly
from subbundle._validation import as_integer, as_positive
from subbundle.bundles.ridge import carry_to_ridge
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.geodesics import geodesic
from subbundle.spaces.base import Space
from subbundle.spaces.rows import flattened, orthonormal_bases, shaped


@dataclass(frozen=True, slots=True)
class TangentPCA:
    """Principal directions of the logs at one point.

    Attributes
    ----------
    base_point : [*shape]
    components : [k, *shape]
        Tangent vectors there, orthonormal in the metric, the one with the largest variance first.
    variances : [k]
        Mean squares of the scores.
    scores : [N, k]
        Coordinates of the logs of the observations.
    space : Space
    """

    base_point: FloatArray
    components: FloatArray
    variances: FloatArray
    scores: FloatArray
    space: Space

    def inverse_transform(self, scores: Any) -> FloatArray:
        """exp(Σ s_i e_i) for ``scores`` [..., k], as points [..., *shape]."""
        vectors = np.tensordot(np.asarray(scores, dtype=np.float64), self.components, axes=1)
        return self.space.exp(np.asarray(vectors, dtype=np.float64), self.base_point)


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve through a base point.

    Attributes
    ----------
    points : [n, *shape]
        In order; all finite.
    positions : [n]
        Arc length from the base point, negative on one side.
    base_point : [*shape]
    status : [2]
        Why the curve ends on the negative and on the positive side; OK where the requested length was reached.
    """

    points: FloatArray
    positions: FloatArray
    base_point: FloatArray
    status: StatusArray


def central_observation(points: Any, *, space: Space) -> int:
    """Row of the within-sample Fréchet mean: the observation with the least sum of squared distances to all."""
    points = space.validate(points)
    totals = [float(np.sum(space.dist(points, point) ** 2)) for point in points]
    return int(np.argmin(totals))


def frechet_mean(points: Any, *, space: Space, max_iterations: int = 200) -> FloatArray:
    """The point [*shape] with the least sum of squared distances to ``points`` [N, *shape], Σ log(x_n) = 0 there.

    Computed by x ← exp_x(mean of log_x(x_n)), with shorter steps where that overshoots, from the most central of up to
    64 observations.
    """
    points = space.validate(points)
    some = points[evenly(len(points), 64)]
    mean: FloatArray = some[central_observation(some, space=space)]
    value, reach = float(np.mean(space.dist(points, mean) ** 2)), 1.0
    for _ in range(as_integer(max_iterations, "max_iterations", low=1)):
        step = _logs(points, mean, space).mean(axis=0)
        if float(space.inner_product(step, step, mean)) <= SINGULAR**2 * value:
            return mean
        # The full step is Newton's on a flat space; on a curved one it may overshoot.
        tried = space.projection(space.exp(reach * step, mean))
        now = float(np.mean(space.dist(points, tried) ** 2))
        if now <= value:
            mean, value, reach = tried, now, min(1.0, 1.5 * reach)
        else:
            reach *= 0.5
        if reach < 1e-6:
            return mean
    raise ValueError(
        f"points must have a unique Fréchet mean; the iteration did not converge in {max_iterations} steps. Data "
        "spread over a whole closed manifold has none: pass a base point."
    )


def tangent_pca(points: Any, *, space: Space, n_components: int | None = None, base_point: Any = None) -> TangentPCA:
    """Principal directions of ``points`` [N, *shape] in the tangent space at ``base_point`` [*shape].

    Parameters
    ----------
    n_components : int, optional
        Number of directions; all dim N unless given.
    base_point : [*shape], optional
        The Fréchet mean unless given. The second moment is taken about it.

    Examples
    --------
    >>> import numpy as np
    >>> from subbundle.spaces import Sphere
    >>> angle = np.linspace(-1.0, 1.0, 21)
    >>> equator = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(21)])
    >>> found = tangent_pca(equator, space=Sphere(2))
    >>> np.abs(found.components[0]).round(12).tolist()
    [0.0, 1.0, 0.0]
    """
    points = space.validate(points)
    count = space.dim if n_components is None else as_integer(n_components, "n_components", low=1, high=space.dim)
    base = frechet_mean(points, space=space) if base_point is None else space.validate(base_point, "base_point")
    bases = orthonormal_bases(space, flattened(space, base)[None])
    coordinates = flattened(space, _logs(points, base, space)) @ bases.covectors[0].T
    values, vectors = np.linalg.eigh(coordinates.T @ coordinates / len(points))
    top = vectors[:, ::-1][:, :count]
    return TangentPCA(
        base_point=base,
        components=shaped(space, top.T @ bases.vectors[0]),
        variances=np.maximum(values[::-1][:count], 0.0),
        scores=coordinates @ top,
        space=space,
    )


def principal_geodesic(points: Any, *, space: Space, base_point: Any = None, n_points: int = 2001) -> Curve:
    """The first principal geodesic of ``points`` [N, *shape], over the range of their scores, extended by a tenth."""
    found = tangent_pca(points, space=space, n_components=1, base_point=base_point)
    low, high = float(found.scores.min()), float(found.scores.max())
    margin = 0.1 * (high - low)
    positions = np.linspace(low - margin, high + margin, as_integer(n_points, "n_points", low=2))
    curve = found.inverse_transform(positions[:, None])
    return Curve(curve, positions, found.base_point, np.zeros(2, np.int8))


def principal_curve(
    points: Any,
    bandwidth: float,
    *,
    space: Space,
    centering: str = "recentred",
    base_point: Any = None,
    length: float | None = None,
    n_points: int = 2001,
) -> Curve:
    """The principal submanifold of rank 1 of ``points`` [N, *shape]: both geodesics from ``base_point`` [*shape].

    Parameters
    ----------
    bandwidth, centering
        As in `RiemannianSubbundle`.
    base_point : [*shape], optional
        The central observation, projected to the ridge, unless given; a given point is not projected.
    length : float, optional
        Largest length of either half; eight times the distance from the base point to the farthest observation
        unless given. A half ends earlier at the border of the support.
    n_points : int
        Points over the length of each half.
    """
    observations = space.validate(points)
    bundle = RiemannianSubbundle(observations, 1, bandwidth, space=space, centering=centering)
    if base_point is None:
        base = ridge_point(bundle, observations[central_observation(observations, space=space)])
    else:
        base = space.validate(base_point, "base_point")
    if length is None:
        length = 8.0 * float(space.dist(observations, base).max())
    return curves_through(bundle, base[None], length=length, n_points=n_points)[0]


def principal_flow(points: Any, bandwidth: float, **options: Any) -> Curve:
    """`principal_curve` with the second moment taken around the current point instead of the local mean."""
    return principal_curve(points, bandwidth, centering="none", **options)


def curves_through(bundle: RiemannianSubbundle, base_points: Any, *, length: float, n_points: int) -> list[Curve]:
    """The geodesics of a bundle of rank 1 from ``base_points`` [m, *shape] in both directions, up to ``length``."""
    if bundle.rank != 1:
        raise ValueError(f"bundle must have rank 1, to have one geodesic through each point; got rank {bundle.rank}.")
    space = bundle.space
    bases = space.validate(base_points, "base_points")
    start = np.repeat(flattened(space, bases), 2, axis=0)
    way = np.tile([[-1.0], [1.0]], (len(bases), 1))
    n_points = as_integer(n_points, "n_points", low=2)
    halves = geodesic(bundle, start, way, length=as_positive(length, "length"), n_points=n_points)
    status = np.asarray(halves.status, np.int8).reshape(-1, 2)
    positions = np.concatenate([-halves.times[:0:-1], halves.times])
    curves = []
    for base, (back, ahead), ends in zip(
        bases, halves.points.reshape(-1, 2, *halves.points.shape[1:]), status, strict=True
    ):
        points = np.concatenate([back[:0:-1], ahead])
        reached = np.isfinite(points).all(axis=1)
        curves.append(Curve(shaped(space, points[reached]), positions[reached], base, ends))
    return curves


def ridge_point(bundle: RiemannianSubbundle, point: Any) -> FloatArray:
    """Project ``point`` [*shape] to the ridge of order 1 by `subbundle.carry_to_ridge`, where there is one."""
    space = bundle.space
    ridge = carry_to_ridge(bundle, flattened(space, space.validate(point, "point")), order=1, tol=1e-9)
    if ridge.status not in (Status.OK, Status.NOT_CONVERGED):
        raise ValueError(
            f"point must lie where the subspace is defined; it does not: {Status(int(ridge.status)).message}. "
            "Use a point nearer the data, or a larger bandwidth."
        )
    return shaped(space, ridge.points)


def distances_to_curve(points: Any, curve: FloatArray, *, space: Space) -> FloatArray:
    """Geodesic distances [N] from ``points`` [N, *shape] to the curve through the points ``curve`` [n, *shape].

    On the two segments at the nearest point c_j of the curve: with v = log(x) and u = log(c_j±1) at c_j, the projection
    is exp(s u), s = h(v, u)/h(u, u) clipped to [0, 1].
    """
    points, curve = space.validate(points), space.validate(curve, "curve")
    nearest = np.array([int(np.argmin(space.dist(curve, point))) for point in points])
    corner = curve[nearest]
    best = space.dist(points, corner)
    for side in (-1, 1):
        inside = (nearest + side >= 0) & (nearest + side < len(curve))
        x, base = points[inside], corner[inside]
        segment, offset = space.log(curve[nearest[inside] + side], base), space.log(x, base)
        square = space.inner_product(segment, segment, base)
        along = space.inner_product(offset, segment, base) / np.where(square > 0.0, square, 1.0)
        along = np.clip(along, 0.0, 1.0).reshape(-1, *(1,) * len(space.shape))
        projection = space.exp(along * segment, base)
        best[inside] = np.fmin(best[inside], space.dist(x, projection))
    return best


def _logs(points: FloatArray, base: FloatArray, space: Space) -> FloatArray:
    logs = space.log(points, base)
    lost = np.flatnonzero(~np.isfinite(logs.reshape(len(points), -1)).all(axis=1))
    if lost.size:
        raise ValueError(
            f"points must have a logarithm at the base point; {lost.size} of {len(points)} lie on its cut locus "
            f"(antipodes, on a sphere), first row {lost[0]}. Leave them out, or pass another base_point."
        )
    return logs
