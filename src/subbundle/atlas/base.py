"""The protocol of atlases: locating, orientation, connected components, for any charts and weights.

An atlas is a list of charts and `project`, which gives pairs of a point and a chart, with weights. All else follows
from these: the mean of the projections, coordinates in the nearest chart, tangent spaces, an orientation where it
exists, links between charts that overlap, and connected components.

A chart has the orientation of its coordinates everywhere: ∂exp/∂v is continuous on the domain and never singular there,
since the domain ends before the first fold. At a point x that charts i and j both cover, with Jacobians J_i, J_j
[D, k], they agree if

    det J_iᵀ J_j > 0,        and firmly if  det² J_iᵀ J_j > ¼ det J_iᵀ J_i det J_jᵀ J_j,

that is if their tangent spaces differ by less than 60° in one direction.

Signs s_i are those of `graph.votes`; a pair that then contradicts over more than half of its overlap shows that the
submanifold is not orientable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from subbundle._memory import blocks
from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle._validation import as_batch, as_real
from subbundle.atlas.blending import Blended
from subbundle.atlas.tuning import PLACES_APART
from subbundle.charts.chart import Located
from subbundle.charts.chart_list import ChartList
from subbundle.graph.neighbor_graph import by_size
from subbundle.graph.votes import merge_votes
from subbundle.triangles.poisson_disk import spread
from subbundle.triangles.topology import mean_frames
from subbundle.triangles.tuning import SAME_PLANE


@dataclass(frozen=True)
class Votes:
    """Relative orientations of pairs of charts.

    Attributes
    ----------
    pairs : [p, 2]
        Charts that cover common points, the lower first.
    alike, opposed : [p]
        Numbers of points at which they agree firmly, and at which they are opposed.
    n_charts : int
    """

    pairs: IntArray
    alike: IntArray
    opposed: IntArray
    n_charts: int

    @cached_property
    def signs(self) -> IntArray:
        """1 or −1 for every chart; the first of each connected component has 1."""
        margin = (self.alike - self.opposed).astype(np.float64)
        return merge_votes(self.n_charts, self.pairs, margin)[0].astype(np.int64)

    @property
    def orientable(self) -> bool:
        """Whether no pair of charts contradicts the signs."""
        expected = self.signs[self.pairs].prod(axis=1) if len(self.pairs) else np.empty(0)
        against = np.where(expected > 0, self.opposed, self.alike)
        shared = self.alike + self.opposed
        # More than half, and by more than the standard error of a count.
        return not bool((against - np.sqrt(against) > 0.5 * shared).any())


def vote(rows: IntArray, charts: IntArray, jacobians: FloatArray, n_charts: int) -> Votes:
    """Votes of ``charts`` [p] that cover points ``rows`` [p], ascending, with ``jacobians`` [p, D, k] there."""
    first, second = _pairs_in_rows(rows)
    product = np.linalg.det(jacobians[first].transpose(0, 2, 1) @ jacobians[second])
    square = np.linalg.det(jacobians.transpose(0, 2, 1) @ jacobians)
    firm = product**2 > SAME_PLANE**2 * square[first] * square[second]
    low, high = np.minimum(charts[first], charts[second]), np.maximum(charts[first], charts[second])
    keys, group = np.unique((low * n_charts + high)[firm], return_inverse=True)
    alike = np.bincount(group, product[firm] > 0.0, minlength=len(keys)).astype(np.int64)
    opposed = np.bincount(group, product[firm] < 0.0, minlength=len(keys)).astype(np.int64)
    return Votes(np.column_stack([keys // n_charts, keys % n_charts]), alike, opposed, n_charts)


def _pairs_in_rows(rows: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs of entries, the earlier first, with the same value in ``rows``, which are ascending."""
    first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    step = 1
    while step < len(rows):
        same = np.flatnonzero(rows[step:] == rows[:-step])
        if same.size == 0:
            break
        first.append(same)
        second.append(same + step)
        step += 1
    return np.concatenate(first), np.concatenate(second)


