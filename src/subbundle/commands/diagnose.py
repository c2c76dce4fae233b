"""``subbundle diagnose data.npy``: what a cloud is like, and how far to trust what is learned from it."""

from __future__ import annotations

import argparse
from pathlib import Path

from subbundle.commands._options import add_columns, bandwidth, dimension, positive_integer

HELP = "say what a cloud is like, what would be chosen for it, and what could go wrong"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``diagnose``."""
    parser.add_argument(
        "data", type=Path, help="rows of numbers: .csv, .npy, .parquet, or a cloud (.ply, .obj, .xyz, …)"
    )
    add_columns(parser, missing=("refuse", "drop"))
    parser.add_argument(
        "-o", "--output", type=Path, default=None, metavar="FILE", help="page to write (default: DATA-diagnosis.html)"
    )
    parser.add_argument("--rank", type=dimension, default="auto", metavar="K", help="dimension, or auto (default)")
    parser.add_argument(
        "--bandwidth", type=bandwidth, default="auto", help="standard deviation of the kernel, or auto (default)"
    )
    parser.add_argument("--jobs", type=positive_integer, default=None, metavar="N", help="threads (default: all cores)")


def run(options: argparse.Namespace) -> None:
    """Read, diagnose, print, write."""
    from subbundle._progress import Progress
    from subbundle.commands._learned import read_rows
    from subbundle.diagnostics import diagnose
    from subbundle.plot import require_matplotlib

    require_matplotlib()
    output = options.output or Path(f"{options.data.stem}-diagnosis.html")
    if output.suffix.lower() != ".html":
        raise ValueError(f"--output must end in .html; got {output.name!r}.")
    progress = Progress()
    rows = read_rows(options, progress)
    progress.stage("looking at the cloud")
    report = diagnose(rows.values, options.rank, options.bandwidth, n_jobs=options.jobs)
    print(report)
    for note in rows.notes:
        print(f"note: {note}")
    print(f"wrote {report.write(output)}")
