"""Small charts that cover a cloud: bases, tangent spaces, curvature, and members with their coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, IntArray
from subbundle.cloud._build import LEAF, build
from subbundle.embedding._member_kernels import count_members, greedy_cover, list_members
from subbundle.local.quadrics import QuadricFitter, Quadrics

# A point belongs to a chart when it lies off its graph by less than this, in bandwidths, plus this part of |v|.
_OFFSET, _SLOPE = 0.5, 0.15
# Width of the weight exp(−½ (|v| / width)²) of a member, in chart radii.
_WEIGHT = 0.5
_GRAIN = 64


@dataclass(frozen=True, slots=True)
class SmallCharts:
    """Charts x(τ) = μ + F τ + ½ II(τ, τ) and the points in them.

    Attributes
    ----------
    bases, frames, forms : [M, D], [M, D, k], [M, k(k+1)/2, D]
        μ, F and II, in the order of the search tree of the bases.
    boxes : [nodes, 2, D]
        That tree.
    radii, spacings : [M]
        How far a chart goes, and to the next base.
    starts : [M + 1], places, coordinates, weights : [m], [m, k], [m]
        Members of chart c are the entries starts[c] .. starts[c + 1]: their rows in rising order, v and the weight.
    n_points : int
        Rows that `places` refer to.
    """

    bases: FloatArray
    frames: FloatArray
    forms: FloatArray
    boxes: FloatArray
    radii: FloatArray
    spacings: FloatArray
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
        return int(self.frames.shape[2])

    def with_members(self, kept: NDArray[np.bool_]) -> SmallCharts:
        """The same charts with only the entries ``kept`` [m] of the list of members."""
        counts = np.bincount(self.charts[kept], minlength=len(self.bases))
        starts = np.concatenate([[0], np.cumsum(counts)])
        return replace(
            self, starts=starts, places=self.places[kept], coordinates=self.coordinates[kept],
            weights=self.weights[kept],
        )  # fmt: skip


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


def bandwidth_charts(
    fitter: QuadricFitter, quadrics: Quadrics, bandwidth: float, radius: float, spacing: float, *, n_jobs: int | None
) -> SmallCharts:
    """Charts of one ``radius`` at ``quadrics``, with the points of the cloud of ``fitter`` near each as members.

    Charts with fewer than 2k + 2 members, too few to align them by, are left out.
    """
    centre, boxes = fitter.cloud.centre, fitter.cloud.boxes
    limits = (radius, _OFFSET * bandwidth, _SLOPE)
    geometry = (np.ascontiguousarray(quadrics.points - centre), quadrics.frames, quadrics.forms)
    counts = np.empty(len(quadrics.points), np.int64)

    def count(start: int, stop: int) -> None:
        mu, f, ii = (array[start:stop] for array in geometry)
        count_members(fitter.rows, boxes, mu, f, ii, limits[0], limits[1], limits[2], counts[start:stop])

    jobs = resolve_jobs(n_jobs)
    run_rows(count, len(counts), jobs, grain=_GRAIN, calls_blas=False)
    rank = quadrics.frames.shape[2]
    kept = np.flatnonzero((counts >= 2 * rank + 2) & (quadrics.status == 0))
    order, base_boxes = tree_of(quadrics.points[kept])
    kept = kept[order]
    bases, frames, forms = (np.ascontiguousarray(array[kept]) for array in geometry)
    starts = np.concatenate([[0], np.cumsum(counts[kept])])
    places, coordinates = np.empty(starts[-1], np.int64), np.empty((starts[-1], rank))

    def fill(start: int, stop: int) -> None:
        mu, f, ii = (array[start:stop] for array in (bases, frames, forms))
        list_members(
            fitter.rows, boxes, mu, f, ii, limits[0], limits[1], limits[2], starts[start:stop], places, coordinates
        )

    run_rows(fill, len(bases), jobs, grain=_GRAIN, calls_blas=False)
    size = len(bases)
    return SmallCharts(
        bases + centre, frames, forms, base_boxes, np.full(size, radius), np.full(size, spacing), starts, places,
        coordinates, member_weights(coordinates, np.full(starts[-1], radius)), fitter.cloud.n_points,
    )  # fmt: skip


def member_weights(coordinates: FloatArray, radii: FloatArray) -> FloatArray:
    """exp(−½ (|v| / ½ρ)²) for members with ``coordinates`` [m, k] in charts of ``radii`` [m]."""
    squared = np.einsum("mk,mk->m", coordinates, coordinates)
    return np.asarray(np.exp(-0.5 * squared / (_WEIGHT * radii) ** 2))


def neighbour_charts(points: FloatArray, rank: int, n_neighbors: int) -> SmallCharts:
    """A flat chart at every one of ``points`` [n, D]: the leading directions of its nearest neighbours and itself.

    The radius is the distance of the furthest of them, the spacing that of a neighbour halfway.
    """
    distances, near = cKDTree(points).query(points, k=n_neighbors)
    offsets = points[near] - points[:, None]
    means = offsets.mean(axis=1)
    _, _, axes = np.linalg.svd(offsets - means[:, None], full_matrices=False)
    frames = axes[:, :rank].transpose(0, 2, 1)
    largest = np.take_along_axis(frames, np.abs(frames).argmax(axis=1, keepdims=True), axis=1)
    frames = np.where(largest < 0.0, -frames, frames)
    # The chart passes through the mean of the neighbours, not through its own noise.
    bases = points + means - np.einsum("mdk,mek,me->md", frames, frames, means)
    order, boxes = tree_of(bases)
    sorting = np.argsort(near, axis=1)
    members = np.take_along_axis(near, sorting, axis=1)[order]
    coordinates = np.einsum("mnd,mdk->mnk", offsets, frames)
    coordinates = np.take_along_axis(coordinates, sorting[:, :, None], axis=1)[order].reshape(-1, rank)
    count = len(points)
    radii = np.maximum(distances[order, -1], 1e-300)
    return SmallCharts(
        np.ascontiguousarray(bases[order]), np.ascontiguousarray(frames[order]),
        np.zeros((count, rank * (rank + 1) // 2, points.shape[1])), boxes, radii,
        np.maximum(distances[order, (n_neighbors - 1) // 2], 1e-300), np.arange(count + 1) * n_neighbors,
        members.ravel().astype(np.int64), coordinates,
        member_weights(coordinates, np.repeat(radii, n_neighbors)), count,
    )  # fmt: skip
