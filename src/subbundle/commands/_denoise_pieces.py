"""``subbundle denoise big/*.laz -o out/ --workers 2``: a cloud larger than memory, tile by tile."""

from __future__ import annotations

import argparse

from subbundle._progress import Progress
from subbundle._types import Status
from subbundle.commands._scale_out import on_workers, refuse, worker_count
from subbundle.distributed import Denoised, denoise

_WHOLE = ("transform", "units", "no-normals", "save-outliers", "report", "jobs")


def run_pieces(options: argparse.Namespace) -> None:
    """Divide, choose, project, write, and say what was found."""
    refuse(options, _WHOLE)
    if options.bandwidth == "local":
        raise ValueError("--bandwidth local needs all points at once. Give a number, or leave it out.")
    if options.output.suffix:
        raise ValueError(f"the output of a job in pieces must be a folder; got {options.output}. Write -o folder/.")
    progress = Progress()
    progress.stage("starting workers")
    with on_workers(options) as client:
        job = denoise(
            [str(path) for path in options.scans], options.output, rank=options.dim, bandwidth=options.bandwidth,
            order=options.order, outliers=options.outliers, normals=options.normals,
            bounds=None if options.crop is None else options.crop.T, client=client,
            workers=worker_count(client), memory=options.memory, resume=options.resume, progress=progress,
        )  # fmt: skip
    print("\n".join(_about(job)))
    print(f"wrote {len(job.paths)} files to {options.output}, {progress.seconds:.1f} s")


def _about(job: Denoised) -> list[str]:
    """What was found, in lines of words."""
    lines = [f"{job.n_points} points, tiles: {job.n_tiles}, dimension {job.rank}, bandwidth {job.bandwidth:.4g}"]
    lines.append(f"noise {job.noise:.4g} along each normal direction")
    lines += [f"  {Status(code).message}: {count}" for code, count in job.statuses.items() if code != Status.OK]
    if job.n_left_out:
        lines.append(f"left out (not finite, out of bounds, or outliers): {job.n_left_out} rows")
    return lines + [f"note: {text}" for text in job.notes]
