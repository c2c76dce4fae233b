"""`denoise`: every point of a cloud larger than memory projected to the ridge, file by file.

Five stages, each of them run by workers and skipped where its result exists: tiles (`plan`), dimension, bandwidth and
typical mass from a sample (`choosing`), rows projected to the ridge tile by tile (`denoising`), normals oriented
(`denoising.oriented_seeds`), and the files written again with the results (`_writers`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subbundle._progress import Progress
from subbundle._validation import as_integer, as_positive
from subbundle.distributed._writers import Grain, RowFile, scattered_tile, target_of, write_file
from subbundle.distributed.choosing import Chosen, choose
from subbundle.distributed.denoising import cell_for, denoised_tile, oriented_seeds
from subbundle.distributed.plan import chosen_once, planned, prepared
from subbundle.distributed.runner import Call, Results, run, run_all
from subbundle.distributed.sample import read_sample
from subbundle.distributed.sources import Source, open_source
from subbundle.distributed.tiles import TilePlan

# Resolution of the coordinates in formats that round them, in bandwidths.
_FINE = 1e-3
# Largest shift of a point, in bandwidths: 20 steps of one, and those of the continuation.
_MARGIN = 80.0


@dataclass(frozen=True, slots=True)
class Denoised:
    """The result of a job.

    Attributes
    ----------
    paths : tuple of Path
        The files written, one for each that was given.
    n_points, n_left_out, n_tiles : int
        Points denoised; rows not finite, out of bounds or left out as outliers; tiles.
    rank, bandwidth, noise : int, float, float
        Dimension and bandwidth in use; median noise along a normal direction, over a sample of the rows.
    statuses : dict of int to int
        Number of points of each status.
    notes : tuple of str
        Remarks on these.
    """

    paths: tuple[Path, ...]
    n_points: int
    n_left_out: int
    n_tiles: int
    rank: int
    bandwidth: float
    noise: float
    statuses: dict[int, int]
    notes: tuple[str, ...]


def denoise(
    data: Any,
    out: str | Path,
    *,
    rank: int | str = 2,
    bandwidth: float | str = "auto",
    order: int = 2,
    outliers: float | None = None,
    normals: bool = False,
    bounds: Any = None,
    client: Any = None,
    workers: int = 1,
    memory: float | str | None = None,
    points_per_tile: int | None = None,
    work: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Denoised:
    """Denoise the points of files larger than memory; the same files, with the results, are written to ``out``.

    Parameters
    ----------
    data, bounds, client, workers, memory, points_per_tile
        As for `plan_tiles`. Points have 2 or 3 coordinates.
    out : folder
        Every file keeps its name, format, rows and attributes; coordinates are replaced, and ``noise``,
        ``outlier_score`` and ``status`` added, with normals ``nx, ny, nz`` for surfaces in space in ``.ply``, ``.las``
        and ``.laz`` files.
    rank, bandwidth : int or "auto", float or "auto"
    order : {1, 2}
        As for `subbundle.ridge_project`.
    outliers : float or None
        Leave out points moved by more than this many noise levels; None keeps all.
    normals : bool
        Write normals to ``.npy`` and ``.parquet`` as well.
    work : folder or None
        For tiles and results, about 160 bytes per point: ``.subbundle`` in it, or in ``out``, removed at the end.
    resume : bool
        Continue an interrupted job from its ``work``.

    Examples
    --------
    >>> import subbundle as sb
    >>> with sb.distributed.cluster(workers=2, memory="4GB") as client:  # doctest: +SKIP
    ...     sb.distributed.denoise("big/*.laz", "clean", client=client, workers=2, memory="4GB")
    """
    order = as_integer(order, "order", low=1, high=2)
    level = None if outliers is None else as_positive(outliers, "outliers")
    rank = rank if str(rank) == "auto" else as_integer(rank, "rank", low=1)
    if str(bandwidth) != "auto":
        bandwidth = as_positive(bandwidth, "bandwidth", hint="'auto' chooses it from a sample.")
    folder = Path(out).absolute()
    workplace = prepared(folder, work, resume)
    source = open_source(data, workplace)
    targets = _targets(source, folder)
    plan = planned(
        source, workplace, (2, 3), "denoised", points_per_tile=points_per_tile, memory=memory, workers=workers,
        bounds=bounds, client=client, progress=progress,
    )  # fmt: skip
    chosen, settings = _settings(plan, rank, bandwidth, order, client, progress)
    what = f"projecting {plan.n_points} points in {len(plan)} tiles with bandwidth {chosen.bandwidth:.4g}"
    results = run(plan, denoised_tile, settings, client=client, out=workplace / "results", what=what, progress=progress)
    consistent = not settings["cell"] or _seeds(plan, results, settings["cell"], workplace)
    message = "normals have no consistent orientation: the surface is not orientable, or sheets touch"
    notes = [*chosen.notes, *([] if consistent else [message])]
    rows = RowFile(workplace / "rows.bin", plan.dim, source.n_rows)
    rows.make()
    calls = [
        Call(plan.describe(tile), (str(path), rows, str(workplace / "seeds.npz")), plan.counts[tile])
        for tile, path in enumerate(results.paths)
    ]
    counted = run_all(client, scattered_tile, calls, "sorting rows", progress)
    margin = _MARGIN * chosen.bandwidth
    grain = Grain(_FINE * chosen.bandwidth, plan.boxes.min(axis=(0, 1)) - margin, plan.boxes.max(axis=(0, 1)) + margin)
    folder.mkdir(parents=True, exist_ok=True)
    written = _written(source, targets, rows, level, normals, grain, client, progress)
    shutil.rmtree(workplace, ignore_errors=True)
    return _summary(plan, source, targets, chosen, counted, written, notes)


def _targets(source: Source, out: Path) -> list[Path]:
    targets = [target_of(path, out) for path in source.paths]
    if len(set(targets)) < len(targets):
        raise ValueError("all files must have different names: each is written under its name to one folder.")
    same = [path for path, target in zip(source.paths, targets, strict=True) if Path(path) == target]
    if same:
        raise ValueError(f"the output must not replace the input; {same[0]} would be. Give another folder.")
    return targets


def _settings(
    plan: TilePlan, rank: int | str, bandwidth: float | str, order: int, client: Any, progress: Progress | None
) -> tuple[Chosen, dict[str, Any]]:
    """Choices from the sample, made once; and the settings of the tiles' task."""

    def make() -> list[Any]:
        found = choose(plan, rank, bandwidth, client=client)
        return [found.rank, found.bandwidth, found.typical_mass, found.notes]

    chosen = Chosen(*chosen_once(plan, "chosen", [rank, bandwidth], make, progress, "choosing a bandwidth"))
    surface = (plan.dim, chosen.rank) == (3, 2)
    cell = cell_for(read_sample(plan.folder)[1], chosen.bandwidth) if surface else 0.0
    return chosen, {
        "rank": chosen.rank, "bandwidth": chosen.bandwidth, "typical_mass": chosen.typical_mass, "order": order,
        "cell": cell,
    }  # fmt: skip


