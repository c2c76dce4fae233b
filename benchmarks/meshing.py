"""Meshes from noisy scans: ours with its one automatic setting, peers with settings chosen with the truth.

By default clouds of 20000 points of every surface, and of 100000 of the first. The environment variable
SUBBUNDLE_BENCH_MESHING=full adds 100000 points of the others and a million of the first.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

import subbundle as sb
from benchmarks._mesh_peers import Judged, apss, judge, poisson
from benchmarks._mesh_truth import Truth, box, slab, truths
from benchmarks._report import Bar, Result, Table

NOISES = (0.0025, 0.005, 0.01)
COLUMNS = [
    "surface", "points", "noise", "", "mesh → truth", "RMS", "truth → mesh", "RMS", "furthest", "Euler (true)", "parts",
    "non-manifold edges", "border (true)", "seconds", "setting",
]  # fmt: skip
THIN = (8.0, 6.0, 4.0)
HARD_NOISE = 0.005


def ours(points: np.ndarray, truth: Truth) -> tuple[Judged, sb.Mesh]:
    start = time.perf_counter()
    mesh = sb.reconstruct(points)
    return judge(mesh.vertices, mesh.faces, truth, setting="auto", seconds=time.perf_counter() - start), mesh


def clouds() -> list[tuple[Truth, int, float]]:
    surfaces = truths()
    chosen = [(truth, 20_000, noise) for truth in surfaces for noise in NOISES]
    if os.environ.get("SUBBUNDLE_BENCH_MESHING") == "full":
        return chosen + [(truth, 100_000, noise) for truth in surfaces for noise in NOISES]
    return [*chosen, *((surfaces[0], 100_000, noise) for noise in NOISES)]


def run() -> Result:
    ours(truths()[-1].sample(2000, 0.005), truths()[-1])  # compiles
    rows, bars = [], []
    for truth, n, noise in clouds():
        points = truth.sample(n, noise)
        found, mesh = ours(points, truth)
        screened, at_8 = poisson(points, truth)
        fitted = apss(points, truth)
        cloud = f"{truth.name}, {n // 1000}k, noise {noise:g}"
        print(f"{cloud}: {found.to_truth / screened.to_truth:.2f} of Poisson's distance", file=sys.stderr, flush=True)
        for name, judged in (("ours", found), ("screened Poisson", screened), ("APSS", fitted)):
            border = f"{mesh.border_length:.3g} ({truth.border:.3g})" if name == "ours" else ""
            rows.append([truth.name, n, noise, name, *_cells(judged, truth, border)])
        bars += _bars(cloud, truth, noise, found, mesh, screened, fitted)
        if n == 100_000:
            bars.append(Bar(f"{cloud}: seconds / Open3D's at depth 8", found.seconds / at_8, 1.0 / 3.0))
    if os.environ.get("SUBBUNDLE_BENCH_MESHING") == "full":
        rows.append(_million())
    return Result(
        title="Meshes from noisy scans",
        method=(
            "Longest side of every surface 1. Distances are exact, from 20000 points sampled on one mesh to the "
            "triangles of the other, in 1e-5. Ours: sb.reconstruct(points). Peers: best of several settings by the sum "
            "of both mean distances; their seconds include normals and orientation by Open3D. Times in one run."
        ),
        tables=[Table(COLUMNS, rows), _hard_cases()],
        bars=bars,
    )


def _bars(
    cloud: str, truth: Truth, noise: float, found: Judged, mesh: sb.Mesh, screened: Judged, fitted: Judged
) -> list[Bar]:
    bars = [
        Bar(f"{cloud}: mean distance / screened Poisson's", found.to_truth / screened.to_truth, 0.8),
        Bar(f"{cloud}: mean distance / APSS's", found.to_truth / fitted.to_truth, 1.0),
    ]
    if truth.border == 0.0:
        bars.append(Bar(f"{cloud}: completeness / screened Poisson's", found.from_truth / screened.from_truth, 1.0))
    else:
        bars.append(Bar(f"{cloud}: border length, off by", abs(mesh.border_length / truth.border - 1.0), 0.1))
        bars.append(Bar(f"{cloud}: furthest point of a face, in noise levels", found.furthest / noise, 3.0))
    if noise <= 0.005:
        wrong = abs(found.euler - truth.euler) + abs(found.parts - 1) + found.crowded
        bars.append(Bar(f"{cloud}: faults of topology", float(wrong), 0.0))
    return bars


def _cells(judged: Judged, truth: Truth, border: str) -> list:
    scaled = [judged.to_truth, judged.to_truth_rms, judged.from_truth, judged.from_truth_rms, judged.furthest]
    return [
        *(f"{1e5 * value:.1f}" for value in scaled), f"{judged.euler} ({truth.euler})", judged.parts, judged.crowded,
        border, judged.seconds, judged.setting,
    ]  # fmt: skip


def _million() -> list:
    truth = truths()[0]
    found, mesh = ours(truth.sample(1_000_000, 0.005), truth)
    return [truth.name, 1_000_000, 0.005, "ours", *_cells(found, truth, f"{mesh.border_length:.3g}")]


def _hard_cases() -> Table:
    """Slabs whose walls are a few noise levels apart, and a box with sharp edges."""
    cases = [(f"walls {levels:g} noise levels apart", slab(levels * HARD_NOISE)) for levels in THIN]
    rows = []
    for name, truth in [*cases, ("sharp edges", box())]:
        points = truth.sample(20_000, HARD_NOISE)
        found = {"ours": ours(points, truth)[0], "screened Poisson": poisson(points, truth)[0]}
        for method, judged in (found | {"APSS": apss(points, truth)}).items():
            rows.append([
                name, method, f"{1e5 * judged.to_truth:.1f}", f"{1e5 * judged.to_truth_rms:.1f}",
                f"{1e5 * judged.from_truth:.1f}", f"{judged.euler} (2)", judged.setting,
            ])  # fmt: skip
    columns = ["", "", "mesh → truth", "RMS", "truth → mesh", "Euler (true)", "setting"]
    caption = "Thin sheets (slabs of 1 by 0.6 with a round rim) and sharp edges (a box), 20000 points, noise 0.005."
    return Table(columns, rows, caption=caption)
