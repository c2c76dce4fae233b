"""What interpolants of exp do alike: evaluate, and search the nearest point, from several nodes where one may fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree

from subbundle._parallel import run_rows
from subbundle._types import BoolArray, FloatArray
from subbundle.charts._fold import differ
from subbundle.geodesics.tuning import START_NODES

Found = tuple[FloatArray, FloatArray, FloatArray, BoolArray]


class ExpInterpolant(ABC):
    """An interpolant of exp on its domain, from nodes relative to the base point; a class names its kernels."""

    points: FloatArray
    scale: float
    n_jobs: int
    _kernels: ClassVar[Any]

    @property
    @abstractmethod
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes inside the domain: their points [n, dim] and coordinates [n, k]."""

    @abstractmethod
    def inside(self, coordinates: FloatArray) -> BoolArray:
        """Which ``coordinates`` [n, k] lie in the domain."""

    @property
    @abstractmethod
    def _tables(self) -> tuple[Any, ...]:
        """What the kernels read."""

    @cached_property
    def tree(self) -> cKDTree:
        """Tree of the nodes' points."""
        return cKDTree(self.nodes[0])

    def evaluate(self, coordinates: FloatArray) -> FloatArray:
        """Points [n, dim], relative to the base point, at ``coordinates`` [n, k]."""
        return self._expand(coordinates)[0]

    def jacobians(self, coordinates: FloatArray) -> FloatArray:
        """∂exp/∂v [n, dim, k] at ``coordinates`` [n, k]."""
        return self._expand(coordinates)[1]

    def _expand(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        (n, rank), dim, tables = coordinates.shape, self.points.shape[2], self._tables
        points, jacobians = np.empty((n, dim)), np.empty((n, dim, rank))

        def work(i: int, j: int) -> None:
            self._kernels.evaluate_batch(*tables, coordinates[i:j], points[i:j], jacobians[i:j])

        run_rows(work, n, self.n_jobs)
        return points, jacobians

    def search(self, targets: FloatArray, starts: FloatArray) -> Found:
        """Move from coordinates ``starts`` [n, k] to the nearest points: coordinates, points, residuals, at rest."""
        n, tables, coordinates = len(targets), self._tables, starts.copy()
        points, residuals, resting = np.empty_like(targets), np.empty(n), np.empty(n, bool)

        def work(i: int, j: int) -> None:
            found = coordinates[i:j], points[i:j], residuals[i:j], resting[i:j]
            self._kernels.search_batch(*tables, targets[i:j], *found)

        run_rows(work, n, self.n_jobs)
        return coordinates, points, residuals, resting

    def nearest(self, targets: FloatArray) -> Found:
        """Nearest points to ``targets`` [n, dim]: coordinates, points, residuals, and whether the search converged.

        From the nearest node, which chooses the sheet. Where that search leaves the domain, or where another sheet of
        the chart passes as well, as beside a cut, the next nodes are tried too and the better result counts.
        Coordinates may end up outside the domain.
        """
        nodes, at = self.nodes
        _, near = self.tree.query(targets, k=np.arange(1, min(START_NODES, len(nodes)) + 1))
        # Of a target so far away that its distances overflow no node is the nearest, and any serves.
        near = np.minimum(near, len(nodes) - 1)
        first = near[:, 0]
        found = self.search(targets, at[first])
        covered = self.inside(found[0]) & found[3]
        beside = np.zeros(len(targets), bool)
        for other in near.T[1:]:
            away = differ(_length(at[other] - at[first]), _length(nodes[other] - nodes[first]), self.scale)
            rows = np.flatnonzero(~covered | (away & ~beside))
            beside |= away
            again = self.search(targets[rows], at[other[rows]])
            covered_again = self.inside(again[0]) & again[3]
            better = np.where(covered[rows] == covered_again, again[2] < found[2][rows], covered_again)
            covered[rows] |= covered_again
            for old, new in zip(found, again, strict=True):
                old[rows[better]] = new[better]
        return found


def _length(vectors: FloatArray) -> FloatArray:
    length: FloatArray = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return length
