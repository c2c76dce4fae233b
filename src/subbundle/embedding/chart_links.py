"""Which charts share points, and how they turn into each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, IntArray
from subbundle.embedding._member_kernels import shared_moments
from subbundle.embedding.quadratic_charts import SmallCharts


@dataclass(frozen=True, slots=True)
class Links:
    """Pairs of charts that share points.

    Attributes
    ----------
    pairs : [P, 2]
        Charts c < e.
    turns : [P, k, k]
        Orthogonal O with v_c ≈ v_e O + const on the shared points.
    weights : [P]
        How firmly the shared points hold O.
    n_charts : int
    """

    pairs: IntArray
    turns: FloatArray
    weights: FloatArray
    n_charts: int

    def only(self, kept: NDArray[np.bool_]) -> Links:
        """The links ``kept`` [P]."""
        return Links(self.pairs[kept], self.turns[kept], self.weights[kept], self.n_charts)

    def neighbours(self) -> csr_array:
        """Symmetric matrix [M, M] of ones, rows in rising order."""
        rows, columns = np.concatenate([self.pairs, self.pairs[:, ::-1]]).T
        graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(self.n_charts, self.n_charts))
        graph.sort_indices()
        return graph

    def components(self) -> IntArray:
        """Connected component of each chart [M], numbered from 0."""
        return np.asarray(connected_components(self.neighbours(), directed=False)[1].astype(np.int64))


def link_charts(charts: SmallCharts, *, least: int, n_jobs: int | None) -> Links:
    """Orthogonal Procrustes between charts with bases within a radius of each other that share ``least`` points."""
    k = charts.rank
    pairs = cKDTree(charts.bases).query_pairs(charts.radii.max(), output_type="ndarray").astype(np.int64)
    pairs = np.sort(pairs.reshape(-1, 2), axis=1)
    pairs = np.ascontiguousarray(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))])
    apart = np.linalg.norm(charts.bases[pairs[:, 0]] - charts.bases[pairs[:, 1]], axis=1)
    pairs = np.ascontiguousarray(pairs[apart <= charts.radii[pairs].max(axis=1)])
    moments, masses = np.empty((len(pairs), k, k)), np.empty(len(pairs))
    shared = np.empty(len(pairs), np.int64)

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        shared_moments(
            pairs[part], charts.starts, charts.places, charts.coordinates, charts.weights, moments[part],
            masses[part], shared[part],
        )  # fmt: skip

    run_rows(work, len(pairs), resolve_jobs(n_jobs), grain=256, calls_blas=False)
    enough = shared >= least
    turns, singular = nearest_orthogonal(moments[enough])
    # Weights are relative: the scale of the data must not matter.
    scale = charts.radii[pairs[enough]].prod(axis=1)
    firm = np.maximum(singular[:, -1] / scale, 1e-12)
    return Links(pairs[enough], turns, firm, len(charts.bases))


def nearest_orthogonal(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthogonal factor of each of ``matrices`` [n, k, k] and its singular values, descending."""
    if not len(matrices):
        return matrices, np.empty(matrices.shape[:2])
    left, singular, right = np.linalg.svd(matrices)
    return left @ right, singular


def one_component_each(charts: SmallCharts, labels: IntArray) -> SmallCharts:
    """``charts`` with each point a member only in the component of ``labels`` [M] that weighs it most.

    Points between two components would pull them onto each other.
    """
    number = int(labels.max()) + 1
    if number == 1:
        return charts
    of = labels[charts.charts]
    mass = csr_array((charts.weights, (charts.places, of)), shape=(charts.n_points, number))
    mass.sum_duplicates()
    best = np.zeros(charts.n_points, np.int64)
    most = np.zeros(charts.n_points)
    entries = mass.tocoo()
    for row, column, value in zip(*entries.coords, entries.data, strict=True):
        if value > most[row]:
            best[row], most[row] = column, value
    return charts.with_members(best[charts.places] == of)
