"""Arcs: lengths along the ridge between two points of it that see each other, from the subspaces at both.

With α the angle between a chord e and the subspaces at its ends the arc has the length |e| α / sin α, exactly on a
circle. Two points see each other if the arc lies on the ridge: on the cubic through both ends with tangents in their
subspaces, a quarter, half and three quarters of the way,

    the density is that at the middle of a gap of 2.6 bandwidths between half planes, or more,
    the ridge is less than half a bandwidth away,
    the direction makes an angle of at most 30 degrees with the subspace.

A landmark of the ridge that near, with such a subspace, is evidence enough; elsewhere there is a fit. Arcs shorter than
such a gap lead over none. Above 16 dimensions, where a fit takes milliseconds, there is none, and arcs of up to one and
a half of such gaps are taken instead. Ends of arcs that turn by more than a right angle do not see each other: those of
most of a circle face each other as if the rest of it held data.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import ndtr

from subbundle._memory import blocks
from subbundle._types import BoolArray, FloatArray
from subbundle.bundles.base import LearnedSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.geodesics.tuning import GAP, ON_SHEET, ZIGZAG
from subbundle.graph.neighborhoods import arcs_of


def arcs(chords: FloatArray, here: FloatArray, there: FloatArray) -> FloatArray:
    """Arcs of ``chords``, of which the squared lengths ``here`` and ``there`` lie in the subspaces at both ends."""
    squared = np.maximum(chords * chords, 1e-300)
    slant = 1.0 - np.minimum(0.5 * (here + there) / squared, 1.0)
    return arcs_of(chords, slant)


def arcs_between(
    bundle: LearnedSubbundle,
    landmarks: tuple[cKDTree, FloatArray],
    x: FloatArray,
    frames: FloatArray,
    y: FloatArray,
    others: FloatArray,
    known: float | FloatArray = np.inf,
) -> FloatArray:
    """Arcs [m] in R^dim from ``x`` to ``y`` [m, dim], points of the ridge with ``frames`` and ``others`` [m, dim, k].

    ``landmarks`` are a tree of points of the ridge and their frames. Infinite where ends do not see each other, or
    where an arc that is long enough to lead over a gap is shorter than a ``known`` length [m] by no more than the
    zigzags of a graph. Exchanging x and y changes no bit.
    """
    gap = GAP if x.shape[1] <= BLOCK_DIM else 1.5 * GAP
    lengths, longest = np.full(len(x), np.inf), np.broadcast_to(known, len(x))
    for rows in blocks(len(x), 8 * x.shape[1] * frames.shape[2]):
        chord, here, there = y[rows] - x[rows], frames[rows], others[rows]
        squared = (chord * chord).sum(axis=1)
        along, back = (_projected(chord, frame) for frame in (here, there))
        inside, outside = ((part * part).sum(axis=1) for part in (along, back))
        seen = np.minimum(inside, outside) >= 0.5 * squared
        found = arcs(np.sqrt(squared), inside, outside)
        width = np.minimum(bundle.bandwidth_at(x[rows]), bundle.bandwidth_at(y[rows]))
        far = squared > (gap * width) ** 2
        seen &= ~far | (found < ZIGZAG * longest[rows])
        far = np.flatnonzero(seen & far)
        if far.size:
            tangents = (part[far] * (found[far] / np.sqrt(size[far]))[:, None]
                        for part, size in ((along, inside), (back, outside)))  # fmt: skip
            seen[far] = _on_ridge(bundle, landmarks, x[rows][far], y[rows][far], *tangents)
        lengths[rows] = np.where(seen, found, np.inf)
    return lengths


def _projected(vectors: FloatArray, frames: FloatArray) -> FloatArray:
    """Projections [m, dim] of ``vectors`` [m, dim] to the subspaces of ``frames`` [m, dim, k]."""
    return np.asarray((frames * (vectors[:, :, None] * frames).sum(axis=1)[:, None, :]).sum(axis=2))


def _on_ridge(
    bundle: LearnedSubbundle, landmarks: tuple[cKDTree, FloatArray], x: FloatArray, y: FloatArray, start: FloatArray,
    end: FloatArray,
) -> BoolArray:  # fmt: skip
    """Whether the ridge lies along the cubics from ``x`` to ``y`` [m, dim] with the velocities ``start``, ``end``."""
    tree, frames = landmarks
    kept, least = np.ones(len(x), bool), 2.0 * float(ndtr(-0.5 * GAP))
    for t in (0.5, 0.25, 0.75):
        rows = np.flatnonzero(kept)
        s = 1.0 - t
        ends = s * s * (1.0 + 2.0 * t) * x[rows] + t * t * (1.0 + 2.0 * s) * y[rows]
        points = ends + (s * s * t * start[rows] - t * t * s * end[rows])
        turns = s * (s - 2.0 * t) * start[rows] + t * (t - 2.0 * s) * end[rows]
        velocity = 6.0 * s * t * (y[rows] - x[rows]) + turns
        width = bundle.bandwidth_at(points)
        apart, nearest = tree.query(points)
        kept[rows] = (apart <= ON_SHEET * width) & _along(velocity, frames[nearest])
        rest = np.flatnonzero(~kept[rows]) if x.shape[1] <= BLOCK_DIM else rows[:0]
        if rest.size:
            ridge = ridge_project(bundle, points[rest], max_steps=1, continuation=None)
            near = (ridge.density >= least) & (ridge.offsets <= ON_SHEET * width[rest])
            kept[rows[rest]] = near & _along(velocity[rest], np.nan_to_num(ridge.tangents))
    return kept


def _along(velocities: FloatArray, frames: FloatArray) -> BoolArray:
    """Whether ``velocities`` [m, dim] make at most 30 degrees with the subspaces of ``frames`` [m, dim, k]."""
    along = _projected(velocities, frames)
    return np.asarray((along * along).sum(axis=1) >= (1.0 - ON_SHEET**2) * (velocities * velocities).sum(axis=1))
