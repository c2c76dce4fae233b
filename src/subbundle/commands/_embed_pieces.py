"""``subbundle embed table.parquet -o coords/ --workers 2``: a table larger than memory, piece by piece."""

from __future__ import annotations

import argparse
from typing import Any

from subbundle import saving
from subbundle._progress import Progress
from subbundle._types import Status
from subbundle.commands._embed_atlas import new_atlas
from subbundle.commands._embed_chart import new_chart
from subbundle.commands._scale_out import on_workers, refuse
from subbundle.distributed import Embedded, embed

_WHOLE = ("figure", "report", "standardize", "categorical", "base-row", "jobs")


def run_pieces(options: argparse.Namespace, method: str) -> None:
    """Learn from a sample, place all pieces, and say what was found."""
    refuse(options, _WHOLE)
    if options.output is None or options.output.suffix:
        raise ValueError(f"the output of a job in pieces must be a folder; got {options.output}. Write -o folder/.")
    model: Any = saving.load(options.model) if options.model is not None else None
    if model is None:
        model = new_atlas(options, None) if method == "atlas" else new_chart(options, None)
    progress = Progress()
    progress.stage("starting workers")
    with on_workers(options) as client:
        job = embed(
            str(options.data), options.output, model=model, drop=options.drop, label=options.label,
            missing=options.missing, client=client, resume=options.resume, progress=progress,
        )  # fmt: skip
    print("\n".join(_about(job)))
    if options.save is not None:
        print(f"wrote {saving.save(job.model, options.save)}")
    print(f"wrote {len(job.paths)} files to {options.output}, {progress.seconds:.1f} s")


def _about(job: Embedded) -> list[str]:
    """What was found, in lines of words."""
    inside = job.statuses.get(int(Status.OK), 0) / job.n_rows
    lines = [f"{job.n_rows} rows, learned from a sample of {job.n_sampled}"]
    lines.append(f"dimension {job.model.n_components_}, residual {job.residual:.4g} (root mean square)")
    lines.append(f"inside the charts: {inside:.1%} of the rows")
    lines += [f"  {Status(code).message}: {count}" for code, count in job.statuses.items() if code != Status.OK]
    return lines + ([f"note: {job.n_incomplete} rows lack numbers"] if job.n_incomplete else [])