def blended_tangents(
    rows: IntArray, n_rows: int, weights: FloatArray, signs: IntArray, jacobians: FloatArray
) -> FloatArray:
    """Orthonormal bases [n_rows, D, k] of the mean tangent spaces; NaN for a row that no chart covers.

    The leading k eigenvectors of Σ w_j P_j, P_j the projector on the tangent space of chart j, with the orientation of
    the chart of greatest weight (times its sign): its orthonormal frame is projected to that space.
    """
    known = np.isfinite(jacobians).all(axis=(1, 2))
    rows, weights, signs, jacobians = rows[known], weights[known], signs[known], jacobians[known]
    frames = np.linalg.qr(jacobians)[0]
    # The triangular factor may reverse the orientation of a frame, and so may the sign of the chart.
    turn = np.sign(np.linalg.det(frames.transpose(0, 2, 1) @ jacobians)) * signs
    frames[:, :, 0] *= turn[:, None]
    mean = mean_frames(frames, weights, rows, n_rows, nearest_frame)
    mean[np.bincount(rows, minlength=n_rows) == 0] = np.nan
    return mean


def nearest_frame(matrices: FloatArray) -> FloatArray:
    """The orthonormal frames nearest to ``matrices`` [..., D, k], of the same orientation."""
    left, _, right = np.linalg.svd(matrices, full_matrices=False)
    nearest: FloatArray = left @ right
    return nearest


def normals_of(tangents: FloatArray) -> FloatArray:
    """Unit normals [n, D] of hyperplanes ``tangents`` [n, D, D − 1], with det [T n] > 0; NaN stays NaN."""
    dim, k = tangents.shape[1:]
    normals = np.full((len(tangents), dim), np.nan)
    known = np.asarray(np.isfinite(tangents).all(axis=(1, 2)))
    last = np.linalg.qr(tangents[known], mode="complete")[0][:, :, k:]
    side = np.sign(np.linalg.det(np.concatenate([tangents[known], last], axis=2)))
    normals[known] = last[:, :, 0] * side[:, None]
    return normals


