"""Damaged files, each read in a process that can be ended, counted by outcome.

A case is its seed and its number; `python -m benchmarks._fuzz_files SEED NUMBER` runs one again, with its traceback.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
import warnings
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import subbundle as sb
from benchmarks._fuzz_rows import ALLOWED, OUTCOMES, RETURNED, Row, ending_of
from benchmarks._fuzz_samples import damaged, damaged_inside, damaged_pages, write_samples
from benchmarks._fuzz_worker import Worker, _limit_memory
from subbundle.commands._tables import read_table
from subbundle.distributed.readers import READERS
from subbundle.distributed.sources import open_source, read_rows, table_layout
from subbundle.formats.poses import read_list

_IN_CHUNKS = " in chunks"


def damaged_files(minutes: float, seed: int, *, first: int = 0, most: int | None = None) -> list[Row]:
    """Read damaged files for ``minutes``, or until ``most`` have been read, and count how the readers ended."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "samples").mkdir()
        write_samples(folder / "samples")
        subjects = _subjects(folder / "samples")
        counts: dict[str, Counter[str]] = {subject: Counter() for subject in subjects}
        worst: dict[str, list[str]] = {subject: [] for subject in subjects}
        end, number, worker = time.monotonic() + 60.0 * minutes, first, _Worker(folder)
        try:
            while time.monotonic() < end and (most is None or number < first + most):
                subject = subjects[number % len(subjects)]
                ending, message, seconds = worker.run(subject, seed, number)
                counts[subject][ending] += 1
                if ending not in ALLOWED:
                    worst[subject].append(f"case {seed} {number}: {ending}, {message} ({seconds:.1f} s)")
                    print(f"{subject}: {worst[subject][-1]}", flush=True)
                number += 1
        finally:
            worker.close()
    return [
        Row(name, sum(count.values()), {outcome: count[outcome] for outcome in OUTCOMES}, worst[name])
        for name, count in counts.items()
        if count
    ]


def _subjects(samples: Path) -> list[str]:
    """The endings of the files in ``samples``, those that can be read in chunks twice."""
    endings = sorted({path.suffix for path in samples.iterdir()})
    return [*endings, *(ending + _IN_CHUNKS for ending in endings if ending in READERS)]


def read_case(folder: Path, subject: str, seed: int, number: int) -> None:
    """Damage a sample that ends in ``subject``, and read it; a model is also used, on five rows."""
    rng = np.random.default_rng([seed, number])
    subject, in_chunks, _ = subject.partition(_IN_CHUNKS)
    samples = sorted(path for path in (folder / "samples").iterdir() if path.suffix == subject)
    sample = samples[int(rng.integers(len(samples)))]
    content = sample.read_bytes()
    path = folder / f"damaged{subject}"
    if subject == ".aln":
        path.write_bytes(damaged(rng, content))
        read_list(path)
        return
    if subject == ".npz" and sample.stem != "scan":
        path.write_bytes((damaged_inside if rng.random() < 0.7 else damaged)(rng, content))
        model = sb.load(path)
        if hasattr(model, "transform"):
            model.transform(rng.standard_normal((5, 3)))
        return
    deep = {".npz": damaged_inside, ".e57": damaged_pages}.get(subject, damaged)
    path.write_bytes((deep if rng.random() < 0.7 else damaged)(rng, content))
    if in_chunks or subject == ".parquet":
        _read_chunks(path)
        return
    readers = [sb.scans.read_scan]
    readers += [sb.io.read_points] if subject in (*sb.io.MESH_SUFFIXES, ".xyz", ".csv", ".npy") else []
    readers += [read_table] if subject in (".csv", ".npy") else []
    readers[int(rng.integers(len(readers)))](path)


def _read_chunks(path: Path) -> None:
    """All points of a file as a job reads them, and the rows of a table."""
    source = open_source(path)
    for chunk in source.chunks(500):
        chunk.read()
    if path.suffix in (".parquet", ".npy"):
        layout = table_layout(source)
        for chunk in source.chunks(500):
            read_rows(chunk, layout)


class _Worker(Worker):
    """A process that reads the files in ``folder``."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._folder))
        self._process.start()
        theirs.close()


def _serve(pipe: Connection, folder: Path) -> None:
    _limit_memory()
    while True:
        case = pipe.recv()
        start, ending = time.process_time(), (RETURNED, "")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read_case(folder, *case)
        except BaseException as error:  # every way to end is an observation
            ending = ending_of(error)
        pipe.send((*ending, time.process_time() - start))


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]]
    with tempfile.TemporaryDirectory() as name:
        samples = Path(name) / "samples"
        samples.mkdir()
        write_samples(samples)
        kinds = _subjects(samples)
        print(kinds[given[1] % len(kinds)], flush=True)
        read_case(Path(name), kinds[given[1] % len(kinds)], *given)
