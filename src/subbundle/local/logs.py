"""A cloud on a known manifold as the back ends read it: at every point, the flat cloud of its logs.

At p the observations are v_n = log_p(x_n) in coordinates of a basis of T_pN that is orthonormal in the metric. Their
lengths are the distances from p, and the Christoffel symbols vanish there: a submanifold through p with the tangent
space T and, in N, the second fundamental form II is v = τ + ½ II(τ, τ) + O(|τ|³), as in R^m. So the local model of
these logs at 0 is that of the cloud at p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import BoolArray, FloatArray
from subbundle.cloud.build import FAR, LEAF, corners_of
from subbundle.cloud.cloud import Tree
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.spaces.base import Space
from subbundle.spaces.rows import Bases, dist_rows, log_rows, orthonormal_bases

# The kernels start at three dimensions; a plane is a space whose third coordinate is zero.
LEAST_DIM = 3
# Numbers in the largest temporary array, so that the logs at a group of points stay in the cache.
GROUP_SIZE = 1 << 18


@dataclass(frozen=True, slots=True)
class Logs:
    """Logs at one point in the form of a `Cloud`, all in one box: ``blocks`` or ``rows``, the other empty."""

    blocks: FloatArray
    rows: FloatArray
    weights: FloatArray
    boxes: FloatArray
    corners: FloatArray
    n_points: int
    dim: int

    @property
    def tree(self) -> Tree:
        """As of a `Cloud`."""
        return self.blocks, self.weights, self.boxes, self.corners, self.n_points


class Observations:
    """Observations ``rows`` [N, D] on ``space`` with ``weights`` [N]; ``dim`` is that of the clouds of logs."""

    def __init__(self, space: Space, rows: FloatArray, weights: FloatArray) -> None:
        self.space, self.rows, self.dim = space, rows, max(space.dim, LEAST_DIM)
        leaves = -(-len(rows) // LEAF)
        self._weights = np.zeros((leaves, LEAF))
        self._weights.ravel()[: len(rows)] = weights
        ends = np.broadcast_to([[-FAR], [FAR]], (2, self.dim))
        self._boxes = np.tile(ends, (2 * leaves - 1, 1, 1))
        self._corners = corners_of(*(np.tile(end, (leaves, 1)) for end in ends))

    def around(self, points: FloatArray, reach: float) -> tuple[Bases, list[Logs], BoolArray]:
        """Bases at ``points`` [c, D], the clouds of logs there, and whether a point has an observation nearer than
        ``reach``, beyond the nearest, on its cut locus. Observations without a log have no weight."""
        bases = orthonormal_bases(self.space, points)
        logs = log_rows(self.space, points[:, None], self.rows[None]) @ bases.covectors.transpose(0, 2, 1)
        missing = np.isnan(logs[:, :, 0])
        lost = np.zeros(len(points), bool)
        if missing.any():
            away = np.where(missing, dist_rows(self.space, points[:, None], self.rows[None]), np.inf)
            squared = np.where(missing, np.inf, np.einsum("cni,cni->cn", logs, logs))
            lost = ~(away.min(axis=1) > np.sqrt(squared.min(axis=1) + reach**2))
            logs[missing] = FAR
        return bases, self._clouds(logs), lost

    def _clouds(self, logs: FloatArray) -> list[Logs]:
        count, n, m = logs.shape
        if self.dim > BLOCK_DIM:
            rows = list(logs)
            blocks = [np.empty((0, self.dim, LEAF))] * count
        else:
            full = np.full((count, self._weights.size, self.dim), FAR)
            full[:, :n, :m], full[:, :n, m:] = logs, 0.0
            rows = [np.empty((0, self.dim))] * count
            blocks = list(full.reshape(count, -1, LEAF, self.dim).transpose(0, 1, 3, 2).copy())
        shared = self._weights, self._boxes, self._corners, n, self.dim
        return [Logs(of_leaves, of_rows, *shared) for of_leaves, of_rows in zip(blocks, rows, strict=True)]
