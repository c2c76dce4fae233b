"""Orthonormal bases: their signs, those that begin with given tangents, and tangent spaces at many points from their
nearest neighbours.

The frame at a row is spanned by the k leading principal directions of the row and its m nearest neighbours. A frame
from few neighbours is noisy; the *smoothed* one is spanned by the leading directions of the mean projector
Σ_j F_j F_jᵀ / (m + 1) over the row and its neighbours.
"""

from __future__ import annotations

import numpy as np

from subbundle._memory import blocks
from subbundle._types import FloatArray, IntArray


def completed(tangents: FloatArray) -> FloatArray:
    """Orthonormal bases [n, d, d] whose first columns are ``tangents`` [n, d, k]; rows of NaN stay NaN."""
    batch, dim, k = tangents.shape
    basis = np.full((batch, dim, dim), np.nan)
    basis[:, :, :k] = tangents
    if (dim, k) == (3, 2):
        basis[:, :, 2] = np.cross(tangents[:, :, 0], tangents[:, :, 1])
        return basis
    known = np.isfinite(tangents).all(axis=(1, 2))
    basis[known, :, k:] = np.linalg.qr(tangents[known], mode="complete")[0][:, :, k:]
    return basis


def sign_of_largest(columns: FloatArray) -> FloatArray:
    """±1 [..., 1, k] that makes the largest entry of each column of ``columns`` [..., D, k] positive."""
    largest = np.take_along_axis(columns, np.abs(columns).argmax(axis=-2)[..., None, :], axis=-2)
    return np.where(largest < 0.0, -1.0, 1.0)


def tangents_from_normals(normals: FloatArray) -> FloatArray:
    """Orthonormal tangents [n, 3, 2] across unit ``normals`` [n, 3], t_1 × t_2 = n; continuous but at n_3 = 0."""
    x, y, z = normals.T
    sign = np.where(z >= 0.0, 1.0, -1.0)
    s = -1.0 / (sign + z)
    t = x * y * s
    first = np.stack([1.0 + sign * x * x * s, sign * t, -sign * x], axis=1)
    return np.stack([first, np.stack([t, sign + y * y * s, -y], axis=1)], axis=2)


def leading_directions(vectors: FloatArray, rank: int) -> FloatArray:
    """The ``rank`` leading right singular vectors of each of ``vectors`` [b, m, D], as orthonormal rows [b, rank, D].

    From the smaller of the two Gram matrices; directions that the vectors do not have are zero.
    """
    count, dim = vectors.shape[1:]
    if count < dim:
        values, left = np.linalg.eigh(vectors @ vectors.transpose(0, 2, 1))
        found = np.einsum("bmk,bmd->bkd", left[:, :, ::-1][:, :, :rank], vectors)
        lengths = np.sqrt(np.einsum("bkd,bkd->bk", found, found))
        least = 1e-10 * np.sqrt(np.maximum(values[:, -1:], 0.0)) + 1e-300
        found = np.where((lengths > least)[:, :, None], found / np.maximum(lengths, least)[:, :, None], 0.0)
        missing = max(rank - count, 0)
        return np.pad(found, ((0, 0), (0, missing), (0, 0)))
    right = np.linalg.eigh(vectors.transpose(0, 2, 1) @ vectors)[1]
    return np.ascontiguousarray(right[:, :, ::-1][:, :, :rank].transpose(0, 2, 1))


def neighbor_frames(points: FloatArray, neighbors: IntArray, rank: int) -> FloatArray:
    """Frames [n, k, D] at ``points`` [n, D] from themselves and their ``neighbors`` [n, m]."""
    count, dim = points.shape
    frames = np.empty((count, rank, dim))
    for rows in blocks(count, (neighbors.shape[1] + 1) * dim):
        near = np.concatenate([points[rows, None], points[neighbors[rows]]], axis=1)
        frames[rows] = leading_directions(near - near.mean(axis=1, keepdims=True), rank)
    return frames


def smoothed_frames(frames: FloatArray, neighbors: IntArray) -> FloatArray:
    """Frames [n, k, D] of the mean projectors over each row and its ``neighbors`` [n, m]."""
    count, rank, dim = frames.shape
    smooth = np.empty_like(frames)
    for rows in blocks(count, (neighbors.shape[1] + 1) * rank * dim):
        near = np.concatenate([frames[rows, None], frames[neighbors[rows]]], axis=1)
        smooth[rows] = leading_directions(near.reshape(len(near), -1, dim), rank)
    return smooth
