"""Which parts of the cloud are connected at the bandwidth.

Two flat pieces with a straight gap of width g between them have the kernel mass 2 Φ(−g / 2a) in its middle, relative
to the mass inside a piece. A geodesic can cross while that exceeds the least density of the support; so observations
are joined when they are closer than g = 2 a Φ⁻¹(1 − min_density / 2), 3.9 bandwidths for the default of 0.05.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import ndtri

from subbundle._types import FloatArray, IntArray
from subbundle.bundles.principal import PrincipalSubbundle

# Above so many coordinates boxes of the size of the bandwidth no longer gather observations.
_BOX_DIM = 4
_MOST_LANDMARKS = 4000


@dataclass(frozen=True, slots=True)
class Parts:
    """Connected parts of a cloud.

    Attributes
    ----------
    labels : [N]
        Part of each observation, the largest part being 0.
    n_parts : int
    representatives : [m, dim], representative_labels : [m]
        Points that stand for the cloud, and their parts.
    reach : float
        Distance up to which points are joined.
    """

    labels: IntArray
    n_parts: int
    representatives: FloatArray
    representative_labels: IntArray
    reach: float

    def label(self, points: FloatArray) -> IntArray:
        """Part of each point [n, dim]; −1 for points further from the data than the reach."""
        distance, nearest = cKDTree(self.representatives).query(points)
        return np.where(distance <= self.reach, self.representative_labels[nearest], -1)


def connected_parts(bundle: PrincipalSubbundle) -> Parts:
    """Find the parts of the cloud of ``bundle`` that its geodesics can join.

    Up to four dimensions every observation counts, gathered in boxes of the size of the bandwidth; above, where the
    noise of a high dimension parts any two observations, landmarks in the middle of the cloud stand for it.
    """
    reach = 2.0 * bundle.bandwidth * float(ndtri(1.0 - 0.5 * min(bundle.min_density, 1.0)))
    points = bundle.cloud.points
    if bundle.ambient_dim <= _BOX_DIM:
        representatives = _box_means(points, bundle.bandwidth)
    else:
        representatives = bundle.landmarks(_MOST_LANDMARKS)
    tree = cKDTree(representatives)
    graph = tree.sparse_distance_matrix(tree, reach, output_type="coo_matrix")
    count, found = connected_components(graph, directed=False)
    _, nearest = tree.query(points)
    sizes = np.bincount(found[nearest], minlength=count)
    rank = np.empty(count, np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(count)
    return Parts(rank[found[nearest]], int(count), representatives, rank[found], reach)


def _box_means(points: FloatArray, side: float) -> FloatArray:
    """Mean of the observations in each occupied box."""
    boxes = np.floor((points - points.min(axis=0)) / side).astype(np.int64)
    _, which, counts = np.unique(boxes, axis=0, return_inverse=True, return_counts=True)
    columns = [np.bincount(which.ravel(), weights=column) / counts for column in points.T]
    return np.column_stack(columns)
