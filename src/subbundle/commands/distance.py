"""``subbundle distance data.csv -o distances.npy``: distances along the shape of a user's own table."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from subbundle.commands._options import add_columns, add_learning, check_rows, dimension, row_numbers
from subbundle.commands._report import add_report, check_report, write_report

HELP = "distances between the rows of a table along the shape they lie around"
# All pairs of more rows than this take hours and gigabytes.
MOST_ROWS = 5000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``distance``."""
    add_learning(parser)
    add_columns(parser, missing=())
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help=".npy, .csv or .parquet: a matrix"
    )
    parser.add_argument(
        "--rank", type=dimension, default=2, metavar="K", help="dimension of the shape (default 2), or auto"
    )
    parser.add_argument(
        "--from", type=row_numbers, default=None, metavar="ROWS", dest="sources", help="rows like 0,5,12 (default: all)"
    )
    parser.add_argument(
        "--to", type=row_numbers, default=None, metavar="ROWS", dest="targets", help="rows (default: all)"
    )
    add_report(parser)


def run(options: argparse.Namespace) -> None:
    """Read, fit, measure, write, and say what was chosen."""
    import numpy as np

    from subbundle._progress import Progress
    from subbundle._types import SubbundleWarning
    from subbundle.commands._learned import read_rows
    from subbundle.commands._tables import check_output, write_table
    from subbundle.estimators import GeodesicDistance

    check_output(options.output)
    check_report(options.report)
    progress = Progress()
    rows_read = read_rows(options, progress)
    values = rows_read.values
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
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SubbundleWarning)
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
    print(
        f"dimension {metric.rank_}, bandwidth {metric.bandwidth_:.4g}, {metric.axes_.shape[1]} components above the "
        "noise"
    )
    print(
        f"{matrix.shape[0]} × {matrix.shape[1]} distances, largest {finite.max() if finite.size else float('nan'):.4g}"
    )
    for words, count in (("not connected (inf)", np.isinf(matrix).sum()), ("not found (NaN)", np.isnan(matrix).sum())):
        if count:
            print(f"  {words}: {count}")
    for words in [*rows_read.notes, *dict.fromkeys(str(warning.message) for warning in said)]:
        print(f"  note: {words}")
    print(f"wrote {options.output}")
    if options.report is not None:
        from subbundle.commands._accounts import account_of_distances

        messages = [str(warning.message) for warning in said]
        account = account_of_distances(options.data, metric, values, sources, targets, matrix, messages)
        write_report(options, account, metric, values)
