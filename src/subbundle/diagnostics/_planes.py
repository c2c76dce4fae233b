"""How the subspaces of a bundle turn from place to place: a linear fit to those of all points within a radius R.

Around a place c the subspaces with projectors P_i, i within R, have a mean one: the top k eigenvectors f_1..f_k of
Σ w_i P_i, in the sense of which they are slopes (I − P̄) P_i f_b ∈ R^d. Weighted least squares over the tangential
offsets u_i = fᵀ(x_i − c) gives their derivatives

    (I − P̄) P_i f_b ≈ g_b + Σ_a C[a, b] u_ia.

Weights are w = (1 − |x_i − c|²/R²) · gap²; subspaces turned by more than 45° or so from the mean, mostly those of
points between two pieces, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray

# Root of the summed squared sines of the angles to the mean, above which a subspace is left out.
_TURNED = 0.7
# Fraction of the points that must be left, and points for every coefficient of the fit.
_LEFT, _PER_COEFFICIENT = 0.4, 4
# Least eigenvalue of the second moments of (1, u/R): below, the points lie on a line.
_THIN = 0.02


@dataclass(frozen=True, slots=True)
class Turns:
    """Fits at m places.

    Attributes
    ----------
    places : [m]
        Which points.
    frames : [m, d, k]
        Mean subspaces.
    brackets : [m, k, k, d]
        C[a, b] − C[b, a].
    """

    places: IntArray
    frames: FloatArray
    brackets: FloatArray


def fit_turns(points: FloatArray, vectors: FloatArray, gaps: FloatArray, places: IntArray, radius: float) -> Turns:
    """Fit the subspaces ``vectors`` [n, d, k] of ``points`` [n, d] around ``places`` [m]; those without a fit are left
    out."""
    near = cKDTree(points).query_ball_point(points[places], radius, return_sorted=True)
    found = []
    for place, members in zip(places, near, strict=True):
        offsets = points[members] - points[place]
        weights = (1.0 - np.einsum("nd,nd->n", offsets, offsets) / radius**2).clip(0.0) * gaps[members] ** 2
        fit = _fit(offsets / radius, vectors[members], weights)
        if fit is not None:
            found.append((place, *fit))
    if not found:
        dim, rank = vectors.shape[1:]
        return Turns(np.empty(0, np.int64), np.empty((0, dim, rank)), np.empty((0, rank, rank, dim)))
    rows, frames, brackets = zip(*found, strict=True)
    return Turns(np.array(rows, np.int64), np.stack(frames), np.stack(brackets) / radius)


def _fit(offsets: FloatArray, vectors: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Mean subspace [d, k] and brackets [k, k, d]; None where the points or their directions are too few."""
    rank = vectors.shape[2]
    fewest = max(_PER_COEFFICIENT * (rank + 1), _LEFT * len(offsets))
    kept = weights
    for _ in range(3):
        if np.count_nonzero(kept) < fewest:
            return None
        frame = _mean_subspace(vectors, kept)
        within = np.einsum("ndk,da->nka", vectors, frame)
        before = kept
        kept = np.where(rank - np.einsum("nka,nka->n", within, within) < _TURNED**2, weights, 0.0)
        if np.array_equal(kept, before):
            break
    if np.count_nonzero(kept) < fewest:
        return None
    projected = vectors @ within
    slopes = projected - frame @ np.einsum("dk,nda->nka", frame, projected)
    design = np.column_stack([np.ones(len(offsets)), offsets @ frame])
    weighted = design * (kept / kept.sum())[:, None]
    moments = weighted.T @ design
    if np.linalg.eigvalsh(moments)[0] < _THIN:
        return None
    solved = np.linalg.solve(moments, weighted.T @ slopes.reshape(len(slopes), -1))
    derivatives = solved[1:].reshape(rank, -1, rank).transpose(0, 2, 1)
    return frame, derivatives - np.swapaxes(derivatives, 0, 1)


def _mean_subspace(vectors: FloatArray, weights: FloatArray) -> FloatArray:
    """The k directions [d, k] that the subspaces have most in common, from the smaller of two Gram matrices."""
    columns = (vectors * np.sqrt(weights)[:, None, None]).transpose(1, 0, 2).reshape(vectors.shape[1], -1)
    return np.asarray(np.linalg.eigh(columns @ columns.T)[1][:, -vectors.shape[2] :])
