"""Is there a submanifold at all? The part of the brackets of the bundle's fields that leaves the bundle.

A bundle is tangent to submanifolds, one through every point, if and only if the bracket of any two of its fields lies
in it again (Frobenius). With an orthonormal frame e_1..e_k at p, its normal part is

    B[a, b] = (I − P)[e_a, e_b] = C[a, b] − C[b, a],        C[a, b] = (I − P) DP[e_a] e_b,

whatever the fields are elsewhere: C is the second fundamental form where there is a submanifold, which is symmetric.
From data B comes with errors of any direction, and the mean of its square would only measure these. So C is taken from
linear fits to the subspaces around many places (`_planes`), out to a radius R, and places are compared in pairs that
share no data: with O = FᵀG between the mean subspaces F, G at p and q,

    ⟨B_p, B_q⟩ = Σ_{a<b} Σ_{c,e} O[a,c] O[b,e] B_p[a,b] · B_q[c,e],        J² = (R/2)² mean over 2R < |p − q| < 5R.

Errors have no sign that lasts from place to place and cancel; so do the tilts of fragments at random heights, parallel
or along one bent surface. J is the angle by which the subspaces fail to close up over R/2 each way: nil for surfaces,
R|c|/2 for the planes of the Heisenberg group with [X, Y] = c ∂z. Twice its standard error, from leaving out one of
sixteen blocks of space at a time, is taken off J².

Planes show only at scales where the pieces of curves or sheets that the cloud is made of are wider than it is thick, so
the bundle should be narrow: that of the largest average gap does well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._numbers import NOTICEABLE
from subbundle._types import FloatArray, IntArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.cloud import Cloud
from subbundle.diagnostics._planes import Turns, fit_turns
from subbundle.selection.components import components_above_noise
from subbundle.selection.gap import mean_gaps

# Points within R of a place, or the part of all that small samples can give; R is at least so many bandwidths.
_MEMBERS, _MOST_OF_ALL, _BANDWIDTHS = 80, 0.125, 1.5
# Places at which brackets are taken, pairs of them that are compared at least and at most, and blocks of space that are
# left out in turn for the standard error; products beyond a quantile are those of single bad fits.
_PLACES, _LEAST_PAIRS, _MOST_PAIRS, _BLOCKS, _CLIP = 300, 50, 20_000, 16, 0.98
# Pairs share no data beyond 2R, and are of one neighbourhood up to 5R.
_APART, _TOGETHER = 2.0, 5.0
# Observations of a cloud that are looked at, and dimensions up to which it is taken as it is.
_SAMPLE, _FEW_DIMENSIONS = 2000, 4
# Scales that are looked at: gaps of clouds with a shape have one or two peaks.
_PEAKS = 3
# Mean gap that the subspaces of pure noise have (0.1 to 0.3): where it is no larger they do not turn, they are random.
_FAINT = 0.3
# Steps onto the ridge: most points take three, and those of a cloud without one do not arrive in twenty either.
_STEPS = 6


@dataclass(frozen=True, slots=True)
class Twist:
    """What the brackets of a bundle say.

    Attributes
    ----------
    angle : float
        √max(J² − 2 standard errors, 0), radians; NaN where too few places can be compared.
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


def cloud_twist(cloud: Cloud, rank: int, ladder: FloatArray, gaps: FloatArray, n_jobs: int | None = None) -> Twist:
    """The `twist` of a cloud where its subspaces are most distinct: at the peaks of the mean ``gaps`` [m] over the
    ``ladder`` [m], the largest of them.

    Above four dimensions in the components above the noise, where both are found again.
    """
    if cloud.dim > _FEW_DIMENSIONS:
        observations = cloud.at(np.arange(cloud.n_points))
        components = components_above_noise(observations, at_least=rank + 1)
        if components.axes.shape[1] < cloud.dim:
            cloud = Cloud(components.enter(observations))
            ladder, gaps = mean_gaps(cloud, rank, n_jobs)
    found = [_at_scale(cloud, rank, float(ladder[rung]), n_jobs) for rung in _peaks(gaps)]
    known = [one for one in found if np.isfinite(one.angle)]
    return max(known, key=lambda one: one.angle) if known else _UNKNOWN


