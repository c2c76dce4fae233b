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

import numba
import numpy as np

import subbundle as sb
from benchmarks._extras import require
from benchmarks._report import Bar, Result, Table
from benchmarks._timing import take_turns
from subbundle.cloud.build import GROUP
from subbundle.cloud.search import leaves_within
from subbundle.kernels import gaussian_reach, reach_of

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


def boxes_read(bundle: sb.PrincipalSubbundle, queries: np.ndarray) -> float:
    """Boxes and leaves that a search reads, in the mean over ``queries``: its cost without that of the memory."""
    _, _, boxes, corners, _ = bundle.cloud.tree
    points, radius = queries - bundle.cloud.centre, bundle.bandwidth * np.sqrt(reach_of(bundle.kernel, 2, 3))
    return _boxes_read(boxes, corners, points, radius * radius) / len(queries)


@numba.njit
def _boxes_read(boxes: Any, corners: Any, points: Any, squared: float) -> int:
    """As `leaves_within` goes down, two boxes a step, `GROUP` at the end; and the leaves that it finds."""
    n_leaves, total = corners.shape[2] - GROUP, 0
    found, stack = np.empty(corners.shape[2], np.int64), np.empty((64, 3), np.int64)
    for b in range(points.shape[0]):
        total += leaves_within(boxes, corners, n_leaves, points[b], squared, found)
        stack[0] = 0, 0, n_leaves
        top = 1
        while top > 0:
            top -= 1
            node, first, last = stack[top]
            if last - first <= GROUP:
                total += GROUP
                continue
            total += 2
            middle = first + (last - first + 1) // 2
            for child, low, high in ((node + 1, first, middle), (node + 2 * (middle - first), middle, last)):
                gap = np.maximum(np.maximum(boxes[child, 0] - points[b], points[b] - boxes[child, 1]), 0.0)
                if np.sum(gap * gap) < squared:
                    stack[top] = child, low, high
                    top += 1
    return total


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
    read = {n: boxes_read(built[n].bundle, queries) for n in SIZES}
    for n in SIZES:
        cost = turns.ratio(str(n), str(smallest), processor=True)
        cost_ordered = turns.ratio(f"{n} ordered", f"{smallest} ordered", processor=True)
        log_ratio = float(np.log(n) / np.log(smallest))
        microseconds = 1e6 * turns.seconds(str(n), processor=True) / N_QUERIES
        kept, peak = built[n].bundle.cloud.nbytes / n, built[n].peak / n if n >= SEEN_FROM else ""
        rows.append([_power(n), microseconds, cost, cost_ordered, log_ratio, read[n], kept, peak, built[n].seconds])
        if n > smallest:
            boxes = read[n] / read[smallest]
            bars.append(Bar(f"boxes read at {_power(n)} points / at {_power(smallest)}", boxes, log_ratio))
            bars.append(Bar(f"cost of an evaluation at {_power(n)} points / at {_power(smallest)}", cost, log_ratio))
    bars += [
        Bar("memory kept, bytes a point, at 1e7", built[SIZES[-1]].bundle.cloud.nbytes / SIZES[-1], 120.0),
        Bar("largest memory while building, bytes a point, at 1e7", built[SIZES[-1]].peak / SIZES[-1], 120.0),
    ]
    columns = [
        "points", "µs per field", "cost / at 1e4", "queries in order", "log N / log 1e4", "boxes read",
        "bytes a point kept", "while building", "seconds to build",
    ]  # fmt: skip
    return Result(
        title="growth with the number of observations in R³",
        method=(
            f"Uniform clouds on S², about {NEIGHBOURS} observations in reach of every query, {N_QUERIES} queries "
            "spread over the sphere in random order, one thread. The memory while building is the rise of the resident "
            "memory of the process above the input array, sampled every 5 ms. With the queries in spatial order, as "
            "geodesics of one fan are, the caches serve more of the reads. Boxes read are those of the tree and the "
            "leaves of a query: what the search costs without the time that memory takes."
        ),
        tables=[Table(columns, rows)],
        bars=bars,
    )


def _power(n: int) -> str:
    return f"{n:.0e}".replace("+0", "")
