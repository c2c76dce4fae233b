"""The only place with threads: rows of a batch are shared out over kernels that release the interpreter lock.

Every row is computed alone, with BLAS held to one thread, so results are the same to the bit for any number of jobs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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


def run_rows(work: Callable[[int, int], None], n_rows: int, n_jobs: int) -> None:
    """Call ``work(start, stop)`` on chunks that cover ``0..n_rows``, on ``n_jobs`` threads."""
    if n_rows == 0:
        return
    with _announce_compiling(), _blas().limit(limits=1, user_api="blas"):
        n_chunks = min(n_jobs * _CHUNKS, n_rows)
        if n_jobs == 1 or n_chunks == 1:
            work(0, n_rows)
            return
        edges = [n_rows * i // n_chunks for i in range(n_chunks + 1)]
        with ThreadPoolExecutor(n_jobs) as pool:
            for future in [pool.submit(work, edges[i], edges[i + 1]) for i in range(n_chunks)]:
                future.result()


@cache
def _blas() -> ThreadpoolController:
    # Looking for the loaded BLAS libraries takes milliseconds, so it is done once.
    return ThreadpoolController()


class _Notice(event.Listener):  # type: ignore[misc]
    """Says once that compiling has begun, so that the first call in a new environment does not look stuck."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            print("subbundle: compiling kernels, once per environment (about 15 s) ...", file=sys.stderr, flush=True)

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
