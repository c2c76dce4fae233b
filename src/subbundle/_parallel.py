"""The only place with threads: rows of a batch are shared out over kernels that release the interpreter lock.

Every row is computed alone, with BLAS held to one thread, so results are the same to the bit for any number of jobs.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

from numba.core import event
from threadpoolctl import ThreadpoolController

from subbundle._validation import as_integer

# Chunks per thread: enough that rows of unequal cost even out, few enough that starting them costs nothing.
_CHUNKS = 4


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads: all cores this process may use for None or -1, else the number given."""
    if n_jobs is None or n_jobs == -1:
        available = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        return len(available)
    return as_integer(n_jobs, "n_jobs", low=1, why="or None for all cores")


def run_rows(
    work: Callable[[int, int], None], n_rows: int, n_jobs: int, *, grain: int, calls_blas: bool = True
) -> None:
    """Call ``work(start, stop)`` on chunks that cover ``0..n_rows``, on ``n_jobs`` threads.

    The calling thread is one of them. Chunks have at least ``grain`` rows, so that starting a thread (0.1 ms) is never
    the larger part of the work. Where the work ``calls_blas``, BLAS is held to one thread meanwhile; that takes 40 µs
    and makes callers on other threads wait their turn.
    """
    if n_rows == 0:
        return
    with _announce_compiling(), _one_blas_thread() if calls_blas else nullcontext():
        n_chunks = max(min(n_jobs * _CHUNKS, n_rows // grain), 1)
        if n_jobs == 1 or n_chunks == 1:
            work(0, n_rows)
            return
        edges = [n_rows * i // n_chunks for i in range(n_chunks + 1)]
        _share_out([(edges[i], edges[i + 1]) for i in range(n_chunks)], work, min(n_jobs, n_chunks))


def _share_out(chunks: list[tuple[int, int]], work: Callable[[int, int], None], n_threads: int) -> None:
    waiting = iter(chunks)  # taking the next item of a list iterator is atomic
    failures: list[BaseException] = []

    def run() -> None:
        try:
            for start, stop in waiting:
                if failures:
                    return
                work(start, stop)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run) for _ in range(n_threads - 1)]
    for thread in threads:
        thread.start()
    run()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, one caller at a time.

    The number of BLAS threads belongs to the process. Two callers who set and restored it across each other would leave
    one of them with many threads, or the process with a single one for good.
    """
    with _BLAS_TURN, _blas().limit(limits=1, user_api="blas"):
        yield


_BLAS_TURN = threading.RLock()


@cache
def _blas() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds, so it is done once, with the one that Numba calls among them.
    import scipy.linalg.cython_blas  # noqa: F401

    return ThreadpoolController()


class _Notice(event.Listener):  # type: ignore[misc]
    """Says once that compiling has begun, so that the first call in a new environment does not look stuck."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            print("subbundle: compiling kernels, once per environment (about 20 s) ...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


_NOTICE = _Notice()


@contextmanager
def _announce_compiling() -> Iterator[None]:
    event.register("numba:compile", _NOTICE)
    try:
        yield
    finally:
        event.unregister("numba:compile", _NOTICE)
