"""``subbundle embed data.csv -o coords.csv``: coordinates of a user's own table."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from subbundle.commands._options import add_learning, check_rows, positive, positive_integer

HELP = "give every row of a table its coordinates on the submanifold through the middle of the data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``embed``."""
    add_learning(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=".csv, .npy or .parquet")
    parser.add_argument(
        "--dim", type=positive_integer, default=2, metavar="K", help="number of coordinates (default 2)"
    )
    parser.add_argument(
        "--method",
        choices=("chart", "atlas"),
        default="chart",
        help="one chart from a base point (default), or an atlas of many small ones for the whole shape",
    )
    parser.add_argument(
        "--figure", type=Path, default=None, metavar="FILE", help="with --method atlas: also draw the coordinates"
    )
    parser.add_argument(
        "--radius", type=positive, default=None, help="largest distance from the base point (default: auto)"
    )
    parser.add_argument(
        "--base-row",
        type=int,
        default=None,
        metavar="ROW",
        help="row to start from, counted from 0 (default: a central one)",
    )
    parser.add_argument(
        "--nan", action="store_true", help="NaN, not the nearest border point, for rows that are not reached"
    )
    parser.add_argument("--save", type=Path, default=None, metavar="MODEL", help="also write the fitted model, .npz")
    parser.add_argument(
        "--model", type=Path, default=None, metavar="MODEL", help="use this saved model instead of fitting one"
    )


def run(options: argparse.Namespace) -> None:
    """Read, fit or load, transform, write, and say what was chosen."""
    if options.method == "atlas":
        from subbundle.commands._embed_atlas import run_atlas

        run_atlas(options)
        return
    import numpy as np

    from subbundle import saving
    from subbundle._progress import Progress
    from subbundle._types import Status, SubbundleWarning, count_statuses
    from subbundle.commands._tables import check_output, read_table, write_table
    from subbundle.estimators import PrincipalSubmanifold

    check_output(options.output)
    progress = Progress()
    progress.stage(f"reading {options.data}")
    table = read_table(options.data)
    if table.left_out:
        progress.stage(f"left out, not numbers: {', '.join(table.left_out)}")
    values = table.values
    with warnings.catch_warnings():
        # What they say stands in the summary.
        warnings.simplefilter("ignore", SubbundleWarning)
        if options.model is not None:
            progress.stage(f"loading {options.model}")
            model = saving.load(options.model)
            if not isinstance(model, PrincipalSubmanifold):
                raise ValueError(
                    f"{options.model} must hold a PrincipalSubmanifold; it holds a {type(model).__name__}."
                )
        else:
            if options.base_row is not None:
                check_rows([options.base_row], len(values), "--base-row")
            progress.stage(
                f"learning {options.dim} coordinates from {values.shape[0]} rows of {values.shape[1]} features"
            )
            model = PrincipalSubmanifold(
                options.dim,
                bandwidth=options.bandwidth,
                base_point="frechet" if options.base_row is None else values[options.base_row],
                radius="auto" if options.radius is None else options.radius,
                denoise=not options.raw,
                outside="nan" if options.nan else "nearest",
                n_jobs=options.jobs,
            ).fit(values)
        progress.stage("placing the rows")
        coordinates, residuals, status = model.locate(values)
    columns = {f"coordinate_{i + 1}": coordinates[:, i] for i in range(coordinates.shape[1])}
    write_table(options.output, {**columns, "residual": residuals, "status": status.astype(np.int64)})
    print(f"{len(values)} rows, {values.shape[1]} features, {model.axes_.shape[1]} components above the noise")
    print(
        f"bandwidth {model.bandwidth_:.4g}, radius {model.chart_.radius:.4g}, "
        f"residual {np.nanmean(residuals):.4g} on average"
    )
    print(f"inside the chart: {np.mean(status == Status.OK):.1%} of the rows")
    for words, count in count_statuses(status[status != Status.OK]).items():
        print(f"  {words}: {count}")
    print(f"wrote {options.output}")
    if options.save is not None:
        print(f"wrote {saving.save(model, options.save)}")
