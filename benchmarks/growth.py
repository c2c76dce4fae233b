"""Cost, memory and building time as the cloud grows a thousandfold, at about 500 neighbours of each query.

Clouds are uniform on the unit sphere S², so that N π R² / 4π observations lie within R; the bandwidth follows from N.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import subbundle as sb
from benchmarks._extras import require
from benchmarks._report import Bar, Result, Table
from benchmarks._timing import take_turns
from subbundle.kernels import gaussian_reach

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
NEIGHBOURS, N_QUERIES, ROUNDS = 500, 10_000, 7
# Below this size the arrays of a cloud are too small beside the interpreter for its memory to be seen from outside.
SEEN_FROM = 1_000_000


@dataclass(frozen=True, slots=True)
class Built:
    bundle: sb.PrincipalSubbundle
    seconds: float
    peak: int


def build(n: int) -> Built:
    """The bundle on ``n`` points, with the time and the largest memory that its construction took beside the input."""
    rng = np.random.default_rng(n)
    points = rng.standard_normal((n, 3))
    points /= np.sqrt(np.einsum("nd,nd->n", points, points))[:, None]
    bandwidth = float(np.sqrt(4.0 * NEIGHBOURS / (n * gaussian_reach(3))))
    gc.collect()
    start = time.perf_counter()
    bundle, peak = with_peak_memory(lambda: sb.PrincipalSubbundle(points, 2, bandwidth, n_jobs=1))
    return Built(bundle, time.perf_counter() - start, peak)


def with_peak_memory(work: Callable[[], Any]) -> tuple[Any, int]:
    """What ``work`` returned, and how far the resident memory of this process rose meanwhile, in bytes."""
    process = require("psutil").Process()
    before = highest = process.memory_info().rss
    done = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.005):
            highest = max(highest, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        value = work()
    finally:
        done.set()
        watcher.join()
    return value, max(highest, process.memory_info().rss) - before


def run() -> Result:
    build(SIZES[0])  # compiles
    built = {n: build(n) for n in SIZES}
    rng = np.random.default_rng(0)
    queries = rng.standard_normal((N_QUERIES, 3))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    covectors = rng.standard_normal(queries.shape)
    for n in SIZES:
        assert (built[n].bundle.field(queries, covectors).status == sb.Status.OK).mean() > 0.99
    in_order = sb.Cloud(queries).order  # leaf by leaf of a tree on the queries themselves
    shuffled = {str(n): lambda n=n: built[n].bundle.field(queries, covectors) for n in SIZES}
    ordered = {f"{n} ordered": lambda n=n: built[n].bundle.field(queries[in_order], covectors) for n in SIZES}
    turns = take_turns(shuffled | ordered, rounds=ROUNDS)
    smallest = SIZES[0]
    rows, bars = [], []
    for n in SIZES:
        cost = turns.ratio(str(n), str(smallest), processor=True)
        cost_ordered = turns.ratio(f"{n} ordered", f"{smallest} ordered", processor=True)
        log_ratio = float(np.log(n) / np.log(smallest))
        microseconds = 1e6 * turns.seconds(str(n), processor=True) / N_QUERIES
        kept, peak = built[n].bundle.cloud.nbytes / n, built[n].peak / n if n >= SEEN_FROM else ""
        rows.append([_power(n), microseconds, cost, cost_ordered, log_ratio, kept, peak, built[n].seconds])
        if n > smallest:
            bars.append(Bar(f"cost of an evaluation at {_power(n)} points / at {_power(smallest)}", cost, log_ratio))
    bars += [
        Bar("memory kept, bytes a point, at 1e7", built[SIZES[-1]].bundle.cloud.nbytes / SIZES[-1], 120.0),
        Bar("largest memory while building, bytes a point, at 1e7", built[SIZES[-1]].peak / SIZES[-1], 120.0),
    ]
    columns = [
        "points", "µs per field", "cost / at 1e4", "queries in order", "log N / log 1e4", "bytes a point kept",
        "while building", "seconds to build",
    ]  # fmt: skip
    return Result(
        title="growth with the number of observations in R³",
        method=(
            f"Uniform clouds on S², about {NEIGHBOURS} observations in reach of every query, {N_QUERIES} queries "
            "spread over the sphere in random order, one thread. The memory while building is the rise of the resident "
            "memory of the process above the input array, sampled every 5 ms. With the queries in spatial order, as "
            "geodesics of one fan are, the caches serve more of the reads."
        ),
        tables=[Table(columns, rows)],
        bars=bars,
    )


def _power(n: int) -> str:
    return f"{n:.0e}".replace("+0", "")
