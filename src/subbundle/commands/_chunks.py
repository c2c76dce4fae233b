"""Files larger than memory: when a command works in chunks, and the jobs that do."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from subbundle import saving
from subbundle._memory import require_memory
from subbundle._progress import Progress
from subbundle._types import Status
from subbundle.distributed import cluster, denoise, embed, reconstruct
from subbundle.distributed.mesh_job import as_opening
from subbundle.distributed.readers import shape_of

# Bytes of memory per point of a scan, and per number of a table, of a command with all rows at once.
_BYTES_PER_POINT, _BYTES_PER_NUMBER = 700, 40
# Options that need all rows at once: of every command that reads scans, and of `embed`.
_WHOLE_SCANS = ("transform", "units", "no-normals", "save-outliers", "report", "jobs")
_WHOLE_TABLE = ("figure", "report", "standardize", "categorical", "base-row", "jobs")


def is_requested(options: argparse.Namespace) -> bool:
    """Whether to work in chunks: one of the options for it is given, or the output is an existing folder."""
    folder = options.output is not None and options.output.is_dir()
    return bool(folder or options.resume or options.workers or options.scheduler or options.memory)


def offer_chunks(paths: Iterable[Path], command: str, *, table: bool) -> None:
    """Raise when the files are larger than the free memory, with what to write instead."""
    rows, needed = 0, 0
    for path in paths:
        # Unreadable files are reported by the reader.
        with suppress(Exception):
            count, dim = shape_of(path)
            rows += count
            needed += count * (dim * _BYTES_PER_NUMBER if table else _BYTES_PER_POINT)
    what = f"{rows} {'rows' if table else 'points'} at once"
    example = f"subbundle {command} … -o folder/ --workers 2 --memory 4GB"
    require_memory(needed, what, f"Write this instead, which works in chunks: {example}")


def denoise_chunks(options: argparse.Namespace) -> None:
    """``subbundle denoise big/*.laz -o out/ --workers 2``: a cloud tile by tile."""
    _refuse(options, _WHOLE_SCANS)
    if options.bandwidth == "local":
        raise ValueError("--bandwidth local needs all points at once. Give a number, or leave it out.")
    _check_folder(options.output)
    job, seconds = _on_workers(
        options, denoise, [str(path) for path in options.scans], rank=options.dim, bandwidth=options.bandwidth,
        order=options.order, outliers=options.outliers, normals=options.normals, tiles=True,
    )  # fmt: skip
    print(f"{job.n_points} points, tiles: {job.n_tiles}, dimension {job.rank}, bandwidth {job.bandwidth:.4g}")
    print(f"noise {job.noise:.4g} along each normal direction")
    _print_statuses(job)
    if job.n_left_out:
        print(f"left out (not finite, out of bounds, or outliers): {job.n_left_out} rows")
    for text in job.notes:
        print(f"note: {text}")
    print(f"wrote {len(job.paths)} files to {options.output}, {seconds:.1f} s")


def embed_chunks(options: argparse.Namespace, model: Any) -> None:
    """``subbundle embed table.parquet -o coords/ --workers 2``: ``model`` fitted to a sample, chunks located by it."""
    _refuse(options, _WHOLE_TABLE)
    _check_folder(options.output)
    job, seconds = _on_workers(
        options, embed, str(options.data), model=model, drop=options.drop, label=options.label, missing=options.missing
    )
    inside = job.statuses.get(int(Status.OK), 0) / job.n_rows
    print(f"{job.n_rows} rows, learned from a sample of {job.n_sampled}")
    print(f"dimension {job.model.n_components_}, residual {job.residual:.4g} (root mean square)")
    print(f"inside the charts: {inside:.1%} of the rows")
    _print_statuses(job)
    if job.n_incomplete:
        print(f"note: {job.n_incomplete} rows lack numbers")
    if options.save is not None:
        print(f"wrote {saving.save(job.model, options.save)}")
    print(f"wrote {len(job.paths)} files to {options.output}, {seconds:.1f} s")


def reconstruct_chunks(options: argparse.Namespace) -> None:
    """``subbundle reconstruct big/*.laz -o scene.ply --workers 2``: a scene tile by tile."""
    _refuse(options, (*_WHOLE_SCANS, "closed", "faces", "dim"))
    if options.output.suffix.lower() not in ("", ".ply"):
        raise ValueError(
            f"a mesh made in chunks is written to a .ply file or a folder; got {options.output}. Write -o mesh.ply, or "
            "-o folder/ for one .ply per tile."
        )
    as_opening(options.opening)
    job, seconds = _on_workers(
        options, reconstruct, [str(path) for path in options.scans], bandwidth=options.bandwidth,
        opening=options.opening, tiles=True,
    )  # fmt: skip
    components = f"{job.n_components} connected component{'s' * (job.n_components != 1)}"
    print(f"points: {job.n_points}, tiles: {job.n_tiles}")
    print(f"noise {job.noise:.4g}, spacing {job.spacing:.4g}, bandwidth {job.bandwidth:.4g}, cells of {job.cell:.4g}")
    print(
        f"mesh: {job.n_vertices} vertices, {job.n_faces} faces, {components}, {job.n_border_edges} border edges, "
        f"Euler characteristic {job.euler_characteristic}"
    )
    if job.n_left_out:
        print(f"left out (not finite, or out of bounds): {job.n_left_out} rows")
    written = options.output if len(job.paths) == 1 else f"{len(job.paths)} files to {options.output}"
    print(f"wrote {written} in {seconds:.1f} s")


def _refuse(options: argparse.Namespace, names: Iterable[str]) -> None:
    """Raise when one of the options ``names`` is given, which needs all points at once."""
    for name in names:
        if getattr(options, name.replace("-", "_")) not in (None, False, [], "auto"):
            raise ValueError(f"--{name} needs all points at once and cannot be used in chunks. Leave it out.")


def _check_folder(output: Path | None) -> None:
    if output is None or output.suffix:
        raise ValueError(f"the output of a job in chunks must be a folder; got {output}. Write -o folder/.")


def _on_workers(
    options: argparse.Namespace, job: Callable[..., Any], data: Any, *, tiles: bool = False, **settings: Any
) -> tuple[Any, float]:
    """The result of ``job`` on ``data`` with the workers of the options, and its time in seconds."""
    progress = Progress()
    progress.stage("starting workers")
    with cluster(options.scheduler, workers=options.workers, memory=options.memory) as client:
        if tiles:
            settings |= {"memory": options.memory, "workers": max(len(client.nthreads()), 1)}  # which share the memory
            settings["bounds"] = None if options.crop is None else options.crop.T
        done = job(data, options.output, client=client, resume=options.resume, progress=progress, **settings)
    return done, progress.seconds


def _print_statuses(job: Any) -> None:
    for code, count in job.statuses.items():
        if code != Status.OK:
            print(f"  {Status(code).message}: {count}")