def _peaks(gaps: FloatArray) -> IntArray:
    """Rungs with a larger gap than both neighbours, the three most distinct; not those with half of the largest or
    less, nor with no more than noise has."""
    filled = np.concatenate([[-np.inf], np.nan_to_num(gaps, nan=-np.inf), [-np.inf]])
    middle = filled[1:-1]
    peaked = (middle > filled[:-2]) & (middle >= filled[2:]) & (middle > max(0.5 * filled.max(), _FAINT))
    found = np.flatnonzero(peaked)
    return found[np.argsort(-middle[found], kind="stable")[:_PEAKS]]


def _at_scale(cloud: Cloud, rank: int, bandwidth: float, n_jobs: int | None) -> Twist:
    try:
        bundle = PrincipalSubbundle(cloud, rank, bandwidth, n_jobs=n_jobs)
    except ValueError:
        return _UNKNOWN
    ridge = ridge_project(bundle, cloud.at(cloud.sample(_SAMPLE)) + cloud.centre, max_steps=_STEPS)
    arrived = (ridge.status == Status.OK) | (ridge.status == Status.NOT_CONVERGED)
    return twist(bundle, ridge.points[arrived])


def twist(bundle: PrincipalSubbundle, points: FloatArray) -> Twist:
    """How the subspaces of ``bundle`` fail to close up around ``points`` [n, d], best on its ridge; nil for rank 1."""
    if bundle.rank == 1:
        return Twist(0.0, 0.0, 0.0, float("nan"))
    frame = bundle.frame(points)
    leading = frame.eigenvalues[:, : bundle.rank]
    # A plane that hangs on one observation at the end of the window says nothing.
    here = (frame.status == Status.OK) & (leading[:, -1] > NOTICEABLE * leading[:, 0])
    members = min(_MEMBERS, int(_MOST_OF_ALL * here.sum()))
    if members <= 4 * (bundle.rank + 1):
        return _UNKNOWN
    known = np.ascontiguousarray(points[here])
    radius = float(np.median(cKDTree(known).query(known[::5], k=members)[0][:, -1]))
    radius = max(radius, _BANDWIDTHS * bundle.bandwidth)
    places = np.arange(0, len(known), max(len(known) // _PLACES, 1))
    turns = fit_turns(known, frame.vectors[here], frame.gap[here], places, radius)
    return _compared(known[turns.places], turns, radius)


def _compared(centres: FloatArray, turns: Turns, radius: float) -> Twist:
    """J² and its error from the ``turns`` at ``centres`` [m, d]."""
    if len(centres) < _BLOCKS:
        return _UNKNOWN
    pairs = cKDTree(centres).query_pairs(_TOGETHER * radius, output_type="ndarray")
    pairs = pairs[np.lexsort(pairs.T)]
    apart = np.linalg.norm(centres[pairs[:, 0]] - centres[pairs[:, 1]], axis=1) > _APART * radius
    pairs = pairs[apart]
    if len(pairs) < _LEAST_PAIRS:
        return _UNKNOWN
    pairs = pairs[:: -(-len(pairs) // _MOST_PAIRS)]
    products = _products(turns, pairs) * (0.5 * radius) ** 2
    bound = np.quantile(np.abs(products), _CLIP)
    products = products.clip(-bound, bound)
    squared = float(products.mean())
    blocks = _blocks(centres)
    touched = [np.any(blocks[pairs] == block, axis=1) for block in range(_BLOCKS)]
    without = np.array([products[~hit].mean() for hit in touched if not hit.all()])
    if len(without) < 2:
        return _UNKNOWN
    error = float(np.sqrt((len(without) - 1.0) * without.var()))
    return Twist(float(np.sqrt(max(squared - 2.0 * error, 0.0))), squared, error, radius)


def _products(turns: Turns, pairs: IntArray) -> FloatArray:
    """⟨B_p, B_q⟩ of every pair [p, 2]."""
    p, q = pairs[:, 0], pairs[:, 1]
    between = np.einsum("pda,pdc->pac", turns.frames[p], turns.frames[q])
    carried = np.einsum("pac,pbe,pced->pabd", between, between, turns.brackets[q], optimize=True)
    # Every pair a < b is met twice.
    return np.asarray(0.5 * np.einsum("pabd,pabd->p", turns.brackets[p], carried))


def _blocks(centres: FloatArray) -> IntArray:
    """Labels [m] of sixteen blocks, each the half of a larger one across its longest side."""
    groups = [np.arange(len(centres))]
    while len(groups) < _BLOCKS:
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
