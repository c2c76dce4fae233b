"""Distances among many points, interpolated between the geodesics of landmarks.

The distance to y is a smooth function f of its other end, away from y and from the cut locus of y. A fan from the
landmark l_i gives f(l_i) and its derivative: −u_i, where u_i is the direction in which the geodesic to y leaves. Along
the geodesic from l_i to x, with v_i = log_{l_i}(x) and w_i = log_x(l_i),

    f(l_i) − ½ ⟨u_i, v_i⟩ = f(x) + ½ ⟨∇f(x), w_i⟩ + O(|v_i|³ f‴),

so that weights with Σ λ_i = 1 and Σ λ_i w_i = 0 leave an error of third order:

    f(x) ≈ Σ λ_i ( f(l_i) − ½ ⟨u_i, v_i⟩ ).

Where the geodesics of the landmarks around x leave in different directions, y lies on their cut locus and f is the
smallest of several smooth functions; close to y it is not smooth either. There each landmark is asked alone, by the law
of cosines

    f(x) ≈ √( f(l_i)² − 2 f(l_i) ⟨u_i, v_i⟩ + |v_i|² ).

On the cut locus the smallest answer counts, close to y that of the landmark from which both are seen nearest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray
from subbundle.bundles.base import HasLandmarks, LearnedSubbundle, Subbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.bundles.surroundings import FLAT, surroundings_of
from subbundle.geodesics._fans import fan_distances
from subbundle.geodesics._lengths import joined

# Landmarks: on a noisy sphere errors fell by a tenth from 128 to 160, where 2000 points take 10 s (`all_pairs`).
_LANDMARKS = 160

# Landmarks around a point whose geodesics are blended: more than twice as many as a linear function in the plane needs.
_AROUND = 8
# Largest |v|/f at which f is taken as smooth: there the remainder |v|³ |f‴| / 12, with |f‴| ≤ 1.2 / f² in the plane, is
# below 0.4 % of f for each landmark, and of either sign.
_SMOOTH = 1.0 / 3.0
# Cosine of the largest angle between directions that count as the same way.
_SAME_WAY = 0.8


@dataclass(frozen=True, slots=True)
class Fans:
    """What the fans of landmarks [a, dim] see of points [n, dim], of rank 2 in R^dim.

    Attributes
    ----------
    landmarks : [a, dim]
    lengths : [a, n]
        NaN where no geodesic comes near.
    directions : [a, n, 2]
        u in the frame at the landmark.
    outward : [a, n, dim]
        u as a vector.
    """

    landmarks: FloatArray
    lengths: FloatArray
    directions: FloatArray
    outward: FloatArray


def has_landmark_fans(bundle: Subbundle, n_points: int) -> bool:
    """Whether distances from ``n_points`` points are interpolated: there are more of them than landmarks."""
    learned = isinstance(bundle, LearnedSubbundle) and isinstance(bundle, HasLandmarks)
    return learned and bundle.rank == 2 and surroundings_of(bundle) is FLAT and n_points > _LANDMARKS


def landmark_distances(
    bundle: Subbundle, points: FloatArray, others: FloatArray | None, tol: float, *, count: int = _LANDMARKS
) -> tuple[FloatArray, FloatArray]:
    """Distances [n, m] along the ridge, interpolated between landmarks, and the shortest detours [n, m] through these.

    Without ``others`` symmetric: the mean of the interpolations at either end.
    """
    assert isinstance(bundle, HasLandmarks)
    ridge = ridge_project(bundle, bundle.landmarks(count)).points
    landmarks = ridge[np.isfinite(ridge).all(axis=1)]
    seen = fans_of(bundle, landmarks, points, tol)
    to = seen if others is None else fans_of(bundle, landmarks, others, tol)
    matrix, through = interpolated(bundle, points, seen, to), through_landmarks(seen, to)
    if others is None:
        matrix = mean_of_both(matrix)
        np.fill_diagonal(matrix, 0.0)
    return matrix, through


def mean_of_both(matrix: FloatArray) -> FloatArray:
    """Mean of both directions; where one is missing, the other."""
    one_way = np.where(np.isnan(matrix), matrix.T, matrix)
    return np.asarray(0.5 * (one_way + one_way.T))


def fans_of(bundle: Subbundle, landmarks: FloatArray, points: FloatArray, tol: float) -> Fans:
    """What the fans of ``landmarks`` [a, dim] on the ridge see of ``points`` in the same connected component."""
    found = fan_distances(bundle, landmarks, points, ~joined(bundle, landmarks, points, every=True), tol)
    directions = np.stack([np.cos(found.angles), np.sin(found.angles)], axis=-1)
    outward = np.einsum("adk,ank->and", bundle.frame(landmarks).vectors, directions)
    return Fans(landmarks, found.lengths, directions, outward)


def interpolated(bundle: Subbundle, points: FloatArray, seen: Fans, to: Fans) -> FloatArray:
    """Distances [n, m] from ``points`` [n, dim], which the fans have ``seen``, ``to`` what the same fans see."""
    frames = bundle.frame(points).vectors
    result = np.full((len(points), to.lengths.shape[1]), np.nan)
    for row, (x, frame) in enumerate(zip(points, frames, strict=True)):
        reach = np.where(np.isnan(seen.lengths[:, row]), np.inf, seen.lengths[:, row])
        near = np.argsort(reach, kind="stable")[:_AROUND]
        near = near[np.isfinite(reach[near])]
        if near.size and np.isfinite(frame).all():
            v = reach[near, None] * seen.directions[near, row]
            chords = (seen.landmarks[near] - x) @ frame
            result[row] = _from_point(frame, v, chords, to.lengths[near], to.directions[near], to.outward[near])
    return result


def _from_point(
    frame: FloatArray, v: FloatArray, chords: FloatArray, f: FloatArray, u: FloatArray, outward: FloatArray
) -> FloatArray:
    """f(x) [m] from landmarks with v [a, 2], chords from x in its ``frame`` [a, 2], f [a, m], u [a, m, 2], vectors."""
    away = np.linalg.norm(v, axis=1)
    along = np.einsum("amk,ak->am", u, v)
    blend = _weights(chords, away) @ (f - 0.5 * along)
    alone = np.sqrt(np.maximum(f * f - 2.0 * f * along + (away * away)[:, None], 0.0))
    known = np.isfinite(f)
    far = _SMOOTH * np.where(known, f, np.inf).min(axis=0) > away.max()
    flat = np.einsum("amd,dk->amk", outward, frame)
    flat /= np.maximum(np.linalg.norm(flat, axis=2, keepdims=True), 1e-300)
    same = np.einsum("amk,mk->am", flat, flat[0]).min(axis=0) > _SAME_WAY
    nearest = np.argmin(np.where(known, f + away[:, None], np.inf), axis=0)
    one = np.where(far, np.where(known, alone, np.inf).min(axis=0), np.take_along_axis(alone, nearest[None], axis=0)[0])
    value = np.where(known.all(axis=0) & far & same, blend, one)
    return np.where(np.isfinite(value), value, np.nan)


def _weights(chords: FloatArray, away: FloatArray) -> FloatArray:
    """λ [a] with Σ λ = 1 and Σ λ w = 0: those of local linear regression, w having the direction of the chords.

    Chord and geodesic leave x in directions that differ by a sixth of |w|² times curvature and torsion: less than the
    error of third order.
    """
    size = np.linalg.norm(chords, axis=1)
    scale = max(float(away.max()), 1e-300)
    w = chords * (away / np.maximum(size, 1e-300))[:, None] / scale
    # Without a jump where a landmark is no longer among the nearest there would be no weight at the last one.
    omega = (1.0 - 0.8 * (away / scale) ** 2) ** 2
    basis = np.column_stack([np.ones(len(w)), w])
    solved: FloatArray = np.linalg.lstsq((basis * omega[:, None]).T @ basis, np.eye(3)[0], rcond=1e-6)[0]
    return np.asarray(omega * (basis @ solved))


def through_landmarks(seen: Fans, to: Fans) -> FloatArray:
    """Shortest way [n, m] by two geodesics end to end at a landmark; infinite where there is none."""
    there, back = (np.where(np.isnan(fans.lengths), np.inf, fans.lengths) for fans in (seen, to))
    return np.stack([np.min(column[:, None] + back, axis=0, initial=np.inf) for column in there.T])