def _seeds(plan: TilePlan, results: Results, cell: float, folder: Path) -> bool:
    """Write the oriented seeds of all tiles; whether a consistent orientation exists."""
    names = ("seed_keys", "seed_rows", "seed_points", "seed_normals")
    parts = [results.load(tile, names) for tile in range(len(plan))]
    points, normals, consistent = oriented_seeds(parts, cell)
    with open(folder / "seeds.npz", "wb") as stream:
        np.savez(stream, points=points, normals=normals)
    return consistent


def _written(
    source: Source, targets: Sequence[Path], rows: RowFile, level: float | None, normals: bool, grain: Grain,
    client: Any, progress: Progress | None,
) -> list[int]:  # fmt: skip
    """Write every file; the rows of each."""
    calls, first = [], 0
    for path, count, target in zip(source.paths, source.counts, targets, strict=True):
        arguments = (path, first, count, str(target), rows, level, normals, grain)
        calls.append(Call(Path(path).name, arguments, count))
        first += count
    return run_all(client, write_file, calls, "writing files", progress)


def _summary(
    plan: TilePlan, source: Source, targets: Sequence[Path], chosen: Chosen, counted: list[Any], written: list[int],
    notes: list[str],
) -> Denoised:  # fmt: skip
    noise = np.concatenate([one[1] for one in counted])
    statuses = np.sum([one[0] for one in counted], axis=0)
    return Denoised(
        paths=tuple(targets), n_points=sum(written), n_left_out=source.n_rows - sum(written), n_tiles=len(plan),
        rank=chosen.rank, bandwidth=chosen.bandwidth, noise=float(np.nanmedian(noise)) if noise.size else float("nan"),
        statuses={code: int(count) for code, count in enumerate(statuses) if count}, notes=tuple(notes),
    )  # fmt: skip
