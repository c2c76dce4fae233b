"""``subbundle reconstruct big/*.laz -o scene.ply --workers 2``: a scene larger than memory, tile by tile."""

from __future__ import annotations

import argparse

from subbundle._progress import Progress
from subbundle.commands._scale_out import on_workers, refuse, worker_count
from subbundle.distributed import TiledMesh, reconstruct
from subbundle.distributed.mesh_job import as_opening

_WHOLE = ("transform", "units", "no-normals", "save-outliers", "report", "jobs", "closed", "faces", "dim")


def run_pieces(options: argparse.Namespace) -> None:
    """Divide, look, mesh, weld, and say what came out."""
    refuse(options, _WHOLE)
    if options.output.suffix.lower() not in ("", ".ply"):
        raise ValueError(
            f"a mesh of pieces is written to a .ply file or a folder; got {options.output}. Write -o mesh.ply, or "
            "-o folder/ for one .ply per tile."
        )
    as_opening(options.opening)
    progress = Progress()
    progress.stage("starting workers")
    with on_workers(options) as client:
        job = reconstruct(
            [str(path) for path in options.scans], options.output, bandwidth=options.bandwidth,
            opening=options.opening, bounds=None if options.crop is None else options.crop.T, client=client,
            workers=worker_count(client), memory=options.memory, resume=options.resume, progress=progress,
        )  # fmt: skip
    print("\n".join(_about(job)))
    written = options.output if len(job.paths) == 1 else f"{len(job.paths)} files to {options.output}"
    print(f"wrote {written} in {progress.seconds:.1f} s")


def _about(job: TiledMesh) -> list[str]:
    """What came out, in lines of words."""
    parts = "1 connected component" if job.n_components == 1 else f"{job.n_components} connected components"
    lines = [
        f"points: {job.n_points}, tiles: {job.n_tiles}",
        f"noise {job.noise:.4g}, spacing {job.spacing:.4g}, bandwidth {job.bandwidth:.4g}, cells of {job.cell:.4g}",
        f"mesh: {job.n_vertices} vertices, {job.n_faces} faces, {parts}, {job.n_border_edges} border edges, "
        f"Euler characteristic {job.euler_characteristic}",
    ]
    if job.n_left_out:
        lines.append(f"left out (not finite, or out of bounds): {job.n_left_out} rows")
    return lines
