"""Dask workers of a job: those of an existing scheduler, or processes of this machine that end with the job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from subbundle._memory import free_memory
from subbundle._parallel import resolve_jobs
from subbundle._validation import as_integer, needed

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
# Bytes of the scheduling process, with the interpreter and the sample that bandwidths are chosen from.
_OWN = 500e6
# Fraction of the free memory that a job uses where none is given.
_PART = 0.6

# No profiling of tasks, by default a hundred times a second: it saves a twentieth of the time. Tasks fail when there
# has been no worker for minutes, more than a new one needs on a busy machine; by default they wait for ever.
_CONFIG = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.no-workers-timeout": "3 minutes",
}


def as_bytes(memory: float | str | None) -> float:
    """Bytes for all processes of a job together: a number, ``"4GB"``, or most of the free memory for None."""
    if memory is None:
        free = free_memory()
        return _PART * free if free < float("inf") else 4e9
    text = str(memory).strip().lower()
    found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*([kmgt]?i?)b?", text)
    if found is None or found[2] not in _UNITS or float(found[1]) <= 0.0:
        raise ValueError(f"memory must be a size like 4GB or 512MiB; got {memory!r}.")
    return float(found[1]) * _UNITS[found[2]]


def per_worker(memory: float | str | None, workers: int) -> float:
    """Bytes for each of the ``workers``, when all processes together may have ``memory``."""
    each = (as_bytes(memory) - _OWN) / as_integer(workers, "workers", low=1)
    if each < _OWN:
        raise ValueError(
            f"memory must leave at least {_OWN / 1e6:.0f} MB for each of {workers} workers and as much for the process "
            f"that directs them, {(workers + 1) * _OWN / 1e9:.1f} GB; got {memory}. Give more, or fewer workers."
        )
    return each


@contextmanager
def cluster(
    scheduler: str | None = None, *, workers: int | None = None, memory: float | str | None = None
) -> Iterator[Any]:
    """A `distributed.Client` for a job.

    Parameters
    ----------
    scheduler : str or None
        Address of a Dask scheduler, ``"tcp://…"``, whose workers have this package and access to the same files. None
        starts processes on this machine, which end with the block.
    workers : int or None
        Processes to start; None for one per core.
    memory : float, str or None
        Bytes for all processes together, like ``"4GB"``.

    Scripts that start processes need ``if __name__ == "__main__":`` around their calls.
    """
    distributed = needed("distributed")
    if scheduler is not None:
        with _connected(distributed, scheduler) as client:
            yield client
        return
    count = resolve_jobs(None) if workers is None else as_integer(workers, "workers", low=1)
    with (
        needed("dask").config.set(_CONFIG),
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, memory_limit=per_worker(memory, count),
            dashboard_address=":0", silence_logs=50,
        ) as local,
        distributed.Client(local) as client,
    ):  # fmt: skip
        yield client


def _connected(distributed: Any, scheduler: str) -> Any:
    try:
        return distributed.Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise OSError(
            f"no Dask scheduler answers at {scheduler}: {str(error).splitlines()[0]}. Check the address, like "
            "tcp://host:8786."
        ) from error
