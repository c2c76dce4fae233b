"""``subbundle embed --method chart``: coordinates of a user's own table, from a base point."""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from subbundle import saving
from subbundle._progress import Progress
from subbundle._types import FloatArray, Status, count_statuses
from subbundle.commands._learned import fitted_or_loaded, read_rows, unwarned
from subbundle.commands._tables import check_output, write_table
from subbundle.estimators import PrincipalSubmanifold


def run_chart(options: argparse.Namespace) -> None:
    """Read, fit or load, transform, write, and say what was chosen."""
    check_output(options.output)
    progress = Progress()
    rows = read_rows(options, progress)
    values = rows.values

    with unwarned():
        model = fitted_or_loaded(options, values, progress, PrincipalSubmanifold, partial(new_chart, options))
        progress.stage("placing the rows")
        coordinates, residuals, status = model.locate(values)
    columns = {f"coordinate_{i + 1}": coordinates[:, i] for i in range(coordinates.shape[1])}
    columns |= {"residual": residuals}
    filled = {name: rows.everywhere(column, np.nan) for name, column in columns.items()}
    lost = int(Status.NOT_FINITE)
    write_table(options.output, {**filled, "status": rows.everywhere(status.astype(np.int64), lost), **rows.labels})
    print(f"{len(values)} rows, {values.shape[1]} features, {model.axes_.shape[1]} components above the noise")
    print(
        f"dimension {model.n_components_}, bandwidth {model.bandwidth_:.4g}, radius {model.radius_:.4g}, "
        f"residual {np.nanmean(residuals):.4g} on average"
    )
    print(f"inside the chart: {np.mean(status == Status.OK):.1%} of the rows")
    for words, count in count_statuses(status[status != Status.OK]).items():
        print(f"  {words}: {count}")
    for note in rows.notes:
        print(f"note: {note}")
    print(f"wrote {options.output}")
    if options.save is not None:
        print(f"wrote {saving.save(model, options.save)}")
    if options.report is not None:
        from subbundle.commands._accounts import account_of_chart
        from subbundle.commands._report import write_report

        write_report(options, account_of_chart(options.data, model, values, residuals, status), model, values)


def new_chart(options: argparse.Namespace, base: FloatArray | None) -> PrincipalSubmanifold:
    """The estimator that the options describe."""
    return PrincipalSubmanifold(
        options.dim,
        bandwidth=options.bandwidth,
        base_point="frechet" if base is None else base,
        radius=options.radius,
        denoise=not options.raw,
        outside="nan" if options.nan else "nearest",
        n_jobs=options.jobs,
    )
