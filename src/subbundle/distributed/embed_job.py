"""`embed`: coordinates of a table larger than memory. A model is fitted to a sample and applied to every chunk.

Chunks are independent of each other, and a row's coordinates depend on the model and the row alone, to the bit. Each
chunk becomes one file in the format of the table, so that the folder can be read as one table.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle import __version__, saving
from subbundle._atomic import atomic_path, write_text
from subbundle._progress import Progress
from subbundle._sampling import FITTED, fraction_for, smallest
from subbundle._types import FloatArray, Status, SubbundleWarning
from subbundle._validation import as_choice, as_integer
from subbundle.distributed.plan import prepared
from subbundle.distributed.readers import suffix_of
from subbundle.distributed.runner import Call, run_all
from subbundle.distributed.sources import Chunk, Source, TableLayout, open_source, read_rows, sample_rows, table_layout
from subbundle.estimators import AtlasEmbedding
from subbundle.estimators.coordinates import GivesCoordinates, columns_of, everywhere
from subbundle.formats.tables import write_columns

# Rows of a chunk: a few seconds of work, and little memory.
_CHUNK = 200_000


@dataclass(frozen=True, slots=True)
class Embedded:
    """The result of a job.

    Attributes
    ----------
    paths : tuple of Path
        The files of coordinates, in the order of the rows.
    model : AtlasEmbedding or PrincipalSubmanifold
        Fitted to ``n_sampled`` rows.
    n_rows, n_sampled, n_incomplete : int
        Rows of the table; those that the model was fitted to; those with missing values.
    statuses : dict of int to int
        Number of rows of each status.
    residual : float
        Root mean square of the distances to the shape.
    """

    paths: tuple[Path, ...]
    model: Any
    n_rows: int
    n_sampled: int
    n_incomplete: int
    statuses: dict[int, int]
    residual: float


def embed(
    data: Any,
    out: str | Path,
    *,
    model: Any = None,
    n_sampled: int = FITTED,
    drop: Sequence[str] = (),
    label: str | None = None,
    missing: str = "refuse",
    client: Any = None,
    work: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Embedded:
    """Coordinates of every row of a table larger than memory, in files of the folder ``out``.

    Parameters
    ----------
    data : path, folder, pattern, several of these, array, Dask array or data frame
        ``.parquet`` or ``.npy``; columns of a data frame that are no numbers are left out.
    model : estimator or None
        `AtlasEmbedding` or `PrincipalSubmanifold`, fitted or not; None for ``AtlasEmbedding(n_components=2)``.
    n_sampled : int
        Most rows that an unfitted model is fitted to: those whose numbers have the smallest hashes.
    drop, label : names of columns
        Left out; copied to the output but not learned from.
    missing : {"refuse", "drop", "local"}
        What to do with rows that lack numbers: raise, give them NaN, or locate them by their observed features (which
        an `AtlasEmbedding` with ``missing="local"`` can).
    client : distributed.Client or None
        Its workers do the work; None: this process.
    work : folder or None
        For intermediate results; ``.subbundle`` in it, or in ``out``, removed at the end.
    resume : bool
        Continue an interrupted job from there.
    """
    as_choice(missing, "missing", ("refuse", "drop", "local"))
    n_sampled = as_integer(n_sampled, "n_sampled", low=2)
    folder = Path(out).absolute()
    workplace = prepared(folder, work, resume)
    source = open_source(data, workplace)
    layout = table_layout(source, drop, label)
    fitted, count = _fitted(source, layout, model, n_sampled, missing, workplace, client, progress)
    chunks = list(source.chunks(_CHUNK))
    ending = suffix_of(source.paths[0])
    learned = hashlib.sha256((workplace / "model.npz").read_bytes()).hexdigest()
    _check_job(workplace, [__version__, source.signature(), layout.names, missing, learned])
    paths = tuple(folder / f"part-{number:06d}{ending}" for number in range(len(chunks)))
    calls = [
        Call(
            chunk.name,
            (chunk, layout, str(workplace / "model.npz"), missing, str(path), str(workplace / f"{path.stem}.json")),
            chunk.stop - chunk.start,
        )
        for chunk, path in zip(chunks, paths, strict=True)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    todo = [call for call in calls if not Path(call.arguments[5]).exists()]
    run_all(client, _locate_chunk, todo, f"locating {source.n_rows} rows", progress)
    found = [json.loads(Path(call.arguments[5]).read_text()) for call in calls]
    shutil.rmtree(workplace, ignore_errors=True)
    return _summary(paths, fitted, source.n_rows, count, found)


def _fitted(
    source: Source, layout: TableLayout, model: Any, n_sampled: int, missing: str, work: Path, client: Any,
    progress: Progress | None,
) -> tuple[Any, int]:  # fmt: skip
    """The model, fitted to a sample unless it is already, and the size of the sample; kept in ``work``."""
    kept = work / "model.npz"
    if kept.exists():
        found = saving.load(kept)
        return found, len(found.embedding_)
    if model is None:
        model = AtlasEmbedding(2, missing="local" if missing == "local" else "raise")
    if not isinstance(model, GivesCoordinates):
        raise TypeError(f"model must be an AtlasEmbedding or a PrincipalSubmanifold; got {type(model).__name__}.")
    if not hasattr(model, "embedding_"):
        fraction = fraction_for(n_sampled, source.n_rows)
        calls = [
            Call(Path(chunk.path).name, (chunk, layout, fraction), chunk.stop - chunk.start)
            for chunk in source.chunks(_CHUNK)
        ]
        parts = run_all(client, sample_rows, calls, f"sampling {source.n_rows} rows", progress)
        rows = np.concatenate([part[0] for part in parts])
        values = np.concatenate([part[1] for part in parts])
        if progress is not None:
            progress.stage(f"learning from {min(n_sampled, len(rows))} of {source.n_rows} rows")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SubbundleWarning)
            model.fit(values[smallest(rows, n_sampled)])
    elif model.n_features_in_ != len(layout.names):
        raise ValueError(f"model needs {model.n_features_in_} columns of numbers; the table has {len(layout.names)}.")
    work.mkdir(parents=True, exist_ok=True)
    saving.save(model, kept)
    return model, len(model.embedding_)


def _check_job(work: Path, made_of: list[Any]) -> None:
    """Raise where ``work`` holds the work of another job; otherwise record the job in it."""
    kept, mark = work / "job", hashlib.sha256(json.dumps(made_of).encode()).hexdigest()
    if kept.exists() and kept.read_text() != mark:
        raise ValueError(
            f"{work} holds the work of another job: the table, the options or the version have changed since. Remove "
            "the folder to start again."
        )
    write_text(kept, mark)


@cache
def _model(path: str) -> Any:
    """The model of a job, read once by a worker."""
    return saving.load(path)


def _locate_chunk(chunk: Chunk, layout: TableLayout, model: str, missing: str, path: str, note: str) -> None:
    """Write the coordinates of a chunk, and its contribution to the summary to ``note``."""
    values, labels = read_rows(chunk, layout)
    complete: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1))
    if missing == "refuse" and not complete.all():
        raise ValueError(
            f"{np.sum(~complete)} rows lack numbers, first row {chunk.start + int(np.argmin(complete))}. Write "
            "--missing drop (or local) to accept them, or --drop with the columns that have gaps"
        )
    used = np.ones(len(values), np.bool_) if missing == "local" else complete
    columns = _columns(_model(model), values[used])
    whole = everywhere(used, columns)
    with atomic_path(path) as temporary:
        write_columns(temporary, {**whole, **labels})
    residual = columns["residual"][np.isfinite(columns["residual"])]
    summary = {
        "incomplete": int(np.sum(~complete)), "squares": float(np.sum(residual**2)), "counted": len(residual),
        "statuses": np.bincount(whole["status"].astype(np.int64), minlength=len(Status)).tolist(),
    }  # fmt: skip
    write_text(note, json.dumps(summary))


def _columns(model: Any, values: FloatArray) -> dict[str, NDArray[Any]]:
    """The columns that ``subbundle embed`` writes."""
    # Estimators refuse a table without rows; one row shows the columns.
    rows = values if len(values) else model.mean_[None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SubbundleWarning)
        columns = columns_of(model.locate(rows).as_dict())
    return {name: column[: len(values)] for name, column in columns.items()}


def _summary(paths: tuple[Path, ...], model: Any, n_rows: int, count: int, found: list[dict[str, Any]]) -> Embedded:
    statuses = np.sum([one["statuses"] for one in found], axis=0)
    counted = sum(one["counted"] for one in found)
    return Embedded(
        paths=paths, model=model, n_rows=n_rows, n_sampled=count, n_incomplete=sum(one["incomplete"] for one in found),
        statuses={code: int(number) for code, number in enumerate(statuses) if number},
        residual=float(np.sqrt(sum(one["squares"] for one in found) / max(counted, 1))),
    )  # fmt: skip
