"""The only module with threads: rows of a batch are distributed to kernels that release the interpreter lock.

Rows are computed independently, with BLAS limited to one thread, so results have the same bits for any number of jobs.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Any

from numba.core import event
from threadpoolctl import ThreadpoolController

from subbundle._progress import Progress, watcher_of
from subbundle._validation import as_integer

# Fewest chunks per thread: enough to balance rows of unequal cost.
_CHUNKS = 4
# Target seconds of a chunk: an interrupt waits no longer, and the overhead of starting a chunk is negligible.
_CHUNK_SECONDS = 0.2
# Largest ratio of the sizes of successive chunks, as the first may consist of the cheapest rows.
_GROWTH = 8.0
# Seconds that starting a thread takes.
_START = 1e-4


_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use only the caller's thread inside, for any ``n_jobs``: other processes use the other cores."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads: all cores this process may use for None or -1, else the number given."""
    if _alone.get():
        return 1
    if n_jobs is None or n_jobs == -1:
        available = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        return len(available)
    return as_integer(n_jobs, "n_jobs", low=1, why="or None for all cores")


def run_rows(work: Callable[[int, int], None], n_rows: int, n_jobs: int, *, calls_blas: bool = True) -> None:
    """Call ``work(start, stop)`` on chunks that cover ``0..n_rows``, on ``n_jobs`` threads.

    The calling thread is one of them, and the only one until a chunk of rows took longer than starting another would.
    Where the work ``calls_blas``, BLAS is limited to one thread meanwhile; that takes 40 µs and serialises callers on
    other threads.
    """
    if n_rows == 0:
        return
    with _announce_compiling(), one_blas_thread() if calls_blas else nullcontext():
        most = max(n_rows // (n_jobs * _CHUNKS), 1) if n_jobs > 1 else n_rows
        _distribute(_Rows(n_rows, most, watcher_of(n_rows)), work, min(n_jobs, n_rows))


class _Rows:
    """The remaining rows, in chunks that take about `_CHUNK_SECONDS`.

    Interrupts are handled between chunks, so chunks are short; the cost of a row is measured on those done.
    """

    def __init__(self, n_rows: int, most: int, watcher: Progress | None) -> None:
        self._next, self._end, self._most = 0, n_rows, most
        self._watcher = watcher
        self._lock = threading.Lock()
        self.seconds = 0.0

    def take(self, size: int) -> tuple[int, int]:
        """The next ``size`` rows, or as many as are left."""
        with self._lock:
            start = self._next
            self._next = min(start + size, self._end)
            return start, self._next

    def do_all(self, work: Callable[[int, int], None], size: int, failures: list[BaseException]) -> None:
        """Do rows, ``size`` of them first, until none is left or another thread has failed."""
        while size and not failures:
            size = self.do_some(work, min(size, self._most))

    def do_some(self, work: Callable[[int, int], None], size: int) -> int:
        """Do the next ``size`` rows; return the size of the chunk after them, 0 at the end."""
        start, stop = self.take(size)
        if start == stop:
            return 0
        begin = time.perf_counter()
        work(start, stop)
        if self._watcher is not None:
            self._watcher.advance(stop - start)
        seconds = max(time.perf_counter() - begin, 1e-9)
        # Time of the last chunk, or of the rows left if that is less.
        self.seconds = seconds * min((self._end - stop) / (stop - start), 1.0)
        fitting = int((stop - start) * min(_CHUNK_SECONDS / seconds, _GROWTH))
        return max(fitting, 1)


def _distribute(rows: _Rows, work: Callable[[int, int], None], n_threads: int) -> None:
    failures: list[BaseException] = []
    # The first row on this thread: if kernels must be compiled, an interrupt reaches the thread that compiles them.
    size = rows.do_some(work, 1)
    while size and rows.seconds < _START:
        size = rows.do_some(work, size)

    def run() -> None:
        try:
            rows.do_all(work, size, failures)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run) for _ in range(n_threads - 1 if size else 0)]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError:
        pass  # the system allows no more threads; those that run do all rows
    except BaseException as failure:
        failures.append(failure)
    run()
    _join([thread for thread in threads if thread.ident is not None], failures)
    if failures:
        raise failures[0]


def _join(threads: list[threading.Thread], failures: list[BaseException]) -> None:
    """Wait for the threads. An interrupt meanwhile is a failure like others: they end after their current chunk."""
    try:
        for thread in threads:
            thread.join()
    except BaseException as failure:
        failures.append(failure)
        for thread in threads:
            thread.join()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, one caller at a time.

    The number of BLAS threads is global to the process. Two callers that set and restore it concurrently could leave
    one of them with many threads, or the process with a single one permanently.
    """
    with _BLAS_LOCK, _blas().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Limit BLAS, and the OpenMP of scikit-learn's neighbour searches, to one thread.

    On a busy machine threads of OpenMP wait for one another in loops: the neighbours of 72 rows took 220 ms with two
    threads and 3 ms with one.
    """
    with one_blas_thread(), _openmp().limit(limits=1):
        yield


_BLAS_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A child process has none of the threads that may hold the lock.
    os.register_at_fork(after_in_child=_BLAS_LOCK._at_fork_reinit)  # type: ignore[attr-defined]


@cache
def _blas() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds, so it is done once, with the one that Numba calls among them.
    import scipy.linalg.cython_blas  # noqa: F401

    return ThreadpoolController()


@cache
def _openmp() -> ThreadpoolController:
    # Loads the library if nothing has yet; those who only follow geodesics never need it.
    import sklearn.neighbors  # noqa: F401

    return ThreadpoolController().select(user_api="openmp")


class _Notice(event.Listener):  # type: ignore[misc]
    """Reports once that compiling has begun: the first call of a kind may take a minute in a new environment."""

    def __init__(self) -> None:
        self.printed = False

    def on_start(self, event: Any) -> None:
        if not self.printed:
            self.printed = True
            text = "subbundle: compiling kernels for a first call; `subbundle compile` compiles all beforehand ..."
            print(text, file=sys.stderr, flush=True)

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
