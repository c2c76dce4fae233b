"""``subbundle distance data.csv -o distances.npy``: geodesic distances between the rows of a table."""

from __future__ import annotations

import argparse

import numpy as np

from subbundle._progress import Progress
from subbundle.commands._learned import check_rows, collected, read_rows
from subbundle.commands._reports import account_of_distances, check_report, write_report
from subbundle.commands._tables import check_output, write_table
from subbundle.estimators import GeodesicDistance

# All pairs of more rows than this take hours and gigabytes.
MOST_ROWS = 5000


def run(options: argparse.Namespace) -> None:
    """Read, fit, measure, write and report."""
    check_output(options.output)
    check_report(options.report)
    progress = Progress()
    table = read_rows(options, progress)
    values = table.values
    if options.sources is None and options.targets is None and len(values) > MOST_ROWS:
        raise ValueError(
            f"all pairs of at most {MOST_ROWS} rows can be computed; {options.data} has "
            f"{len(values)}. Choose rows: --from 0,1,2"
        )
    for name, rows in (("--from", options.sources), ("--to", options.targets)):
        if rows is not None:
            check_rows(rows, len(values), name)
    progress.stage(
        f"learning a shape of dimension {options.rank} from {values.shape[0]} rows of {values.shape[1]} features"
    )
    with collected() as messages:
        metric = GeodesicDistance(
            options.rank, bandwidth=options.bandwidth, denoise=not options.raw, n_jobs=options.jobs
        ).fit(values)
        sources, targets = (values if rows is None else values[rows] for rows in (options.sources, options.targets))
        both = options.sources is None and options.targets is None
        progress.stage(f"distances: {len(sources)} × {len(targets)}")
        matrix = metric.pairwise(sources, None if both else targets)
    names = options.targets if options.targets is not None else range(len(values))
    write_table(options.output, {f"to_{row}": matrix[:, i] for i, row in enumerate(names)})
    finite = matrix[np.isfinite(matrix)]
    largest = finite.max() if finite.size else np.nan
    kept = f"{metric.axes_.shape[1]} principal components above the noise"
    print(f"dimension {metric.rank_}, bandwidth {metric.bandwidth_:.4g}, {kept}")
    print(f"{matrix.shape[0]} × {matrix.shape[1]} distances, largest {largest:.4g}")
    for what, count in (("not connected (inf)", np.isinf(matrix).sum()), ("not found (NaN)", np.isnan(matrix).sum())):
        if count:
            print(f"  {what}: {count}")
    for note in [*table.notes, *messages]:
        print(f"note: {note}")
    print(f"wrote {options.output}")
    if options.report is not None:
        account = account_of_distances(options.data, metric, values, sources, targets, matrix, messages)
        write_report(options, account, metric, values)
