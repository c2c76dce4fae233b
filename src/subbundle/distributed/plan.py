"""`plan_tiles`: the tiles of a cloud on disk in two passes over a source, none larger than the memory of a worker.

The first pass measures extent, number of finite rows, and a sample (`sample`), by which the extent is bisected until no
tile has too many rows: tiles are small where the cloud is dense. The second sorts the rows of every chunk into these
tiles. No process holds more than a chunk or a tile.
The jobs on points share their folder of work, and choices that are made once, which are here, too.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from subbundle._atomic import write_text
from subbundle._progress import Progress
from subbundle._sampling import fraction_for
from subbundle._types import FloatArray
from subbundle._validation import as_integer, as_real
from subbundle.distributed._binning import Halves, gather_tile, leaves_of, sort_chunk
from subbundle.distributed.runner import Call, run_all
from subbundle.distributed.sample import SAMPLE, keep_sample, read_sample, survey_chunk
from subbundle.distributed.sources import Source, open_source
from subbundle.distributed.tiles import TilePlan
from subbundle.distributed.workers import per_worker

# Bytes of a worker for every observation of a tile: half for tree and copies (`benchmarks scale_out`), half for
# halos, which are wide where tiles are small.
BYTES_PER_POINT = 700.0
# Larger tiles have less halo, and worse balance between workers.
_LARGEST, _SMALLEST = 4_000_000, 1_000
# Folder of a job's work.
WORK = ".subbundle"


def plan_tiles(
    data: Any,
    work: str | Path,
    *,
    points_per_tile: int | None = None,
    memory: float | str | None = None,
    workers: int = 1,
    bounds: Any = None,
    client: Any = None,
    progress: Progress | None = None,
) -> TilePlan:
    """Divide the points of ``data`` into tiles on disk, below the folder ``work``.

    Parameters
    ----------
    data : path, folder, pattern, several of these, array, Dask array or data frame
        ``.npy``, ``.las``, ``.laz``, ``.ply`` (binary) and ``.parquet`` files are read in chunks.
    work : folder
        Folder of the tiles: about 32 bytes per point in space. An existing plan of the same files and options is used
        again.
    points_per_tile : int or None
        Most observations of a tile; None for as many as ``memory`` allows each of the ``workers``.
    bounds : [2, d] or None
        Only points between these corners are taken; the others are counted in ``n_left_out``.
    client : distributed.Client or None
        Its workers do the work; None: this process.
    """
    folder = Path(work).absolute()
    source = open_source(data, folder)
    cap = most_points(memory, workers)
    if points_per_tile is not None:
        cap = as_integer(points_per_tile, "points_per_tile", low=1)
    box = None if bounds is None else as_real(bounds, "bounds")
    if box is not None and (box.shape != (2, source.dim) or not (box[0] <= box[1]).all()):
        raise ValueError(f"bounds must be two corners, the lower first, shape (2, {source.dim}); got {bounds!r:.80}.")
    options = [source.signature(), cap, None if box is None else box.tolist()]
    made_of = hashlib.sha256(json.dumps(options).encode()).hexdigest()
    if TilePlan.exists(folder, made_of):
        return TilePlan.open(folder)
    halves, n_points = _measured(source, folder, box, client, progress)
    for old in ("tiles", "sorted"):
        shutil.rmtree(folder / old, ignore_errors=True)
        (folder / old).mkdir()
    boxes, counts, checksums = _divided(source, folder, halves, n_points, cap, box, client, progress)
    shutil.rmtree(folder / "sorted")
    left_out = source.n_rows - n_points
    plan = TilePlan(str(folder), boxes, counts, checksums, source.n_rows, left_out, made_of)
    plan.save()
    return plan


def most_points(memory: float | str | None, workers: int, each: float = BYTES_PER_POINT) -> int:
    """Most points of a tile, at ``each`` bytes per point, where all ``workers`` together have ``memory``."""
    return int(np.clip(per_worker(memory, workers) / each, _SMALLEST, _LARGEST))


def _measured(
    source: Source, folder: Path, box: FloatArray | None, client: Any, progress: Progress | None
) -> tuple[Halves, int]:
    """A box over all points, and how many there are; the sample is written to ``folder``."""
    fraction = fraction_for(SAMPLE, source.n_rows)
    calls = [Call(chunk.name, (chunk, fraction, box), chunk.stop - chunk.start) for chunk in source.chunks()]
    found = run_all(client, survey_chunk, calls, f"measuring {source.n_rows} points", progress)
    n_points = sum(one.count for one in found)
    if n_points == 0:
        raise ValueError(f"at least one point must be finite and in bounds; of {source.n_rows} none is.")
    # After the checks, so that refused input leaves no files.
    folder.mkdir(parents=True, exist_ok=True)
    keep_sample(folder, found)
    low = np.min([one.low for one in found if one.count], axis=0)
    high = np.max([one.high for one in found if one.count], axis=0)
    return Halves.over(low, high), n_points


def _divided(
    source: Source, folder: Path, halves: Halves, n_points: int, cap: int, box: FloatArray | None, client: Any,
    progress: Progress | None,
) -> tuple[FloatArray, tuple[int, ...], tuple[int, ...]]:  # fmt: skip
    """Boxes, counts and checksums of the tiles, whose files are written."""
    sample = halves.paths(read_sample(folder)[1])
    leaves = leaves_of(sample, len(sample) / n_points, cap)
    first = np.array([path for path, _ in leaves])
    calls = []
    for number, chunk in enumerate(source.chunks()):
        path = str(folder / "sorted" / f"{number:08d}.npy")
        calls.append(Call(chunk.name, (chunk, halves, first, box, path), chunk.stop - chunk.start))
    ends = np.array(run_all(client, sort_chunk, calls, f"sorting {n_points} points into tiles", progress))
    ends = np.column_stack([np.zeros(len(ends), np.int64), ends])
    counts = np.diff(ends, axis=1)
    kept, tiles = np.flatnonzero(counts.sum(axis=0)), []
    for number, leaf in enumerate(kept):
        slices = [(calls[i].arguments[4], *ends[i, leaf : leaf + 2].tolist()) for i in np.flatnonzero(counts[:, leaf])]
        path = str(folder / "tiles" / f"{number:06d}.npy")
        tiles.append(Call(f"tile {number}", (path, slices), int(counts[:, leaf].sum())))
    checksums = run_all(client, gather_tile, tiles, "writing tiles", progress)
    boxes = np.array([halves.box(*leaves[leaf]) for leaf in kept])
    return boxes, tuple(call.rows for call in tiles), tuple(checksums)


def prepared(out: Path, work: str | Path | None, resume: bool) -> Path:
    """The folder of a job's work, empty unless it resumes another; created with its first file."""
    # A separate folder: at the end it is removed with its content.
    folder = (out if work is None else Path(work).absolute()) / WORK
    if folder.exists() and any(folder.iterdir()) and not resume:
        raise FileExistsError(
            f"{folder} must not exist yet: it holds the work of a job that was interrupted. Write --resume "
            "(resume=True) to finish it, or remove the folder to start again."
        )
    return folder


def planned(source: Source, folder: Path, dims: tuple[int, ...], doing: str, **options: Any) -> TilePlan:
    """`plan_tiles` of a source whose points have one of ``dims`` coordinates, in the ``folder`` of a job's work."""
    if source.dim not in dims:
        wanted = " or ".join(map(str, dims))
        raise ValueError(f"points must have {wanted} coordinates to be {doing} in tiles; they have {source.dim}.")
    return plan_tiles(source, folder, **options)


def chosen_once(
    plan: TilePlan, name: str, options: list[Any], make: Callable[[], Any], progress: Progress | None, what: str
) -> Any:
    """The result of ``make()``, numbers, strings and lists; kept for a resumed job with the same options."""
    kept = Path(plan.folder) / f"{name}.json"
    options = [plan.made_of, *options]
    if kept.exists() and (found := json.loads(kept.read_text()))["asked"] == options:
        return found["chosen"]
    if progress is not None:
        progress.stage(f"{what} of {plan.n_points} points")
    text = json.dumps({"asked": options, "chosen": make()})
    write_text(kept, text)
    return json.loads(text)["chosen"]