class ChartAtlas(ABC):
    """Charts that cover a submanifold together."""

    charts: ChartList

    @abstractmethod
    def project(self, points: Any) -> Blended:
        """Project ``points`` [batch, dim] (or one point, [dim]: a batch of one) to the charts near them and blend."""

    def __len__(self) -> int:
        return len(self.charts)

    @property
    def ambient_dim(self) -> int:
        """D."""
        return int(self.base_points.shape[1])

    @property
    def rank(self) -> int:
        """k."""
        return self.charts.rank

    @property
    def base_points(self) -> FloatArray:
        """μ_j [m, dim]."""
        return self.charts.base_points

    @property
    def radii(self) -> FloatArray:
        """r_j [m]: distance of the outermost point of each chart."""
        return self.charts.radii

    @cached_property
    def nodes(self) -> tuple[FloatArray, IntArray]:
        """The points [n, dim] sampled on the charts, and the chart [n] of each; blend them with `project`."""
        samples = [chart.sample() for chart in self.charts]
        return np.concatenate(samples), np.repeat(np.arange(len(samples)), [len(sample) for sample in samples])

    def locate(self, points: Any) -> Located:
        """Project ``points`` [batch, dim] or [dim]; coordinates are those in the nearest chart, of greatest weight."""
        rows, single = as_batch(points, "points", self.ambient_dim)
        each = blocks(len(rows), self._most_charts * self.ambient_dim) or [slice(0, 0)]
        located = Located.joined([self.project(rows[block]).located() for block in each])
        return located.first() if single else located

    def inverse_transform(self, coordinates: Any, charts: Any) -> FloatArray:
        """Points [batch, dim] of ``charts`` [batch] at ``coordinates`` [batch, rank], as `locate` gives them, not
        blended with those of other charts; NaN outside the domain."""
        return np.asarray(self._in_charts(self.charts.inverse_transform, coordinates, charts))

    def jacobian(self, coordinates: Any, charts: Any) -> FloatArray:
        """∂Φ/∂v [batch, dim, rank] of `inverse_transform`; NaN outside the domain of the chart."""
        return np.asarray(self._in_charts(self.charts.jacobian, coordinates, charts))

    def inside(self, coordinates: Any, charts: Any) -> BoolArray:
        """Whether ``coordinates`` [batch, rank] lie in the domains of ``charts`` [batch]; False for NaN."""
        return np.asarray(self._in_charts(self.charts.inside, coordinates, charts))

    def _in_charts(self, method: Callable[[FloatArray, IntArray], Any], coordinates: Any, charts: Any) -> Any:
        """``method`` of the list of charts for rows, or for a single one; −1 stands for no chart."""
        given, numbers = np.array(as_real(coordinates, "coordinates"), ndmin=2), np.atleast_1d(charts)
        known = numbers.dtype.kind in "iu" and bool(((numbers >= -1) & (numbers < len(self))).all())
        if not known or given.shape != (len(numbers), self.rank):
            raise ValueError(
                f"coordinates must have shape (batch, {self.rank}), and charts hold a number in 0..{len(self) - 1} for "
                f"each; got shapes {np.shape(coordinates)} and {np.shape(charts)}. Pass both as locate returns them."
            )
        given[numbers < 0] = np.nan
        found = method(given, np.maximum(numbers, 0).astype(np.int64))
        return found if np.ndim(coordinates) == 2 else found[0]

    @property
    def _most_charts(self) -> int:
        """Bound on the number of charts that contribute to a point."""
        return len(self)

    @property
    def links(self) -> csr_array:
        """Graph [m, m] of the charts that cover common points."""
        ends = np.concatenate([self._votes.pairs, self._votes.pairs[:, ::-1]]).T
        return csr_array((np.ones(ends.shape[1]), tuple(ends)), shape=(len(self), len(self)))

    @cached_property
    def labels(self) -> IntArray:
        """Connected component [m] of each chart, the largest being 0."""
        return by_size(connected_components(self.links, directed=False)[1])

    @property
    def orientation(self) -> IntArray:
        """1 or −1 for every chart [m]: whether it is oriented as the first chart of its connected component."""
        return self._votes.signs

    @property
    def orientable(self) -> bool:
        """Whether charts agree on an orientation wherever they overlap; not so on a Möbius band."""
        return self._votes.orientable

    def tangents(self, blended: Blended) -> FloatArray:
        """Orthonormal bases [batch, dim, rank] of the tangent spaces at ``blended`` points, of one `orientation`.

        The mean over the contributing charts, with their weights; NaN where there is none. Where the submanifold is not
        `orientable`, the orientation is discontinuous along a seam.
        """
        signs, jacobians = self.orientation[blended.charts], self._jacobians(blended)
        return blended_tangents(blended.rows, len(blended.points), blended.weights, signs, jacobians)

    def normals(self, blended: Blended) -> FloatArray:
        """Unit normals [batch, dim] at ``blended`` points, all on one side of a hypersurface: rank = dim − 1."""
        rank, dim = self.rank, self.ambient_dim
        if rank != dim - 1:
            raise ValueError(
                f"normals need a hypersurface, rank = dim − 1; rank is {rank} in R^{dim}. Use tangents instead."
            )
        return normals_of(self.tangents(blended))

    def _jacobians(self, blended: Blended) -> FloatArray:
        """∂Φ/∂v [pairs, D, k] of the charts that contribute to ``blended`` points."""
        return self.charts.jacobian(blended.coordinates, blended.charts)

    @cached_property
    def _votes(self) -> Votes:
        """Relative orientations of overlapping charts, at points spread over the atlas."""
        nodes = self.nodes[0]
        places = self.project(nodes[spread(nodes, PLACES_APART * float(np.median(self.radii)))])
        return vote(places.rows, places.charts, self._jacobians(places), len(self))
