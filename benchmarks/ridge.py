"""Denoising by projection onto the ridge, and the blend of an atlas.

Accuracy against the bandwidth, plain and corrected for curvature, with the kernel whole and truncated; the noise
estimate; the time for all points of a cloud of 100000; and the jump of the blend of charts where one of them ends.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import subbundle as sb
from benchmarks._report import Bar, Result, Table
from benchmarks._surface import noisy_surface
from benchmarks._timing import take_turns

N_POINTS, NOISE = 100_000, 0.005
BANDWIDTHS = (0.006, 0.008, 0.012, 0.016, 0.020, 0.025, 0.030, 0.040)
# Every so manyth observation is projected for the accuracy table.
EVERY = 25
# Timed at the bandwidth where an observation has about this many effective neighbours.
TIMED = (30, 50, 100)
ROUNDS = 3
# The torus of the atlas, and the path over it along which charts come and go.
TORUS_POINTS, TORUS_NOISE, TORUS_BANDWIDTH, PATH = 20_000, 0.01, 0.06, 60_001


def run() -> Result:
    surface = noisy_surface(N_POINTS, NOISE)
    cloud = sb.Cloud(surface.points)
    accuracy = [_accuracy(surface, cloud, width) for width in BANDWIDTHS]
    times = _times(cloud, surface.points)
    jump, disagreement, n_charts = _atlas()
    best = {name: min(row[column] for row in accuracy) for name, column in (("plain", 1), ("corrected", 2))}
    bars = [Bar(f"seconds for all points at {row[0]:.0f} neighbours", row[2], 2.0, unit="s") for row in times]
    bars += [
        Bar("best corrected / best plain mean distance", best["corrected"] / best["plain"], 1.0),
        Bar("largest jump of the atlas / noise", jump / TORUS_NOISE, 0.1),
    ]
    return Result(
        title=f"Projection onto the ridge: {N_POINTS} points, noise {NOISE:g} of a size of 1",
        method=(
            f"Surface: {surface.name}. Mean distance to the true surface of every {EVERY}th observation, projected, "
            "times 1e5; the noise is the median of the estimates. Times: all observations in one call, order 2, "
            f"defaults, on all cores, median of {ROUNDS}. Atlas: {n_charts} charts on {TORUS_POINTS} points of a "
            f"torus, noise {TORUS_NOISE:g}; the jump is the largest change of x̂ − x between neighbours on a "
            f"closed curve of {PATH - 1} points that winds around it; charts disagree by {disagreement:.2g} "
            "in the median."
        ),
        tables=[
            Table(["bandwidth", "plain", "corrected", "corrected, whole kernel", "neighbours", "noise"], accuracy),
            Table(["neighbours", "bandwidth", "seconds", "of processor time", "not converged"], times),
        ],
        bars=bars,
    )


def _accuracy(surface, cloud: sb.Cloud, width: float) -> list[float]:
    bundle = sb.PrincipalSubbundle(cloud, 2, width)
    queries = surface.points[::EVERY]
    row = [width]
    for options in ({"order": 1}, {}, {"reach": 7.0}):
        ridge = sb.ridge_project(bundle, queries, **options)
        row.append(1e5 * float(surface.distance(ridge.points).mean()))
    return [*row, float(np.nanmedian(ridge.neighbours)), float(np.nanmedian(ridge.noise))]


def _times(cloud: sb.Cloud, points: np.ndarray) -> list[list[float]]:
    rows = []
    for wanted in TIMED:
        width = _width_for(cloud, points, wanted)
        bundle = sb.PrincipalSubbundle(cloud, 2, width)
        work = partial(sb.ridge_project, bundle, points)
        turns = take_turns({"all": work}, rounds=ROUNDS)
        moving = float(np.mean(work().status == sb.Status.NOT_CONVERGED))
        rows.append([wanted, width, turns.seconds("all"), turns.seconds("all", processor=True), moving])
    return rows


def _width_for(cloud: sb.Cloud, points: np.ndarray, wanted: int) -> float:
    """Bandwidth with a median of ``wanted`` effective neighbours, which grow with its square."""
    width = 0.01
    for _ in range(3):
        found = sb.ridge_project(sb.PrincipalSubbundle(cloud, 2, width), points[::500]).neighbours
        width *= float(np.sqrt(wanted / np.nanmedian(found)))
    return width


def _atlas() -> tuple[float, float, int]:
    """Largest jump along the path, median disagreement, number of charts."""
    data = sb.datasets.torus(TORUS_POINTS, noise=TORUS_NOISE, seed=0)
    atlas = sb.Atlas(sb.PrincipalSubbundle(data.points, 2, TORUS_BANDWIDTH))
    t = np.linspace(0.0, 2.0 * np.pi, PATH)
    ring = 1.0 + 0.4 * np.cos(5.0 * t)
    path = np.column_stack([ring * np.cos(t), ring * np.sin(t), 0.4 * np.sin(5.0 * t)])
    blended = atlas.project(path)
    offset = blended.points - path
    return (
        float(np.nanmax(np.linalg.norm(np.diff(offset, axis=0), axis=1))),
        float(np.nanmedian(blended.disagreement)),
        len(atlas),
    )
