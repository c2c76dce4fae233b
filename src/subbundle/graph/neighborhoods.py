"""Nearest neighbours, and the angles of their edges to the tangent spaces at both ends.

An edge e from row i to row j makes the angles sin² α_i = 1 − |F_iᵀ e|²/|e|² and sin² α_j with the frames at its ends.
On a circle both are half of the angle that the edge spans, so that its arc is |e| · α / sin α; with sin² α the mean of
the two this is right to fourth order on any curve. An edge nearly orthogonal to the *smoothed* frame at either end does
not lie along the shape: it is a short cut from one sheet to another, or across a curved one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from subbundle._elementwise import arctan2
from subbundle._memory import blocks
from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle.graph.tuning import ACROSS, FRAME_EXTRA
from subbundle.local.frames import neighbor_frames, smoothed_frames

# Length of edges between equal rows, as a fraction of the longest.
_SHORTEST = 1e-9


@dataclass(frozen=True, slots=True)
class Neighborhoods:
    """The nearest neighbours of every row and the edges to them, nearest first.

    Attributes
    ----------
    neighbors : [n, m]
    chords, arcs : [n, m]
        Straight lengths, and lengths along the shape.
    offsets : [n, m, k]
        Edges in the frame at the row.
    across : [n, m]
        Largest sine of the edge to the smoothed frames at its ends.
    slant : [n, m]
        Mean squared sine of the edge to the smoothed frames at its ends.
    frames : [n, k, D]
        Orthonormal rows.
    """

    neighbors: IntArray
    chords: FloatArray
    arcs: FloatArray
    offsets: FloatArray
    across: FloatArray
    slant: FloatArray
    frames: FloatArray

    def nearest(self, count: int) -> Neighborhoods:
        """The ``count`` nearest of each row, with the same frames."""
        cut = slice(None), slice(0, count)
        return Neighborhoods(
            self.neighbors[cut], self.chords[cut], self.arcs[cut], self.offsets[cut], self.across[cut],
            self.slant[cut], self.frames,
        )  # fmt: skip

    @property
    def along(self) -> BoolArray:
        """Which edges [n, m] lie along the shape.

        At most half of all edges are dropped: in the noise of many dimensions most of them make nearly a right angle
        with their frames, and the graph without them is a tree.
        """
        return np.asarray(self.across < max(ACROSS, float(np.median(self.across))))


def nearest_rows(points: FloatArray, n_neighbors: int) -> IntArray:
    """The ``n_neighbors`` nearest other rows of each of ``points`` [n, D], nearest first, [n, n_neighbors]."""
    near = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(points).kneighbors(points, return_distance=False)
    # Among equal rows a row need not be its own first neighbour, nor in the list at all.
    own = near == np.arange(len(points))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(near[~own].reshape(len(points), n_neighbors), np.int64)


def frame_size(rank: int) -> int:
    """Number of neighbours for a frame of dimension ``rank``, where it is not averaged over more."""
    return 2 * rank + FRAME_EXTRA


def neighborhoods(
    points: FloatArray, near: IntArray, rank: int, *, frame_neighbors: int, frames: FloatArray | None = None
) -> Neighborhoods:
    """Edges from ``points`` [n, D] to the rows ``near`` [n, m], frames from the first ``frame_neighbors`` of these.

    ``frames`` [n, k, D], if given, replace these in the arcs; edges are dropped by the former.
    """
    few = near[:, :frame_neighbors]
    plain = neighbor_frames(points, few, rank)
    frames = plain if frames is None else frames
    chords, offsets, here, there = _edges(points, near, frames)
    arcs = arcs_of(chords, 0.5 * (here + there))
    _, _, here, there = _edges(points, near, smoothed_frames(plain, few))
    across = np.sqrt(np.maximum(here, there))
    return Neighborhoods(near, chords, arcs, offsets, across, 0.5 * (here + there), frames)


def arcs_of(chords: FloatArray, slant: FloatArray) -> FloatArray:
    """Arcs |e| α / sin α over ``chords`` of lengths |e|, for sin² α = ``slant``, with the same bits everywhere."""
    sines = np.sqrt(slant)
    angles = arctan2(sines, np.sqrt(1.0 - sines * sines))
    return np.asarray(np.where(sines > 1e-6, chords * angles / np.maximum(sines, 1e-300), chords))


def _edges(
    points: FloatArray, near: IntArray, frames: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Lengths [n, m], tangential components [n, m, k], and the squared sines to ``frames`` [n, k, D] at both ends."""
    count, dim = points.shape
    rank = frames.shape[1]
    chords, there = np.empty(near.shape), np.empty(near.shape)
    offsets = np.empty((*near.shape, rank))
    for rows in blocks(count, near.shape[1] * rank * dim):
        edges = points[near[rows]] - points[rows, None]
        chords[rows] = np.sqrt(np.einsum("bmd,bmd->bm", edges, edges))
        offsets[rows] = edges @ frames[rows].transpose(0, 2, 1)
        back = (frames[near[rows]] @ edges[..., None])[..., 0]
        there[rows] = np.einsum("bmk,bmk->bm", back, back)
    least = max(_SHORTEST * float(chords.max()), 1e-300)
    apart = chords > least
    chords = np.maximum(chords, least)
    # Edges between equal rows have no direction.
    here = np.clip(1.0 - np.einsum("nmk,nmk->nm", offsets, offsets) / chords**2, 0.0, 1.0) * apart
    return chords, offsets, here, np.clip(1.0 - there / chords**2, 0.0, 1.0) * apart
