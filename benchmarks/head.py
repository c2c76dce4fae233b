"""Algorithm 1 on a head of 100000 points, as in the paper: ours against the paper's recipe.

The recipe would take hours for all 2500 geodesics. It is timed on a few of them for a few steps and scaled up; a few
run to the end, for their accuracy. Ours runs in full.

The base point is a gently curved place, found the same way each time: of every 200th observation, the one with the
flattest surroundings at three bandwidths (least λ₃ / Σλ), carried onto the ridge. All start there with the same
covectors.
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
# Kernel and tolerance of ours; None is the default.
SETTINGS = {
    "gaussian": ("gaussian", None),
    "gaussian, tol=1e-4": ("gaussian", 1e-4),
    "compact": ("compact", None),
}
# The recipe is timed with this many geodesics at a time, and the number that suits it best counts.
TIMED_STEPS, TIMED_BATCHES = 10, (1, 8)
FOLLOWED = 8
ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Mean and largest distance to the surface, largest distance to the exact geodesic, largest |H(t)/H(0) − 1|."""

    mean: float
    largest: float
    off: float
    drift: float


def base_point(points: np.ndarray, bundle: sb.PrincipalSubbundle) -> np.ndarray:
    coarse = sb.PrincipalSubbundle(bundle.cloud, 2, 3 * BANDWIDTH)
    candidates = points[::200]
    values = coarse.frame(candidates).eigenvalues
    flattest = candidates[np.argmin(values[:, 2] / values.sum(axis=1))]
    carried = sb.carry_to_ridge(bundle, flattest)
    assert carried.status == sb.Status.OK, carried.status
    return carried.points


def accuracy(surface: Surface, bundle: sb.PrincipalSubbundle, points: np.ndarray, covectors: np.ndarray) -> Accuracy:
    """Judge geodesics [batch, n_times, 3] that start with equal steps of length `STEP` between their points."""
    distance = surface.distance(points.reshape(-1, 3))
    exact = sb.geodesic(bundle, points[0, 0], covectors[:, 0], times=STEP * np.arange(points.shape[1]), tol=1e-10)
    off = np.linalg.norm(points - exact.points, axis=2).max()
    velocity = bundle.field(points.reshape(-1, 3), covectors.reshape(-1, 3)).velocity
    energy = np.sum(velocity**2, axis=1).reshape(points.shape[:2])
    drift = np.abs(energy / energy[:, :1] - 1.0).max()
    return Accuracy(float(distance.mean()), float(distance.max()), float(off), float(drift))


def run() -> Result:
    surface = noisy_surface(N_POINTS, NOISE)
    bundles = {"gaussian": sb.PrincipalSubbundle(surface.points, 2, BANDWIDTH)}
    bundles["compact"] = sb.PrincipalSubbundle(bundles["gaussian"].cloud, 2, BANDWIDTH, kernel="compact")
    base = base_point(surface.points, bundles["gaussian"])
    recipe = euler_geodesics(surface.points, 2, BANDWIDTH, STEP)
    times = STEP * np.arange(N_STEPS + 1)
    frame = bundles["gaussian"].frame(base[None]).vectors[0]
    covectors = sb.manifolds.directions(2, FOLLOWED) @ frame.T

    ours = {
        name: partial(sb.submanifold, bundles[kernel], base, RADIUS, n_geodesics=N_GEODESICS, step=STEP, tol=tol)
        for name, (kernel, tol) in SETTINGS.items()
    }
    theirs = {n: partial(recipe, base, covectors[:n], TIMED_STEPS) for n in TIMED_BATCHES}
    turns = take_turns(ours | {str(n): work for n, work in theirs.items()}, rounds=ROUNDS)
    scale = {n: N_GEODESICS * N_STEPS / (n * TIMED_STEPS) for n in TIMED_BATCHES}
    best = min(TIMED_BATCHES, key=lambda n: turns.seconds(str(n)) * scale[n])

    walked = accuracy(surface, bundles["gaussian"], *recipe(base, covectors, N_STEPS))
    rows = [["the paper's recipe", *_seconds(turns, str(best), scale[best]), 1.0, *_cells(walked)]]
    bars = []
    for name, (kernel, tol) in SETTINGS.items():
        ratio = turns.ratio(str(best), name) * scale[best]
        curves = sb.geodesic(bundles[kernel], base, covectors, times=times, tol=tol)
        found = accuracy(surface, bundles[kernel], curves.points, curves.covectors)
        rows.append([f"ours, {name}", *_seconds(turns, name), ratio, *_cells(found)])
        bars += [
            Bar(f"{name}: times faster than the recipe", ratio, 1000.0, at_least=True),
            Bar(f"{name}: mean distance to the surface, ours / the recipe's", found.mean / walked.mean, 1.0),
        ]
    patch = ours["gaussian"]()
    everywhere = surface.distance(patch.points[patch.valid][:: len(patch.points) // 20_000])
    columns = [
        "", "seconds", "of processor time", "times faster", "mean distance", "largest", "off the exact geodesic",
        "drift of H",
    ]  # fmt: skip
    return Result(
        title=f"Algorithm 1 on a head: {N_POINTS} points, {N_GEODESICS} geodesics of length {RADIUS:g}, every {STEP:g}",
        method=(
            f"Surface: {surface.name}, size 1, noise {NOISE:g}, bandwidth {BANDWIDTH:g}. The recipe's time is that of "
            f"{TIMED_STEPS} steps of {best} geodesics at a time, times {scale[best]:.0f}; compiling is not counted. "
            f"Distances to the true surface, errors and drift are over the {FOLLOWED} geodesics that the recipe "
            "followed to the end, all from the same base point and covectors; exact means tolerance 1e-10. All our "
            f"points with the Gaussian ({patch.valid.sum()} of {len(patch.points)} valid) lie at a mean distance of "
            f"{everywhere.mean():.4f}; geodesics: {count_statuses(patch.status)}, "
            f"{patch.geodesics.n_evaluations.mean():.0f} evaluations each."
        ),
        tables=[Table(columns, rows)],
        bars=bars,
    )


def _seconds(turns: Timings, name: str, scale: float = 1.0) -> list[float]:
    return [scale * turns.seconds(name), scale * turns.seconds(name, processor=True)]


def _cells(found: Accuracy) -> list[float]:
    return [found.mean, found.largest, found.off, found.drift]
