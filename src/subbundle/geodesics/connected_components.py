"""Connected components of the cloud at the bandwidth.

Between two half planes with a gap of width g the kernel mass is 2 Φ(−g / 2a) half way, relative to the mass inside
either. A geodesic can cross while that exceeds the least density of the support; so observations
are joined when they are closer than g = 2 a Φ⁻¹(1 − min_density / 2), 3.9 bandwidths for the default of 0.05.
On a manifold that is its distance; neighbours are first searched under a local map of it.

These are not the components of `graph.neighbor_graph`, whose edges lead along the tangent spaces to a number of nearest
neighbours: there a gap is long relative to the spacing of the rows, here to the bandwidth, which geodesics feel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import ndtri

from subbundle._groups import components_of
from subbundle._types import FloatArray, IntArray, all_finite
from subbundle._validation import as_points
from subbundle.bundles.base import LearnedSubbundle, completed
from subbundle.bundles.surroundings import FLAT, LocalMap, Surroundings, surroundings_of
from subbundle.geodesics.tuning import MOST_LANDMARKS

# Factor of the search radius under local maps of a manifold, which may enlarge distances where its curvature is
# positive; additional candidates are discarded by their true distance.
_WIDER = 1.6
# Least densities below this count as this one: 12 bandwidths.
_FAINTEST = 1e-9
# Neighbours of each point that are joined first: within their components no pairs need be listed, of which there are
# millions where the bandwidth is wide.
_NEAREST = 8


@dataclass(frozen=True, slots=True)
class Components:
    """Connected components of a cloud.

    Attributes
    ----------
    labels : [N]
        Component of each observation; the largest is 0.
    n_components : int
    representatives : [m, dim], representative_labels : [m]
        Points that represent the cloud, and their components.
    reach : float or [m]
        Distance up to which points are joined; one per representative where the bandwidth varies.
    """

    labels: IntArray
    n_components: int
    representatives: FloatArray
    representative_labels: IntArray
    reach: float | FloatArray
    around: Surroundings

    def label(self, points: Any) -> IntArray:
        """Component of each point [n, dim]; −1 for points further from the data than the reach."""
        points = as_points(points, "points", dim=self.representatives.shape[1])
        local_map = self.around.local_map(self.representatives[0])
        nearest = _nearest(local_map, cKDTree(local_map.enter(self.representatives)), points)
        distance = self.around.distance(points, self.representatives[nearest])
        reach = self.reach if isinstance(self.reach, float) else self.reach[nearest]
        return np.where(distance <= reach, self.representative_labels[nearest], -1)


def connected_components(bundle: LearnedSubbundle) -> Components:
    """Find the connected components of the cloud of ``bundle``: geodesics join points of the same one only.

    Where boxes of the size of the bandwidth hold several observations each, every observation counts, by the mean of
    its box. In many dimensions, where noise separates any two observations, and with a bandwidth that varies, landmarks
    on the ridge represent the cloud.

    Parameters
    ----------
    bundle : PrincipalSubbundle or RiemannianSubbundle

    See Also
    --------
    diagnose : reports them among other diagnostics.
    distance : infinite between them.

    Examples
    --------
    >>> import numpy as np, subbundle as sb
    >>> one = sb.datasets.sphere(1000).points
    >>> both = sb.PrincipalSubbundle(np.concatenate([one, one + [5.0, 0.0, 0.0]]), rank=2, bandwidth=0.3)
    >>> sb.connected_components(both).n_components
    2
    """
    learned = completed(bundle).learned
    if learned is None:
        raise TypeError(
            "bundle must be learned from data, a PrincipalSubbundle or RiemannianSubbundle, to have connected "
            f"components; got {bundle!r:.80}."
        )
    return learned.remembered(_find_components)


def _find_components(bundle: LearnedSubbundle) -> Components:
    reaches = 2.0 * float(ndtri(1.0 - 0.5 * np.clip(bundle.min_density, _FAINTEST, 1.0)))  # in bandwidths
    around = surroundings_of(bundle)
    points, representatives = bundle.rows, np.empty((0, bundle.ambient_dim))
    if around is FLAT and not bundle.varies:
        representatives = _box_means(points, bundle.bandwidth)
    if not 0 < 2 * len(representatives) <= len(points):
        representatives = bundle.landmarks(MOST_LANDMARKS)
    local_map = around.local_map(representatives[0])
    images = local_map.enter(representatives)
    known = all_finite(images)
    representatives, tree = representatives[known], cKDTree(images[known])
    reach = reaches * bundle.bandwidth_at(representatives)
    furthest = float(reach.max())

    def joined(pairs: IntArray) -> IntArray:
        apart = around.distance(representatives[pairs[:, 0]], representatives[pairs[:, 1]])
        return np.asarray(pairs[apart <= 0.5 * (reach[pairs[:, 0]] + reach[pairs[:, 1]])])

    count, found = _linked(tree, furthest if around is FLAT else _WIDER * furthest, joined)
    nearest = _nearest(local_map, tree, points)
    sizes = np.bincount(found[nearest], minlength=count)
    rank = np.empty(count, np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(count)
    labels = rank[found[nearest]]
    reach_of = reach if bundle.varies else furthest
    return Components(labels, int(count), representatives, rank[found], reach_of, around)


def _linked(tree: cKDTree, radius: float, joined: Callable[[IntArray], IntArray]) -> tuple[int, IntArray]:
    """Number of components and labels [m] of the points of ``tree``, joined by the pairs within ``radius`` that
    ``joined`` keeps.

    Pairs within components of nearest neighbours are not listed, and between these only those of all but the largest.
    """
    n = tree.n
    near = np.reshape(tree.query(tree.data, k=min(_NEAREST + 1, n))[1], (n, -1))
    pairs = joined(np.column_stack([np.repeat(np.arange(n), near.shape[1]), near.ravel()]))
    count, labels = components_of(pairs, n)
    if count == 1:
        return count, labels
    others = np.flatnonzero(labels != np.argmax(np.bincount(labels)))
    within = tree.query_ball_point(tree.data[others], radius)
    across = np.column_stack([np.repeat(others, [len(row) for row in within]), np.concatenate(within).astype(np.int64)])
    across = across[labels[across[:, 0]] != labels[across[:, 1]]]
    return components_of(np.concatenate([pairs, joined(across)]), n)


def _nearest(local_map: LocalMap, tree: cKDTree, points: FloatArray) -> IntArray:
    """The entry of the tree nearest to each point; an arbitrary one where a point has no image."""
    nearest = tree.query(np.nan_to_num(local_map.enter(points)))[1]
    # The tree returns its size where the square of the distance overflows: all entries are equally far then.
    return np.asarray(np.minimum(nearest, tree.n - 1), dtype=np.int64)


def _box_means(points: FloatArray, side: float) -> FloatArray:
    """Mean of the observations in each occupied box."""
    boxes = np.floor((points - points.min(axis=0)) / side).astype(np.int64)
    _, which, counts = np.unique(boxes, axis=0, return_inverse=True, return_counts=True)
    columns = [np.bincount(which.ravel(), weights=column) / counts for column in points.T]
    return np.column_stack(columns)
