"""What every atlas does, whatever its charts and whichever of them it blends: locate, orient, tell components apart.

An atlas is a list of charts and `project`, which gives the pairs of a point and a chart that count, with weights. All
else follows from these: the mean of the projections, coordinates in the nearest chart, tangent spaces, one orientation
where it exists, links between charts that cover common places, and connected components.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from subbundle._memory import blocks
from subbundle._types import FloatArray, IntArray
from subbundle._validation import as_batch
from subbundle.atlas.blended import Blended
from subbundle.atlas.orientation import Votes, blended_tangents, normals_of, vote
from subbundle.charts.chart import Located
from subbundle.charts.chart_list import ChartList
from subbundle.graph.neighbor_graph import by_size
from subbundle.triangles.poisson_disk import spread

# Distance of the places on which charts compare their orientations, in radii.
_PLACES_APART = 0.1


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
        parts = [chart.sample() for chart in self.charts]
        return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])

    def locate(self, points: Any) -> Located:
        """Project ``points`` [batch, dim] or [dim]; coordinates are those in the nearest chart, of greatest weight."""
        rows, single = as_batch(points, "points", self.ambient_dim)
        each = blocks(len(rows), self._most_charts * self.ambient_dim) or [slice(0, 0)]
        located = Located.joined([self.project(rows[part]).located() for part in each])
        return located.first() if single else located

    @property
    def _most_charts(self) -> int:
        """Bound on the number of charts that contribute to a point."""
        return len(self)

    @property
    def links(self) -> csr_array:
        """Graph [m, m] of the charts that cover common places."""
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
        `orientable`, the turn jumps along a seam.
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
        """Relative orientations of overlapping charts, at places spread over the atlas."""
        nodes = self.nodes[0]
        places = self.project(nodes[spread(nodes, _PLACES_APART * float(np.median(self.radii)))])
        return vote(places.rows, places.charts, self._jacobians(places), len(self))
