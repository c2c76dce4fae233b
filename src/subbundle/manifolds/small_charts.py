"""Small charts that cover a cloud: bases, tangent spaces, curvature, members with normal coordinates to third order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, IntArray
from subbundle.cloud._build import LEAF, build
from subbundle.manifolds._member_kernels import count_members, greedy_cover, list_members, shared_moments
from subbundle.manifolds.quadrics import QuadricFitter, Quadrics

# A point belongs to a chart when it lies off its graph by less than this, in bandwidths, plus this part of |v|.
_OFFSET, _SLOPE = 0.5, 0.15
# Width of the weight exp(−½ (|v| / width)²) of a member, in chart radii.
_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class SmallCharts:
    """Charts x(τ) = μ + F τ + ½ II(τ, τ) and the points in them.

    Attributes
    ----------
    bases, frames, forms : [M, D], [M, D, k], [M, k(k+1)/2, D]
        μ, F and II, in the order of the search tree of the bases.
    boxes : [nodes, 2, D]
        That tree.
    radius, spacing : float
        Of a chart, and between bases.
    starts : [M + 1], places, coordinates, weights : [m], [m, k], [m]
        Members of chart c are the entries starts[c] .. starts[c + 1]: their rows in rising order, v and the weight.
    n_points : int
        Rows that `places` refer to.
    """

    bases: FloatArray
    frames: FloatArray
    forms: FloatArray
    boxes: FloatArray
    radius: float
    spacing: float
    starts: IntArray
    places: IntArray
    coordinates: FloatArray
    weights: FloatArray
    n_points: int

    @property
    def charts(self) -> IntArray:
        """Chart of each entry of the list of members [m]."""
        return np.repeat(np.arange(len(self.bases)), np.diff(self.starts))

    @property
    def rank(self) -> int:
        """k."""
        return self.frames.shape[2]


def tree_of(points: FloatArray) -> tuple[IntArray, FloatArray]:
    """Search tree of ``points`` [n, d]: the order of its leaves [n] and its boxes."""
    rows, order = np.array(points, order="C"), np.arange(len(points))
    boxes = np.empty((2 * -(-len(points) // LEAF) - 1, 2, points.shape[1]))
    build(rows, order, boxes)
    return order, boxes


def cover(fitter: QuadricFitter, spacing: float, wanted: NDArray[np.bool_]) -> IntArray:
    """Rows of the cloud of ``fitter`` (in the order of its tree) that are further than ``spacing`` apart and leave no
    ``wanted`` row uncovered."""
    chosen = np.empty(fitter.cloud.n_points, np.int64)
    count = greedy_cover(fitter.rows, fitter.cloud.boxes, spacing, wanted, chosen)
    return chosen[:count]


def make_charts(
    fitter: QuadricFitter, quadrics: Quadrics, bandwidth: float, radius: float, spacing: float, *, n_jobs: int | None
) -> SmallCharts:
    """Charts at ``quadrics`` with the points of the cloud of ``fitter`` as members."""
    order, boxes = tree_of(quadrics.points - fitter.cloud.centre)
    bases = np.ascontiguousarray((quadrics.points - fitter.cloud.centre)[order])
    frames, forms = np.ascontiguousarray(quadrics.frames[order]), np.ascontiguousarray(quadrics.forms[order])
    geometry = (bases, frames, forms)
    limits = (radius, _OFFSET * bandwidth, _SLOPE)
    counts = np.empty(len(bases), np.int64)

    def count(start: int, stop: int) -> None:
        part = (array[start:stop] for array in geometry)
        count_members(fitter.rows, fitter.cloud.boxes, *part, *limits, counts[start:stop])

    jobs = resolve_jobs(n_jobs)
    run_rows(count, len(bases), jobs, grain=64, calls_blas=False)
    starts = np.concatenate([[0], np.cumsum(counts)])
    places, coordinates = np.empty(starts[-1], np.int64), np.empty((starts[-1], frames.shape[2]))

    def fill(start: int, stop: int) -> None:
        part = (array[start:stop] for array in geometry)
        list_members(fitter.rows, fitter.cloud.boxes, *part, *limits, starts[start:stop], places, coordinates)

    run_rows(fill, len(bases), jobs, grain=64, calls_blas=False)
    weights = np.exp(-0.5 * np.einsum("mk,mk->m", coordinates, coordinates) / (_WEIGHT * radius) ** 2)
    return SmallCharts(
        bases + fitter.cloud.centre, frames, forms, boxes + fitter.cloud.centre, radius, spacing, starts, places,
        coordinates, weights, fitter.cloud.n_points,
    )  # fmt: skip


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
    """

    pairs: IntArray
    turns: FloatArray
    weights: FloatArray


def link_charts(charts: SmallCharts, *, n_jobs: int | None) -> Links:
    """Orthogonal Procrustes between the charts whose bases are within a radius and that share 2k + 2 points."""
    k = charts.rank
    pairs = cKDTree(charts.bases).query_pairs(charts.radius, output_type="ndarray").astype(np.int64)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))] if len(pairs) else pairs.reshape(0, 2)
    moments, masses = np.empty((len(pairs), k, k)), np.empty(len(pairs))
    shared = np.empty(len(pairs), np.int64)

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        shared_moments(
            pairs[part], charts.starts, charts.places, charts.coordinates, charts.weights, moments[part],
            masses[part], shared[part],
        )  # fmt: skip

    run_rows(work, len(pairs), resolve_jobs(n_jobs), grain=256, calls_blas=False)
    enough = shared >= 2 * k + 2
    pairs, moments = pairs[enough], moments[enough]
    turns, singular = nearest_orthogonal(moments)
    return Links(pairs, turns, np.maximum(singular[:, -1], 0.0))


def nearest_orthogonal(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthogonal factor of each of ``matrices`` [n, k, k] and its singular values, descending."""
    if not len(matrices):
        return matrices, np.empty(matrices.shape[:2])
    left, singular, right = np.linalg.svd(matrices)
    return left @ right, singular
