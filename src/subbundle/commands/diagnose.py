"""``subbundle diagnose data.npy``: estimates of rank, bandwidth, noise and curvature of a cloud, with warnings."""

from __future__ import annotations

import argparse

from subbundle._atomic import check_target
from subbundle._progress import Progress
from subbundle.commands._learned import read_rows
from subbundle.commands.messages import translated
from subbundle.diagnostics import diagnose
from subbundle.plot import require_matplotlib


def run(options: argparse.Namespace) -> None:
    """Read, diagnose, print, write."""
    require_matplotlib()
    output = check_target(options.output or f"{options.data.stem}-diagnosis.html", (".html",), "--output")
    progress = Progress()
    rows = read_rows(options, progress)
    progress.stage("diagnosing the cloud")
    report = diagnose(rows.values, options.rank, options.bandwidth, n_jobs=options.jobs)
    print(translated(str(report)))
    for note in rows.notes:
        print(f"note: {note}")
    print(f"wrote {report.write(output)}")
