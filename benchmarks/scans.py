"""Real and simulated scans with a truth, and clouds of heads: ours with its one automatic setting, open and closed.

Scans and meshes are looked for in the folder named by SUBBUNDLE_BENCH_DATA (see `_scan_data`); without it nothing is
measured. SUBBUNDLE_BENCH_SCANS=heads adds clouds of 100000 points of every mesh there, whole and cut open.
"""

from __future__ import annotations

import os
import time
import warnings

import subbundle as sb
from benchmarks._report import Bar, Result, Table
from benchmarks._scan_data import Case, Score, heads, judge, scans

NOISES, POINTS, SEED = (0.0025, 0.01), 100_000, 7
COLUMNS = ["scan", "", "mesh → truth", "truth → mesh", "Euler (true)", "components", "borders", "processor seconds"]
# Accuracy, completeness, least Euler characteristic and most components that a scan must come out with.
BARS = {
    ("bowl", ""): (0.50, 0.50, -4, 2),
    ("box", ""): (0.295, 0.310, 2, 1),
    ("outliers", ""): (0.3, 0.3, -6, 1),
    ("shell", "normals"): (0.70, 0.90, None, None),
    ("bowl", "closed"): (0.56, 0.46, None, 1),
}
METHOD = (
    "Mean distances of points sampled on the mesh from the truth and of the truth from the mesh: scans with a truth of "
    "points in their own unit, from 200000 points each, those with a mesh in thousandths, heads in 1e-5 of the size. "
    "One thread; processor seconds, compiling not counted."
)


def run() -> Result:
    sb.reconstruct(sb.datasets.torus(2000, noise=0.02, seed=0).points, n_jobs=1)  # compiles
    rows, bars = [], []
    cases = scans() + (heads(NOISES, POINTS, SEED) if os.environ.get("SUBBUNDLE_BENCH_SCANS") == "heads" else [])
    for case in cases:
        for how in ("", "closed", "normals"):
            if how == "normals" and case.normals is None:
                continue
            score, seconds = _measure(case, how)
            true = "" if case.topology is None else f" ({case.topology[0]})"
            rows.append([
                case.name, how or "as it is", f"{score.accuracy:.3f}", f"{score.completeness:.3f}",
                f"{score.euler}{true}", score.parts, score.borders, seconds,
            ])  # fmt: skip
            bars += _bars(case.name, how, score)
    return Result(title="Scans with a truth", method=METHOD, tables=[Table(COLUMNS, rows)], bars=bars)


def _measure(case: Case, how: str) -> tuple[Score, float]:
    options = {"closed": how == "closed", "normals": case.normals if how == "normals" else None}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.SubbundleWarning)
        mesh = sb.reconstruct(case.points, n_jobs=1, **options)
    seconds = time.process_time() - start
    return judge(mesh, case), seconds


def _bars(name: str, how: str, score: Score) -> list[Bar]:
    if (name, how) not in BARS:
        return []
    accuracy, completeness, euler, parts = BARS[name, how]
    label = f"{name}{f', {how}' if how else ''}"
    bars = [
        Bar(f"{label}: mesh → truth", score.accuracy, accuracy),
        Bar(f"{label}: truth → mesh", score.completeness, completeness),
    ]
    if euler is not None:
        bars.append(Bar(f"{label}: Euler characteristic", float(score.euler), float(euler), at_least=True))
    if parts is not None:
        bars.append(Bar(f"{label}: connected components", float(score.parts), float(parts)))
    return bars
