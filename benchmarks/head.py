"""Algorithm 1 on a head of 100000 points, as in the paper: ours against the paper's recipe.

The recipe would take hours for all 2500 geodesics. It is timed on a few of them for a few steps and extrapolated; a few
are integrated in full, for their accuracy. Ours runs in full.

The base point is at low curvature: of every 200th observation, the one with the least λ₃ / Σλ at three bandwidths. Ours
projects it onto the ridge. The paper takes the kernel-weighted mean around the observation; the recipe starts from
there, and once more from our base point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

import subbundle as sb
from benchmarks._report import Bar, Result, Table
from benchmarks._surface import Surface, noisy_surface
from benchmarks._timing import Timings, take_turns
from benchmarks.paper_recipe import euler_geodesics
from subbundle._types import count_statuses

N_POINTS, NOISE, BANDWIDTH = 100_000, 0.005, 0.03
N_GEODESICS, RADIUS, STEP = 2_500, 0.3, 0.001
N_STEPS = round(RADIUS / STEP)
KERNELS = ("compact", "gaussian")
# The recipe is timed with this many geodesics at a time, and the number that suits it best counts.
TIMED_STEPS, TIMED_BATCHES = 10, (1, 8)
FOLLOWED = 8
ROUNDS = 2
COLUMNS = [
    "", "seconds", "of processor time", "times faster", "mean distance", "largest", "off the exact geodesic",
    "drift of H",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Mean and largest distance to the surface, largest distance to the exact geodesic, largest |H(t)/H(0) − 1|."""

    mean: float
    largest: float
    off: float
    drift: float


def flattest_observation(points: np.ndarray, bundle: sb.PrincipalSubbundle) -> np.ndarray:
    candidates = points[::200]
    values = sb.PrincipalSubbundle(bundle.cloud, 2, 3 * BANDWIDTH).frame(candidates).eigenvalues
    return candidates[np.argmin(values[:, 2] / values.sum(axis=1))]


def start(bundle: sb.PrincipalSubbundle, base: np.ndarray, covectors: np.ndarray) -> np.ndarray:
    """``covectors`` [batch, 3] brought into the subspace at ``base``, at unit speed."""
    velocity = bundle.field(np.broadcast_to(base, covectors.shape), covectors).velocity
    return velocity / np.linalg.norm(velocity, axis=1, keepdims=True)


def accuracy(surface: Surface, bundle: sb.PrincipalSubbundle, points: np.ndarray, covectors: np.ndarray) -> Accuracy:
    """Judge geodesics [batch, n_times, 3] with steps of length `STEP`, up to where they ended if they did early."""
    flat = points.reshape(-1, 3)
    distance = surface.distance(flat[np.isfinite(flat).all(axis=1)])
    exact = sb.geodesic(bundle, points[0, 0], covectors[:, 0], times=STEP * np.arange(points.shape[1]), tol=1e-10)
    off = np.nanmax(np.linalg.norm(points - exact.points, axis=2))
    velocity = bundle.field(flat, covectors.reshape(-1, 3)).velocity
    energy = np.sum(velocity**2, axis=1).reshape(points.shape[:2])
    drift = np.nanmax(np.abs(energy / energy[:, :1] - 1.0))
    return Accuracy(float(distance.mean()), float(distance.max()), float(off), float(drift))


def run() -> Result:
    surface = noisy_surface(N_POINTS, NOISE)
    cloud = sb.Cloud(surface.points)
    bundles = {kernel: sb.PrincipalSubbundle(cloud, 2, BANDWIDTH, kernel=kernel) for kernel in KERNELS}
    gaussian = bundles["gaussian"]
    observation = flattest_observation(surface.points, gaussian)
    base, mean = sb.carry_to_ridge(gaussian, observation).points, gaussian.frame(observation[None]).mean[0]
    covectors = sb.geodesics.directions(2, FOLLOWED) @ gaussian.frame(base[None]).vectors[0].T
    recipe = euler_geodesics(surface.points, 2, BANDWIDTH, STEP)

    ours = {
        kernel: partial(sb.submanifold, bundle, base, RADIUS, n_geodesics=N_GEODESICS, step=STEP)
        for kernel, bundle in bundles.items()
    }
    theirs = {n: partial(recipe, base, covectors[:n], TIMED_STEPS) for n in TIMED_BATCHES}
    turns = take_turns(ours | {str(n): work for n, work in theirs.items()}, rounds=ROUNDS)
    scale = {n: N_GEODESICS * N_STEPS / (n * TIMED_STEPS) for n in TIMED_BATCHES}
    best = min(TIMED_BATCHES, key=lambda n: turns.seconds(str(n)) * scale[n])

    rows, bars, walked = [], [], {}
    for where, point in (("its own", mean), ("our", base)):
        path = recipe(point, start(gaussian, point, covectors), N_STEPS)
        walked[where] = accuracy(surface, gaussian, *path)
        label = f"the paper's recipe, {where} base point"
        rows.append([label, *_seconds(turns, str(best), scale[best]), 1.0, *_cells(walked[where])])
    patches = {kernel: work() for kernel, work in ours.items()}
    for kernel, patch in patches.items():
        ratio = turns.ratio(str(best), kernel) * scale[best]
        curves = patch.geodesics
        chosen = np.argmax(covectors @ curves.covectors[:, 0].T, axis=1)
        found = accuracy(surface, bundles[kernel], curves.points[chosen], curves.covectors[chosen])
        rows.append([f"ours, {kernel} kernel", *_seconds(turns, kernel), ratio, *_cells(found)])
        if kernel == KERNELS[0]:  # the default
            bars.append(Bar(f"{kernel} kernel: times faster than the recipe", ratio, 1500.0, at_least=True))
        for where, theirs_found in walked.items():
            label = f"{kernel} kernel: mean distance to the surface / the recipe's from {where} base point"
            bars.append(Bar(label, found.mean / theirs_found.mean, 1.0))
    return Result(
        title=f"Algorithm 1 on a head: {N_POINTS} points, {N_GEODESICS} geodesics of length {RADIUS:g}, every {STEP:g}",
        method=(
            f"Surface: {surface.name}, size 1, noise {NOISE:g}, bandwidth {BANDWIDTH:g}. The recipe's time is that of "
            f"{TIMED_STEPS} steps of {best} geodesics at a time, times {scale[best]:.0f}; compiling is not counted. "
            f"Distances to the true surface, errors and drift are over {FOLLOWED} geodesics in the same directions, "
            "followed to the end by all; exact means tolerance 1e-10. The recipe uses the Gaussian. "
            + _everywhere(surface, patches["gaussian"])
        ),
        tables=[Table(COLUMNS, rows)],
        bars=bars,
    )


def _everywhere(surface: Surface, patch: sb.Submanifold) -> str:
    distance = surface.distance(patch.points[patch.valid][::37])
    return (
        f"Every 37th of all our points with the Gaussian ({patch.valid.sum()} of {len(patch.points)} valid): mean "
        f"distance {distance.mean():.4f}; geodesics: {count_statuses(patch.status)}, "
        f"{patch.geodesics.n_evaluations.mean():.0f} evaluations each."
    )


def _seconds(turns: Timings, name: str, scale: float = 1.0) -> list[float]:
    return [scale * turns.seconds(name), scale * turns.seconds(name, processor=True)]


def _cells(found: Accuracy) -> list[float]:
    return [found.mean, found.largest, found.off, found.drift]
