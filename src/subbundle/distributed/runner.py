"""The job runner: pure functions on workers, with retries; results written atomically, named by a hash of their input.

A task is a function ``task(plan, tile, settings)`` of a module, which returns named arrays. The arrays of a tile are
written to ``name-hash.npz``, with the hash of plan, task, settings and version: existing results are not computed
again, so that an interrupted job can be resumed.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle import __version__
from subbundle._atomic import atomic_path
from subbundle._progress import Progress
from subbundle._types import SubbundleError
from subbundle._validation import needed
from subbundle.distributed.tiles import TilePlan

Arrays = Mapping[str, NDArray[Any]]
Task = Callable[[TilePlan, int, dict[str, Any]], Arrays]
# Retries of a task: a worker may have been lost, or the disk full temporarily.
_RETRIES = 2
# Failures that a message lists.
_LISTED = 3


class JobError(SubbundleError):
    """Some tasks of a job failed; the results of the others are kept.

    Attributes
    ----------
    reasons : dict of str to str
        Reason, for every task that failed.
    """

    def __init__(self, what: str, reasons: Mapping[str, str], total: int) -> None:
        self.reasons = dict(reasons)
        listed = "; ".join(f"{name}: {why}" for name, why in list(reasons.items())[:_LISTED])
        more = f"; and {len(reasons) - _LISTED} more" if len(reasons) > _LISTED else ""
        super().__init__(
            f"{what} failed for {len(reasons)} of {total}: {listed}{more}. Results of the others are kept: the same "
            "job with --resume (resume=True) computes only what is missing."
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One task of many: its name in messages, its arguments, and its number of rows for the progress bar."""

    name: str
    arguments: tuple[Any, ...]
    rows: int = 0


def run_all(
    client: Any, function: Callable[..., Any], calls: Sequence[Call], what: str, progress: Progress | None = None
) -> list[Any]:
    """``function`` of every call on the workers of ``client`` (None: in this process), results in the given order.

    Raises `JobError` when all others are done, if some fail repeatedly.
    """
    if progress is not None and calls:
        progress.stage(what)
        progress.begin(sum(call.rows for call in calls))
    done = _here(function, calls, progress) if client is None else _there(client, function, calls, progress)
    if progress is not None:
        progress.close()
    failed = {
        call.name: _reason(result)
        for call, result in zip(calls, done, strict=True)
        if isinstance(result, BaseException)
    }
    if failed:
        raise JobError(what, failed, len(calls))
    return done


def _here(function: Callable[..., Any], calls: Sequence[Call], progress: Progress | None) -> list[Any]:
    done: list[Any] = []
    for call in calls:
        try:
            done.append(function(*call.arguments))
        except Exception as error:
            done.append(error)
        if progress is not None:
            progress.advance(call.rows)
    return done


def _there(client: Any, function: Callable[..., Any], calls: Sequence[Call], progress: Progress | None) -> list[Any]:
    """The results of all calls, or errors instead.

    The death of a worker counts as a failure of all tasks that it held: those with too many are repeated one by one.
    """
    done = _submitted(client, function, calls, progress)
    for number, result in enumerate(done):
        if type(result).__name__ == "KilledWorker":
            done[number] = _submitted(client, function, calls[number : number + 1], None)[0]
    return done


def _submitted(
    client: Any, function: Callable[..., Any], calls: Sequence[Call], progress: Progress | None
) -> list[Any]:
    distributed = needed("distributed")
    token = uuid.uuid4().hex
    futures = [
        client.submit(function, *call.arguments, key=f"{function.__name__}-{number}-{token}", retries=_RETRIES)
        for number, call in enumerate(calls)
    ]
    place = {future.key: number for number, future in enumerate(futures)}
    done: list[Any] = [None] * len(calls)
    for future in distributed.as_completed(futures):
        number = place[future.key]
        try:
            done[number] = future.result()
        except Exception as error:
            done[number] = error
        future.release()
        if progress is not None:
            progress.advance(calls[number].rows)
    return done


def _reason(error: BaseException) -> str:
    """One line."""
    if type(error).__name__ == "KilledWorker":
        return "its worker was killed every time, probably for lack of memory; give more memory, or smaller tiles"
    if type(error).__name__ == "NoWorkerError":
        return "all workers ended and none came in their place; give more memory, or fewer workers"
    if type(error).__name__ == "FutureCancelledError":
        return "the scheduler was lost"
    if isinstance(error, OSError) and error.errno is None and "requested and" in str(error):
        return f"the disk is full, or files may not be as large: {error}"  # NumPy reports no cause
    text = " ".join(str(error).split()) or type(error).__name__
    expected = isinstance(error, ValueError | OSError | ImportError)
    return text.rstrip(".") if expected else f"{type(error).__name__}: {text}"


@dataclass(frozen=True, slots=True)
class Results:
    """Files of arrays, one for each tile of a plan."""

    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def load(self, tile: int, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """The arrays of a tile, or those of the given ``names``."""
        with np.load(self.paths[tile], allow_pickle=False) as file:
            return {name: file[name] for name in (file.files if names is None else names)}


def run(
    plan: TilePlan, task: Task, settings: Mapping[str, Any], *, client: Any = None, out: Path | str | None = None,
    what: str = "", progress: Progress | None = None,
) -> Results:  # fmt: skip
    """Do ``task(plan, tile, settings)`` for every tile of ``plan``.

    Parameters
    ----------
    task : function of a module
        Pure; returns named arrays of a tile.
    settings : mapping
        Numbers, strings and lists: what JSON can hold.
    client : distributed.Client or None
        None: in this process.
    out : folder or None
        Folder of the results; that of the plan by default.
    """
    folder = Path(plan.folder if out is None else out).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    given = dict(settings)
    name = task.__name__.strip("_")
    made_of = json.dumps([__version__, f"{task.__module__}.{task.__qualname__}", given, plan.token], sort_keys=True)
    mark = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    paths = tuple(folder / f"{name}-{tile:06d}-{mark}.npz" for tile in range(len(plan)))
    calls = [
        Call(plan.describe(tile), (str(plan.folder), tile, task, given, str(path)), plan.counts[tile])
        for tile, path in enumerate(paths)
        if not path.exists()
    ]
    run_all(client, _one_tile, calls, what or name, progress)
    return Results(paths)


def _one_tile(folder: str, tile: int, task: Task, settings: dict[str, Any], path: str) -> None:
    """Run the task on one tile and write the result atomically."""
    arrays = task(TilePlan.open(folder), tile, settings)
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
