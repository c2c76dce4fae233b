"""`plan_tiles`: two passes over a source, and the tiles of a cloud lie on disk, none larger than a worker can hold.

The first pass measures: extent, rows that are finite, and a sample (`sample`). The second sorts the rows of every piece
into the cells of a coarse grid. Cells with too many rows are halved, across their longest side, until they have few
enough: nine tenths of a cloud in one clump make many small tiles there. No process holds more than a piece or a tile.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from subbundle._progress import Progress
from subbundle._sampling import share_for
from subbundle._types import FloatArray
from subbundle._validation import as_integer, as_real
from subbundle.distributed._binning import Grid, grid_over, settle_cell, sort_piece
from subbundle.distributed.runner import Call, run_all
from subbundle.distributed.sample import SAMPLE, keep_sample, survey_piece
from subbundle.distributed.sources import Source, open_source
from subbundle.distributed.tiles import TilePlan
from subbundle.distributed.workers import per_worker

# Bytes of a worker for every observation of a tile: tree and copies take half (`benchmarks scale_out`), as much is for
# halos, which are wide where tiles are small.
BYTES_PER_POINT = 700.0
# Larger tiles have less halo, and worse balance between workers.
_LARGEST, _SMALLEST = 4_000_000, 1_000


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
        ``.npy``, ``.las``, ``.laz``, ``.ply`` (binary) and ``.parquet`` files are read in pieces.
    work : folder
        Where the tiles go: about 32 bytes per point in space. A plan of the same files and options that is there
        already is used again.
    points_per_tile : int or None
        Observations of a tile at most; None for as many as ``memory`` allows each of the ``workers``.
    bounds : [2, d] or None
        Only points between these corners are taken; the others are counted in ``n_left_out``.
    client : distributed.Client or None
        Who does it; None: this process.
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
    grid, n_points = _measured(source, folder, cap, box, client, progress)
    for old in ("tiles", "sorted"):
        shutil.rmtree(folder / old, ignore_errors=True)
        (folder / old).mkdir()
    leaves = _divided(source, folder, grid, n_points, cap, box, client, progress)
    for number, leaf in enumerate(leaves):
        Path(leaf[3]).rename(folder / "tiles" / f"{number:06d}.npy")
    shutil.rmtree(folder / "sorted")
    plan = TilePlan(
        str(folder), np.array([leaf[0] for leaf in leaves]), tuple(leaf[1] for leaf in leaves),
        tuple(leaf[2] for leaf in leaves), source.n_rows, source.n_rows - n_points, made_of,
    )  # fmt: skip
    plan.save()
    return plan


def most_points(memory: float | str | None, workers: int, each: float = BYTES_PER_POINT) -> int:
    """How many points of ``each`` so many bytes a tile may have where all ``workers`` together have ``memory``."""
    return int(np.clip(per_worker(memory, workers) / each, _SMALLEST, _LARGEST))


def _measured(
    source: Source, folder: Path, cap: int, box: FloatArray | None, client: Any, progress: Progress | None
) -> tuple[Grid, int]:
    """The coarse grid over all points, and how many there are; the sample is written to ``folder``."""
    pieces = list(source.pieces())
    share = share_for(SAMPLE, source.n_rows)
    calls = [Call(_name(piece), (piece, share, box), piece.stop - piece.start) for piece in pieces]
    found = run_all(client, survey_piece, calls, f"measuring {source.n_rows} points", progress)
    n_points = sum(one.count for one in found)
    if n_points == 0:
        raise ValueError(f"at least one point must be finite and in bounds; of {source.n_rows} none is.")
    # Only now: what is refused leaves nothing behind.
    folder.mkdir(parents=True, exist_ok=True)
    keep_sample(folder, found)
    low = np.min([one.low for one in found if one.count], axis=0)
    high = np.max([one.high for one in found if one.count], axis=0)
    return grid_over(low, high, n_points / cap), n_points


def _divided(
    source: Source, folder: Path, grid: Grid, n_points: int, cap: int, box: FloatArray | None, client: Any,
    progress: Progress | None,
) -> list[tuple[list[list[float]], int, int, str]]:  # fmt: skip
    """Box, count, checksum and file of every tile."""
    pieces = list(source.pieces())
    calls = [
        Call(_name(piece), (piece, grid, box, str(folder / "sorted" / f"{number:08d}.npy")), piece.stop - piece.start)
        for number, piece in enumerate(pieces)
    ]
    ends = np.array(run_all(client, sort_piece, calls, f"sorting {n_points} points into tiles", progress))
    counts = np.diff(ends, axis=1)
    cells = []
    for cell in map(int, np.flatnonzero(counts.sum(axis=0))):
        holding = np.flatnonzero(counts[:, cell])
        slices = [(calls[i].arguments[3], int(ends[i, cell]), int(ends[i, cell + 1])) for i in holding]
        arguments = (str(folder), cell, grid.box(cell), slices, cap)
        cells.append(Call(f"cell {cell}", arguments, int(counts[:, cell].sum())))
    return [leaf for leaves in run_all(client, settle_cell, cells, "writing tiles", progress) for leaf in leaves]


def _name(piece: Any) -> str:
    return f"{Path(piece.path).name}, rows {piece.start}..{piece.stop - 1}"
