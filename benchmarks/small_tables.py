"""Tables of at most 2000 rows and 1024 columns: seconds per call.

`SUBBUNDLE_BENCH_DATA` names a folder with ``turning-objects.npz``; without it that row is left out.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

import subbundle as sb
from benchmarks._renderings import renderings
from benchmarks._report import Bar, Result, Table
from subbundle._types import FloatArray
from subbundle.experiments import s_surface

SECONDS = 10.0
# Seconds of the version before where they are known, on other machines; not measured in this run.
BEFORE = {("breast cancer", "PrincipalSubmanifold"): 87.0, ("S-surface in R^100", "choose_bandwidth"): 61.0}

JOBS: dict[str, Callable[[FloatArray, int], Any]] = {
    "choose_rank": lambda x, k: sb.selection.choose_rank(x),
    "choose_bandwidth": lambda x, k: sb.selection.choose_bandwidth(x, k, n_jobs=1),
    "GeodesicDistance": lambda x, k: sb.GeodesicDistance(k, n_jobs=1).fit(x),
    "PrincipalSubmanifold": lambda x, k: sb.PrincipalSubmanifold(k, n_jobs=1).fit(x),
    "diagnose": lambda x, k: sb.diagnose(x, n_jobs=1),
}


def run() -> Result:
    rows: list[list[object]] = []
    worst = dict.fromkeys(JOBS, 0.0)
    raw = 0.0
    for name, points, rank in _tables():
        for job, work in JOBS.items():
            if name.startswith("S-surface") and job != "choose_bandwidth":
                continue
            seconds, remarks = _measured(work, points, rank)
            if name.startswith("S-surface"):
                raw = seconds
            else:
                worst[job] = max(worst[job], seconds)
            rows.append(
                [name, f"{points.shape[0]} × {points.shape[1]}", job, BEFORE.get((name, job), "–"), seconds, remarks]
            )
            print(*rows[-1], flush=True)
    bars = [Bar(f"{job}, slowest table", seconds, SECONDS, unit="s") for job, seconds in worst.items()]
    bars.append(Bar("choose_bandwidth, 5000 rows as they are in R^100", raw, SECONDS, unit="s"))
    return Result(
        title="Small tables",
        method=(
            "Processor time of one call in one thread, after a call that compiles. Renderings: 32 × 32 pixels of a "
            "bumpy ball, two angles of turning and one of the light. Warnings: how many the call gave."
        ),
        tables=[Table(["table", "size", "call", "before (elsewhere), s", "now, s", "warnings"], rows)],
        bars=bars,
    )


def _tables() -> Iterator[tuple[str, FloatArray, int]]:
    for count in (700, 1000, 2000):
        yield f"renderings, {count}", renderings(count)[0], 3
    cancer = load_breast_cancer().data
    yield "breast cancer", cancer, 2
    yield "breast cancer, standardized", (cancer - cancer.mean(axis=0)) / cancer.std(axis=0), 2
    yield "digits", load_digits().data, 2
    yield "S-surface in R^100", s_surface.sample(0, n=5000).points, 2
    folder = os.environ.get("SUBBUNDLE_BENCH_DATA")
    if folder and (Path(folder) / "turning-objects.npz").exists():
        with np.load(Path(folder) / "turning-objects.npz") as data:
            yield "ten turning objects", data["images"].astype(np.float64), 1


def _measured(work: Callable[[FloatArray, int], Any], points: FloatArray, rank: int) -> tuple[float, int]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        work(points[:: max(1, len(points) // 110)], rank)
        warnings.simplefilter("always")
        start = time.process_time()
        work(points, rank)
        return time.process_time() - start, len(said)
