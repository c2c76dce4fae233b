"""Integrability: the component of the Lie brackets of the bundle's fields normal to the bundle.

A bundle is tangent to submanifolds, one through every point, if and only if the bracket of any two of its fields lies
in it again (Frobenius). With an orthonormal frame e_1..e_k at p, its normal component is

    B[a, b] = (I − P)[e_a, e_b] = C[a, b] − C[b, a],        C[a, b] = (I − P) DP[e_a] e_b,

whatever the fields are elsewhere: C is the second fundamental form where there is a submanifold, which is symmetric.
Estimated from data, B has errors of any direction, and the mean of its square would only measure these. So C is
estimated by linear fits to the subspaces around many points p, within a radius R: with P_i their projectors and
f_1..f_k the leading eigenvectors of Σ w_i P_i, weighted least squares over the tangential offsets u_i = fᵀ(x_i − p)
gives

    (I − P̄) P_i f_b ≈ g_b + Σ_a C[a, b] u_ia,        w = (1 − |x_i − p|²/R²) · gap²,

subspaces at more than 45° to the mean left out, mostly those of points between two fragments. Points are compared in
pairs that share no data: with O = FᵀG between the mean subspaces F, G at p and q,

    ⟨B_p, B_q⟩ = Σ_{a<b} Σ_{c,e} O[a,c] O[b,e] B_p[a,b] · B_q[c,e],        J² = (R/2)² mean over 2R < |p − q| < 5R.

Errors are uncorrelated between points and cancel; so do the tilts of fragments at random heights, parallel or along one
curved surface. J is the angle by which horizontal loops of side R/2 fail to close: zero for surfaces, R|c|/2 for the
planes of the Heisenberg group with [X, Y] = c ∂z. Twice its standard error, from a jackknife over blocks of space, is
subtracted from J².

Planes are apparent only at scales where the fragments of curves or sheets in the cloud are wider than it is thick, so
the bandwidth should be narrow: that of the largest mean gap is suitable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._numbers import NOTICEABLE, SINGULAR
from subbundle._types import FloatArray, IntArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.cloud import Cloud
from subbundle.diagnostics.tuning import MEMBERS, TOGETHER
from subbundle.local.frames import leading_directions
from subbundle.local.neighbor_fits import coefficient_maps
from subbundle.selection.components import components_above_noise
from subbundle.selection.ladder import clipped, mean_gaps
from subbundle.selection.tuning import FAINT_GAP, PLACES, SAMPLE

# Most pairs of points that are compared, to bound the time.
_MOST_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class Twist:
    """Non-integrability of a bundle, by its brackets.

    Attributes
    ----------
    angle : float
        √max(J² − 2 standard errors, 0), radians; NaN where too few points can be compared.
    squared, error : float
        J² itself, which may be negative, and its standard error.
    radius : float
        R.
    """

    angle: float
    squared: float
    error: float
    radius: float


_UNKNOWN = Twist(float("nan"), float("nan"), float("nan"), float("nan"))


def non_integrability(bundle: PrincipalSubbundle, points: FloatArray) -> float:
    """The ``angle`` of `twist`."""
    return twist(bundle, points).angle


def cloud_twist(cloud: Cloud, rank: int, grid: FloatArray, gaps: FloatArray, n_jobs: int | None = None) -> Twist:
    """`largest_twist` in the components above the noise; where some are left out, gaps are computed again there."""
    components = components_above_noise(cloud.ordered, at_least=rank + 1)
    if components.axes.shape[1] < cloud.dim:
        cloud = Cloud(components.enter(cloud.ordered))
        grid, gaps = mean_gaps(cloud, rank, n_jobs)
    return largest_twist(cloud, rank, grid, gaps, n_jobs)


def largest_twist(cloud: Cloud, rank: int, grid: FloatArray, gaps: FloatArray, n_jobs: int | None = None) -> Twist:
    """The largest `twist` of a cloud over the scales where its subspaces are most distinct: the maxima of the mean
    ``gaps`` [m] over the ``grid`` [m]."""
    found = [_at_scale(cloud, rank, float(grid[j]), n_jobs) for j in _peaks(gaps)]
    known = [one for one in found if np.isfinite(one.angle)]
    return max(known, key=lambda one: one.angle) if known else _UNKNOWN


def _peaks(gaps: FloatArray) -> IntArray:
    """Indices of local maxima of ``gaps`` [m] that exceed half of the largest and `FAINT_GAP`."""
    filled = np.concatenate([[-np.inf], np.nan_to_num(gaps, nan=-np.inf), [-np.inf]])
    middle = filled[1:-1]
    peaked = (middle > filled[:-2]) & (middle >= filled[2:]) & (middle > max(0.5 * filled.max(), FAINT_GAP))
    return np.flatnonzero(peaked)


def _at_scale(cloud: Cloud, rank: int, bandwidth: float, n_jobs: int | None) -> Twist:
    try:
        bundle = PrincipalSubbundle(cloud, rank, bandwidth, n_jobs=n_jobs)
    except ValueError:
        return _UNKNOWN
    ridge = ridge_project(bundle, cloud.at(cloud.sample(SAMPLE)) + cloud.centre)
    return twist(bundle, ridge.points[ridge.arrived])


def twist(bundle: PrincipalSubbundle, points: FloatArray) -> Twist:
    """Non-integrability of ``bundle`` around ``points`` [n, d], preferably of its ridge; zero for rank 1."""
    if bundle.rank == 1:
        return Twist(0.0, 0.0, 0.0, float("nan"))
    frame = bundle.frame(points)
    leading = frame.eigenvalues[:, : bundle.rank]
    # A plane determined by one observation at the end of the window is chance.
    here = (frame.status == Status.OK) & (leading[:, -1] > NOTICEABLE * leading[:, 0])
    known = np.ascontiguousarray(points[here])
    if len(known) <= MEMBERS:
        return _UNKNOWN
    radius = float(np.median(cKDTree(known).query(known[::5], k=MEMBERS)[0][:, -1]))
    places = np.arange(0, len(known), max(len(known) // PLACES, 1))
    turns = fit_turns(known, frame.vectors[here], frame.gap[here], places, radius)
    return _compared(known[turns.places], turns, radius)


def _compared(centres: FloatArray, turns: Turns, radius: float) -> Twist:
    """J² and its error from the ``turns`` at ``centres`` [m, d]."""
    pairs = cKDTree(centres).query_pairs(TOGETHER * radius, output_type="ndarray") if len(centres) else np.empty((0, 2))
    pairs = pairs[np.lexsort(pairs.T)]
    # Windows of radius R share no data beyond 2R.
    pairs = pairs[np.linalg.norm(centres[pairs[:, 0]] - centres[pairs[:, 1]], axis=1) > 2.0 * radius]
    if not len(pairs):
        return _UNKNOWN
    pairs = pairs[:: -(-len(pairs) // _MOST_PAIRS)]
    # Beyond a quantile products come from single bad fits.
    products = clipped(_products(turns, pairs) * (0.5 * radius) ** 2)
    squared = float(products.mean())
    blocks = _blocks(centres)
    touched = [np.any(blocks[pairs] == block, axis=1) for block in range(blocks.max() + 1)]
    without = np.array([products[~hit].mean() for hit in touched if not hit.all()])
    if len(without) < 2:
        return _UNKNOWN
    error = float(np.sqrt((len(without) - 1.0) * without.var()))
    return Twist(float(np.sqrt(max(squared - 2.0 * error, 0.0))), squared, error, radius)


def _products(turns: Turns, pairs: IntArray) -> FloatArray:
    """⟨B_p, B_q⟩ of every pair [p, 2]."""
    p, q = pairs[:, 0], pairs[:, 1]
    between = np.einsum("pda,pdc->pac", turns.frames[p], turns.frames[q])
    turned = np.einsum("pac,pbe,pced->pabd", between, between, turns.brackets[q], optimize=True)
    # Every pair a < b is counted twice.
    return np.asarray(0.5 * np.einsum("pabd,pabd->p", turns.brackets[p], turned))


def _blocks(centres: FloatArray) -> IntArray:
    """Labels [m] of about √m blocks, a power of two, by repeated halving across the longest side."""
    groups = [np.arange(len(centres))]
    while 4 * len(groups) ** 2 <= len(centres):
        halves = []
        for group in groups:
            side = int(np.argmax(np.ptp(centres[group], axis=0)))
            ordered = group[np.argsort(centres[group, side], kind="stable")]
            halves += [ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]]
        groups = halves
    labels = np.empty(len(centres), np.int64)
    for label, group in enumerate(groups):
        labels[group] = label
    return labels


@dataclass(frozen=True, slots=True)
class Turns:
    """Fits at m points.

    Attributes
    ----------
    places : [m]
        Rows of the points.
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
    rank, kept = vectors.shape[2], weights
    for _ in range(3):
        if np.count_nonzero(kept) < 4 * (rank + 1):
            return None
        weighted = (vectors * np.sqrt(kept)[:, None, None]).transpose(0, 2, 1)
        frame = leading_directions(weighted.reshape(1, -1, vectors.shape[1]), rank)[0].T
        within = np.einsum("ndk,da->nka", vectors, frame)
        before = kept
        # The summed squared sines of the angles to the mean: beyond 45° a subspace is left out.
        kept = np.where(rank - np.einsum("nka,nka->n", within, within) < 0.5, weights, 0.0)
        if np.array_equal(kept, before):
            break
    projected = vectors @ within
    slopes = projected - frame @ np.einsum("dk,nda->nka", frame, projected)
    tau, kept = offsets @ frame, kept / kept.sum()
    if np.linalg.eigvalsh(np.cov(tau.T, aweights=kept))[0] < SINGULAR:  # all points on a line
        return None
    solved = coefficient_maps(tau[None], kept[None], 1, np.zeros(1))[0] @ slopes.reshape(len(slopes), -1)
    derivatives = solved[1:].reshape(rank, -1, rank).transpose(0, 2, 1)
    return frame, derivatives - np.swapaxes(derivatives, 0, 1)
