"""Threads: every row once, failures raised, BLAS as it was found."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import threadpoolctl

from subbundle._parallel import resolve_jobs, run_rows


def blas_threads():
    return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("calls_blas", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 19, 100])
def test_every_row_is_done_once(n_rows, n_jobs, calls_blas):
    seen, chunks, lock = np.zeros(n_rows, int), [], threading.Lock()

    def work(start, stop):
        seen[start:stop] += 1
        with lock:
            chunks.append(stop - start)

    run_rows(work, n_rows, n_jobs, calls_blas=calls_blas)
    np.testing.assert_array_equal(seen, 1)
    assert sum(chunks) == n_rows


def test_rows_are_distributed_over_threads():
    meet, names = threading.Barrier(3), set()

    def work(start, stop):
        if start == 0:  # done before threads are started, and slow enough to be worth some
            time.sleep(0.01)
        elif start < 4:
            meet.wait(timeout=60)  # passes only if three threads are at work at the same time
        names.add(threading.current_thread().name)

    run_rows(work, 12, 3)
    assert len(names) == 3


def test_short_work_starts_no_thread():
    names = set()
    run_rows(lambda start, stop: names.add(threading.current_thread().name), 1000, 3)
    # Chunks of at most 1000/12 rows, each of one call of set.add: a microsecond, against a hundred for a thread.
    assert names == {threading.current_thread().name}


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_failure_is_raised_and_nothing_hangs(n_jobs):
    def work(start, stop):
        if start <= 5 < stop:
            raise ZeroDivisionError("row 5")

    before = blas_threads()
    with pytest.raises(ZeroDivisionError, match="row 5"):
        run_rows(work, 10, n_jobs)
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_blas_has_one_thread_inside_and_as_many_as_before_outside(n_jobs):
    inside = []
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        run_rows(lambda start, stop: inside.append(blas_threads()), 12, n_jobs)
        assert blas_threads() == before
    assert inside
    assert all(count == 1 for counts in inside for count in counts)


def test_callers_on_many_threads_do_not_change_each_others_limit():
    wrong = []

    def work(start, stop):
        for _ in range(20):
            wrong.extend(count for count in blas_threads() if count != 1)

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
    threads = [threading.Thread(target=lambda: run_rows(work, 4, 2)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        assert blas_threads() == before


def test_a_call_from_within_a_row_does_not_wait_for_itself():
    done = []
    run_rows(lambda *_: run_rows(lambda *rows: done.append(rows), 2, 1), 1, 1)
    assert [row for start, stop in done for row in range(start, stop)] == [0, 1]


def test_every_blas_that_the_kernels_call_is_limited():
    # A new process: whatever is loaded by the first evaluation must have been loaded before the limit is set.
    script = """
import numpy as np, threadpoolctl
from subbundle import PrincipalSubbundle
from subbundle import _parallel
data = np.random.default_rng(0).normal(size=(80, 40))
PrincipalSubbundle(data, 1, 6.0).field(data[:2], data[:2])
loaded = {entry["filepath"] for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas"}
print(loaded == {entry["filepath"] for entry in _parallel._blas().info() if entry["user_api"] == "blas"})
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "True"


def test_number_of_jobs():
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert resolve_jobs(None) == resolve_jobs(-1) == available
    assert resolve_jobs(3) == 3
    with pytest.raises(ValueError, match=r"n_jobs must be an integer >= 1 \(or None for all cores\); got 0"):
        resolve_jobs(0)
    with pytest.raises(TypeError, match="got '2'"):
        resolve_jobs("2")
