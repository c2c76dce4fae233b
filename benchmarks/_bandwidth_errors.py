"""Errors of the ridge, the subspaces and the geodesics at a bandwidth, with the truth known; and the best bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import subbundle as sb
from benchmarks._truths import Shape
from subbundle._types import FloatArray, Status

QUERIES, GEODESICS = 400, 48
RATIO = 2.0**0.25
MOST = 24


@dataclass(frozen=True, slots=True)
class Truth:
    """Observations [n, d] of a shape, the clean points they came from, and where geodesics are to start.

    ``rows`` [m] are observations and ``steps`` [m, k] directions of their parameters whose true geodesics stay away
    from the border.
    """

    shape: Shape
    points: FloatArray
    clean: FloatArray
    rows: np.ndarray
    steps: FloatArray


def observe(shape: Shape, n: int, noise: float, seed: int) -> Truth:
    """``n`` observations with ``noise`` relative to the size of the shape in every coordinate."""
    rng = np.random.default_rng([seed, n, int(1e6 * noise)])
    clean = shape.draw(n, rng)
    points = clean + noise * shape.size * rng.standard_normal(clean.shape)
    return Truth(shape, points, clean, *_starts(shape, clean[:500]))


def ridge_error(truth: Truth, bandwidth: float) -> float:
    """Mean distance from the shape of observations carried onto the ridge; infinite where a tenth has none."""
    bundle = _bundle(truth, bandwidth)
    if bundle is None:
        return np.inf
    ridge = sb.ridge_project(bundle, truth.points[:QUERIES])
    arrived = (ridge.status == Status.OK) | (ridge.status == Status.NOT_CONVERGED)
    if arrived.mean() < 0.9:
        return np.inf
    points, shape = ridge.points[arrived], truth.shape
    return float(np.linalg.norm(points - shape.at(shape.nearest(points)), axis=1).mean())


def tangent_error(truth: Truth, bandwidth: float) -> float:
    """Mean of the largest angle between the subspaces and the tangent spaces at clean points; a right one if none."""
    bundle = _bundle(truth, bandwidth)
    if bundle is None:
        return np.inf
    clean = np.ascontiguousarray(truth.clean[:QUERIES])
    frame = bundle.frame(clean)
    known = frame.status == Status.OK
    basis = np.linalg.qr(truth.shape.tangents(truth.shape.nearest(clean[known])))[0]
    vectors = frame.vectors[known]
    off = vectors - np.einsum("ndi,nei,nek->ndk", basis, basis, vectors)
    angles = np.full(len(clean), 0.5 * np.pi)
    angles[known] = np.arcsin(np.minimum(np.linalg.norm(off, ord=2, axis=(1, 2)), 1.0))
    return float(angles.mean())


def geodesic_error(truth: Truth, bandwidth: float) -> float:
    """Mean distance between the ends of learned and true geodesics from the same points in the same directions.

    Observations are carried onto the ridge; the true geodesic starts from the nearest point of the shape. A learned
    one that ends early counts by where it ended.
    """
    bundle = _bundle(truth, bandwidth)
    if bundle is None:
        return np.inf
    shape = truth.shape
    ridge = sb.ridge_project(bundle, truth.points[truth.rows])
    start = shape.nearest(ridge.points)
    directions = _unit(np.einsum("ndk,nk->nd", shape.tangents(start), truth.steps))
    frame = bundle.frame(ridge.points)
    covectors = np.einsum("ndk,nek,ne->nd", frame.vectors, frame.vectors, directions)
    bad = ~np.isfinite(covectors).all(axis=1)
    covectors[bad] = directions[bad]
    found = sb.geodesic(bundle, ridge.points, covectors, length=shape.reach, n_points=2, tol=1e-4)
    ends = shape.at(shape.follow(start, _velocities(shape, start, shape.reach * directions)))
    return float(np.linalg.norm(found.end_points - ends, axis=1).mean())


def best(error: Callable[[float], float], around: float) -> tuple[float, float, dict[float, float]]:
    """Best bandwidth, its error and all that were tried: the ladder grows until its least error is well inside."""
    errors = {rung: error(around * RATIO**rung) for rung in range(-3, 4)}
    while len(errors) < MOST:
        least = min(errors, key=lambda rung: errors[rung])
        if least < min(errors) + 3 and np.isfinite(errors[min(errors)]):
            new = min(errors) - 1
        elif least > max(errors) - 3 and np.isfinite(errors[max(errors)]):
            new = max(errors) + 1
        else:
            break
        errors[new] = error(around * RATIO**new)
    least = min(errors, key=lambda rung: errors[rung])
    return around * RATIO**least, errors[least], {around * RATIO**rung: errors[rung] for rung in sorted(errors)}


def _bundle(truth: Truth, bandwidth: float) -> sb.PrincipalSubbundle | None:
    try:
        return sb.PrincipalSubbundle(truth.points, truth.shape.rank, bandwidth)
    except ValueError:
        return None


def _starts(shape: Shape, clean: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Rows of ``clean`` [n, d], and directions [m, k] from there that stay away from the border for the reach."""
    rng = np.random.default_rng(0)
    start = shape.nearest(clean)
    steps = rng.standard_normal((len(start), shape.rank))
    directions = _unit(np.einsum("ndk,nk->nd", shape.tangents(start), steps))
    margin, kept = 0.04 * shape.size, np.ones(len(start), dtype=bool)
    for part in (0.0, 0.33, 0.67, 1.0):
        reached = shape.follow(start, _velocities(shape, start, max(part, 1e-9) * shape.reach * directions))
        kept &= shape.inside(reached, margin)
    rows = np.flatnonzero(kept)[:GEODESICS]
    return rows, steps[rows]


def _velocities(shape: Shape, start: FloatArray, vectors: FloatArray) -> FloatArray:
    """``vectors`` [n, d] tangent to the shape as velocities of its parameters; a sphere's are the vectors."""
    if start.shape[1] == vectors.shape[1]:
        return vectors
    return np.asarray(np.einsum("nkd,nd->nk", np.linalg.pinv(shape.tangents(start)), vectors))


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
