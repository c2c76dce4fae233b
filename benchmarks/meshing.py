"""Meshes from noisy scans: ours with its one automatic setting, peers with settings chosen with the truth.

By default clouds of 20000 points of every surface, of 100000 of the first, thin sheets, and ours alone on a million.
The environment variable SUBBUNDLE_BENCH_MESHING=full adds 100000 points of the others, more settings of the peers and
ten million points; =small only checks that it runs. Results are written after every cloud.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

import subbundle as sb
from benchmarks._machine import describe, source
from benchmarks._mesh_peers import DEPTHS, Judged, apss, judge, oriented, poisson
from benchmarks._mesh_truth import Truth, box, slab, torus, truths
from benchmarks._report import Bar, Result, Table, write

EXTENT = os.environ.get("SUBBUNDLE_BENCH_MESHING", "")
# Not a seed that anything was tuned on.
SEED = 2026
NOISES = (0.0025, 0.005, 0.01)
NEIGHBOURS = (20, 30, 60) if EXTENT == "full" else (30,)
# A filter four times as wide takes sixteen times as long.
SCALES = {"full": (4.0, 8.0, 16.0), "small": (2.0,)}.get(EXTENT, (4.0, 8.0))
COLUMNS = [
    "surface", "points", "noise", "", "mesh → truth", "RMS", "truth → mesh", "RMS", "furthest", "Euler (true)", "parts",
    "non-manifold edges", "border (true)", "seconds", "setting",
]  # fmt: skip
THIN_COLUMNS = ["", "", "mesh → truth", "RMS", "truth → mesh", "Euler (true)", "setting"]
GROWTH_COLUMNS = ["points", "used", "seconds", "µs per point", "peak GB", "mesh → truth", "truth → mesh", "Euler"]
THIN = (10.0, 8.0, 6.0, 4.0)
HARD_NOISE, HARD_POINTS = 0.005, 5000 if EXTENT == "small" else 20_000
METHOD = (
    "Longest side of every surface 1. Distances are exact, from 20000 points sampled on one mesh to the triangles of "
    "the other, in 1e-5. Ours: sb.reconstruct(points). Peers: best of several settings by the sum of both mean "
    "distances; their seconds include normals and orientation by Open3D. Times in one run."
)
THIN_CAPTION = (
    "Thin sheets (slabs of 1 by 0.6 with a round rim) and sharp edges (a box of 1 by 0.7 by 0.5), "
    f"{HARD_POINTS} points, noise {HARD_NOISE:g}."
)


@dataclass
class Found:
    """Rows and bars as they come in; saved after every cloud, so that a run cut short leaves what it measured."""

    rows: list = field(default_factory=list)
    thin: list = field(default_factory=list)
    growth: list = field(default_factory=list)
    bars: list = field(default_factory=list)
    begin: float = field(default_factory=time.perf_counter)

    def result(self) -> Result:
        tables = [Table(COLUMNS, self.rows)]
        if self.thin:
            tables.append(Table(THIN_COLUMNS, self.thin, caption=THIN_CAPTION))
        if self.growth:
            tables.append(Table(GROWTH_COLUMNS, self.growth, caption="Growth with the number of points, noise 0.005."))
        return Result(title="Meshes from noisy scans", method=METHOD, tables=tables, bars=self.bars)

    def save(self, said: str) -> None:
        print(said, file=sys.stderr, flush=True)
        seconds = time.perf_counter() - self.begin
        date = datetime.now(UTC).date().isoformat()
        write(
            "meshing", self.result(), machine=describe(), source=f"{source()}, unfinished", date=date, seconds=seconds
        )


def run() -> Result:
    reconstruct(torus().sample(2000, 0.005), torus())  # compiles
    found = Found()
    for truth, n, noise in clouds():
        _compare(found, truth, n, noise)
    for name, truth in hard_cases():
        _compare_hard(found, name, truth)
    _grow(found)
    return found.result()


def clouds() -> list[tuple[Truth, int, float]]:
    if EXTENT == "small":
        return [(torus(), 5000, 0.01)]
    surfaces = truths()
    chosen = [(truth, 20_000, noise) for truth in surfaces for noise in NOISES]
    large = surfaces if EXTENT == "full" else surfaces[:1]
    return chosen + [(truth, 100_000, noise) for truth in large for noise in NOISES]


def hard_cases() -> list[tuple[str, Truth]]:
    """Slabs whose walls are a few noise levels apart, and a box with sharp edges."""
    cases = [(f"walls {levels:g} noise levels apart", slab(levels * HARD_NOISE)) for levels in THIN]
    cases = [*cases, ("sharp edges", box())]
    return cases[-1:] if EXTENT == "small" else cases


def reconstruct(points: np.ndarray, truth: Truth) -> tuple[Judged, sb.Mesh]:
    start = time.perf_counter()
    mesh = sb.reconstruct(points)
    return judge(mesh.vertices, mesh.faces, truth, setting="auto", seconds=time.perf_counter() - start), mesh


def _compare(found: Found, truth: Truth, n: int, noise: float) -> None:
    points = truth.sample(n, noise, SEED)
    ours, mesh = reconstruct(points, truth)
    turned = [oriented(points, neighbours) for neighbours in NEIGHBOURS]
    depths = DEPTHS if n < 100_000 or EXTENT == "full" else DEPTHS[:-1]
    screened, at_8 = poisson(turned, truth, depths)
    fitted = apss(turned[0], truth, SCALES)
    cloud = f"{truth.name}, {n // 1000}k, noise {noise:g}"
    for name, judged in (("ours", ours), ("screened Poisson", screened), ("APSS", fitted)):
        border = f"{mesh.border_length:.3g} ({truth.border:.3g})" if name == "ours" else ""
        found.rows.append([truth.name, n, noise, name, *_cells(judged, truth, border)])
    found.bars += _bars(cloud, truth, noise, ours, mesh, screened, fitted)
    if n == 100_000:
        found.bars.append(Bar(f"{cloud}: seconds / Open3D's at depth 8", ours.seconds / at_8, 1.0 / 3.0))
    found.save(f"{cloud}: {ours.to_truth / screened.to_truth:.2f} of Poisson's distance")


def _compare_hard(found: Found, name: str, truth: Truth) -> None:
    points = truth.sample(HARD_POINTS, HARD_NOISE, SEED)
    turned = oriented(points, 30)
    judged = {
        "ours": reconstruct(points, truth)[0],
        "screened Poisson": poisson([turned], truth)[0],
        "APSS": apss(turned, truth, SCALES),
    }
    for method, one in judged.items():
        scaled = (f"{1e5 * value:.1f}" for value in (one.to_truth, one.to_truth_rms, one.from_truth))
        found.thin.append([name, method, *scaled, f"{one.euler} ({truth.euler})", one.setting])
    found.save(f"{name}: {judged['ours'].to_truth / judged['screened Poisson'].to_truth:.2f} of Poisson's distance")


def _grow(found: Found) -> None:
    """Ours alone on more and more points; the peak counts the points themselves and all that was there before."""
    truth = torus() if EXTENT == "small" else truths()[0]
    counts = {"small": (3000,), "full": (10**5, 10**6, 10**7)}.get(EXTENT, (10**5, 10**6))
    for n in counts:
        ours, mesh = reconstruct(truth.sample(n, 0.005, SEED), truth)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        found.growth.append([
            n, mesh.summary.n_used, ours.seconds, 1e6 * ours.seconds / n, peak, f"{1e5 * ours.to_truth:.1f}",
            f"{1e5 * ours.from_truth:.1f}", f"{ours.euler} ({truth.euler})",
        ])  # fmt: skip
        if n == 10**6:
            found.bars.append(Bar("a million points: seconds", ours.seconds, 10.0))
            found.bars.append(
                Bar("a million points: seconds / those of 100000", ours.seconds / found.growth[0][2], 10.0)
            )
        if n == 10**7:
            found.bars.append(Bar("ten million: seconds / those of a million", ours.seconds / found.growth[1][2], 10.0))
        found.save(f"{n} points: {ours.seconds:.1f} s")


def _bars(
    cloud: str, truth: Truth, noise: float, ours: Judged, mesh: sb.Mesh, screened: Judged, fitted: Judged
) -> list[Bar]:
    bars = [
        Bar(f"{cloud}: mean distance / screened Poisson's", ours.to_truth / screened.to_truth, 0.8),
        Bar(f"{cloud}: mean distance / APSS's", ours.to_truth / fitted.to_truth, 1.0),
    ]
    if truth.border == 0.0:
        bars.append(Bar(f"{cloud}: completeness / screened Poisson's", ours.from_truth / screened.from_truth, 1.0))
    else:
        bars.append(Bar(f"{cloud}: border length, off by", abs(mesh.border_length / truth.border - 1.0), 0.1))
        bars.append(Bar(f"{cloud}: furthest point of a face, in noise levels", ours.furthest / noise, 3.0))
    if noise <= 0.005:
        wrong = abs(ours.euler - truth.euler) + abs(ours.parts - 1) + ours.crowded
        bars.append(Bar(f"{cloud}: faults of topology", float(wrong), 0.0))
    return bars


def _cells(judged: Judged, truth: Truth, border: str) -> list:
    scaled = [judged.to_truth, judged.to_truth_rms, judged.from_truth, judged.from_truth_rms, judged.furthest]
    return [
        *(f"{1e5 * value:.1f}" for value in scaled), f"{judged.euler} ({truth.euler})", judged.parts, judged.crowded,
        border, judged.seconds, judged.setting,
    ]  # fmt: skip
