"""Clouds and tables larger than memory: cost per point compared with all of them in memory, memory of all processes,
rows per second; measurements, and extrapolations to 10⁹ and 10¹⁰ by a stated model.

``python -m benchmarks scale_out --points 100000000`` measures a larger scene (default: 3·10⁶) and a table of as many
rows (default: 10⁶).
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import subbundle as sb
from benchmarks._extras import require
from benchmarks._report import Bar, Result, Table
from subbundle.distributed.denoising import halo_of

POINTS, ON_ONE = 3_000_000, 1_000_000
WORKERS, MEMORY = 2, "4GB"
# A scene of hills, points a unit of area: the bandwidth that is chosen has about a hundred effective neighbours.
DENSITY, NOISE = 100.0, 0.03
# Rows of a table that are embedded, and of one of its files.
ROWS, ROWS_A_FILE = 1_000_000, 1_000_000


def hills(n: int, first: int) -> np.ndarray:
    """``n`` points of an endless strip of hills, 100 wide, whose rows ``first`` … lie where they are in it."""
    rng = np.random.default_rng(first)
    low, high = first / (100.0 * DENSITY), (first + n) / (100.0 * DENSITY)
    x, y = rng.uniform(low, high, n), rng.uniform(0.0, 100.0, n)
    z = 2.0 * np.sin(0.31 * x) * np.cos(0.23 * y) + 0.7 * np.sin(0.9 * y + 0.5 * x)
    return np.column_stack([x, y, z]) + rng.normal(0.0, NOISE, (n, 3))


@dataclass
class Watched:
    """Processor seconds of all processes of a job, and the largest sum of their resident memories, in bytes."""

    seconds: float = 0.0
    wall: float = 0.0
    peak: int = 0
    _before: dict[int, float] = field(default_factory=dict)


@contextmanager
def watched() -> Iterator[Watched]:
    """Watch this process and its children, which must live as long as the block."""
    psutil = require("psutil")
    own = psutil.Process()
    found, done = Watched(wall=time.perf_counter()), threading.Event()

    def processes() -> list[Any]:
        return [own, *own.children(recursive=True)]

    def used() -> float:
        return sum(sum(process.cpu_times()[:2]) for process in processes())

    def watch() -> None:
        while not done.wait(0.05):
            try:
                found.peak = max(found.peak, sum(process.memory_info().rss for process in processes()))
            except psutil.NoSuchProcess:
                continue

    before = used()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        found.seconds, found.wall = used() - before, time.perf_counter() - found.wall
        done.set()
        watcher.join()


def on_one_machine(folder: Path, points: int = ON_ONE) -> Watched:
    """What ``subbundle denoise`` does with so many points, on one thread."""
    from subbundle.cli import main

    np.save(folder / "one.npy", hills(points, 0))
    with watched() as found:
        code = main(["denoise", str(folder / "one.npy"), "-o", str(folder / "clean.npy"), "--normals", "--jobs", "1"])
    assert code == 0
    return found


def in_tiles(folder: Path, points: int, client: Any) -> tuple[Watched, Any, dict[str, float]]:
    """The same with ``points`` in files of a million, by workers; and what the plan was like."""
    (folder / "many").mkdir()
    for first in range(0, points, ON_ONE):
        np.save(folder / "many" / f"{first:012d}.npy", hills(min(ON_ONE, points - first), first))
    shares: dict[str, float] = {}
    with watched() as found:
        plan = sb.distributed.plan_tiles(
            folder / "many", folder / "work", memory=MEMORY, workers=WORKERS, client=client
        )
        job = sb.distributed.denoise(
            folder / "many", folder / "out", normals=True, client=client, workers=WORKERS, memory=MEMORY,
            work=folder / "work", resume=True,
        )  # fmt: skip
    shares["tiles"], shares["halo"] = float(len(plan)), halo_share(plan.boxes, plan.counts, job)
    return found, job, shares


def halo_share(boxes: np.ndarray, counts: tuple[int, ...], job: Any) -> float:
    """Points of all halos over all points, by the area of the tiles as seen from above."""
    halo = halo_of(job.rank, 3, job.bandwidth)
    sides = (boxes[:, 1] - boxes[:, 0])[:, :2]
    larger = np.prod(sides + 2.0 * halo, axis=1) / np.prod(sides, axis=1)
    return float(np.average(larger, weights=counts) - 1.0)


def embedded(folder: Path, rows: int, client: Any) -> tuple[Watched, int]:
    """A table of an S with ``rows`` rows, in Parquet files of a million."""
    arrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    (folder / "table").mkdir()
    for first in range(0, rows, ROWS_A_FILE):
        table = sb.datasets.s_surface(min(ROWS_A_FILE, rows - first), noise=0.02, seed=first).points
        parquet.write_table(
            arrow.table(dict(zip("abc", table.T, strict=True))), folder / "table" / f"{first:012d}.parquet"
        )
    model = sb.AtlasEmbedding(2).fit(sb.datasets.s_surface(5000, noise=0.02, seed=1).points)
    (folder / "few").mkdir()
    for number in range(2 * WORKERS):  # for every worker some, which then has all that it needs
        np.save(folder / "few" / f"{number}.npy", sb.datasets.s_surface(4000, noise=0.02, seed=2).points)
    sb.distributed.embed(folder / "few", folder / "placed", model=model, client=client)
    with watched() as found:
        job = sb.distributed.embed(folder / "table", folder / "coords", model=model, client=client)
    return found, job.n_rows


def run(points: int = POINTS) -> Result:
    folder = Path(tempfile.mkdtemp())
    try:
        on_one_machine(folder, 20_000)  # compiles
        before = on_one_machine(folder)
        with sb.distributed.cluster(workers=WORKERS, memory=MEMORY) as client:
            # What is loaded and compiled once a process is no cost of a point.
            sb.distributed.denoise(hills(40_000, 0), folder / "warm", client=client, points_per_tile=5000)
            many, job, shares = in_tiles(folder, points, client)
            for done in ("many", "work", "out"):
                shutil.rmtree(folder / done)
            placed, rows = embedded(folder, points if points > POINTS else ROWS, client)
        after = on_one_machine(folder)
    finally:
        shutil.rmtree(folder)
    one, each = (before.seconds + after.seconds) / (2 * ON_ONE), many.seconds / points
    rate = rows / placed.seconds
    columns = ["job", "points or rows", "µs of processor each", "GB, all processes", "tiles", "halo share", "bandwidth"]
    tiles, halo = int(shares["tiles"]), shares["halo"]
    measured = Table(
        columns,
        [
            ["denoise, one process with all", ON_ONE, 1e6 * one, before.peak / 1e9, "", "", ""],
            ["denoise in tiles", points, 1e6 * each, many.peak / 1e9, tiles, halo, job.bandwidth],
            ["embed in chunks", rows, 1e6 / rate, placed.peak / 1e9, "", "", ""],
        ],
        caption="Measured",
    )
    per_tile = points / shares["tiles"]
    model = Table(
        ["points", "tiles", "hours on 2 cores", "GB of disk for the work"],
        [[f"{n:.0e}", int(n / per_tile), n * each / 3600.0 / 2.0, 160.0 * n / 1e9] for n in (1e8, 1e9, 1e10)],
        caption="Extrapolated, not measured: the cost a point times the points. A tile has as many points and as much "
        "halo in a larger scene, so both stay; what is done once (sample, bandwidth, sides of normals from at most "
        "200000 seeds) does not grow; the scheduler adds about a millisecond a tile.",
    )
    return Result(
        title="clouds and tables larger than memory",
        method=(
            f"A scene of hills, {DENSITY:g} points a unit of area and noise {NOISE:g}, in .npy files of a million "
            f"points; bandwidth, normals, noise and outlier scores included, from files to files. {WORKERS} worker "
            f"processes, a limit of {MEMORY}. Processor time of all processes, which other programs hardly lengthen; "
            "the memory is the sum of the resident memories of all processes, sampled every 50 ms, pages that they "
            "share counted as often. One machine is measured before and after. Embedding: an S in R³, an atlas fitted "
            "to 5000 rows, Parquet in and out."
        ),
        tables=[measured, model],
        bars=[
            Bar(f"cost a point at {points:.0e} in tiles / at {ON_ONE:.0e} on one machine", each / one, 1.3),
            Bar("memory of all processes", many.peak / 1e9, 4.0, unit="GB"),
            Bar("rows embedded a second and core", rate, 1e5, at_least=True),
        ],
    )
