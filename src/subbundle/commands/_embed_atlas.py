"""``subbundle embed --method atlas``: coordinates for the whole shape of a user's own table."""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from subbundle import saving
from subbundle._progress import Progress
from subbundle._types import FloatArray, Status
from subbundle.commands._learned import fitted_or_loaded, read_rows, unwarned
from subbundle.commands._tables import check_output, write_table
from subbundle.embedding_figure import draw_embedding
from subbundle.estimators import AtlasEmbedding
from subbundle.estimators.atlas_messages import fit_message
from subbundle.plot import require_matplotlib


def run_atlas(options: argparse.Namespace) -> None:
    """Read, fit or load, place, write, and say what was found."""
    _check(options)
    progress = Progress()
    rows = read_rows(options, progress)
    values = rows.values

    with unwarned():
        model = fitted_or_loaded(options, values, progress, AtlasEmbedding, partial(new_atlas, options))
        progress.stage("placing the rows")
        found = model.locate(values).as_dict()
    coordinates = found.pop("coordinates")
    columns = {f"coordinate_{i + 1}": coordinates[:, i] for i in range(coordinates.shape[1])}
    columns |= {name: column for name, column in found.items() if name not in ("label", "status")}
    filled = {name: rows.everywhere(column, np.nan) for name, column in columns.items()}
    part = rows.everywhere(found["label"].astype(np.int64), -1)
    status = rows.everywhere(found["status"].astype(np.int64), int(Status.NOT_FINITE))
    write_table(options.output, {**filled, "part": part, "status": status, **rows.labels})
    whole = np.isfinite(values).all(axis=1)
    _say(model, values, found)
    for note in rows.notes:
        print(f"note: {note}")
    print(f"wrote {options.output}")
    if options.figure is not None:
        labels = next((column[rows.complete][whole] for column in rows.labels.values()), None)
        draw_embedding(model, values[whole], options.figure, labels=labels)
        print(f"wrote {options.figure}")
    if options.save is not None:
        print(f"wrote {saving.save(model, options.save)}")
    if options.report is not None:
        from subbundle.commands._accounts import account_of_atlas
        from subbundle.commands._report import write_report

        write_report(options, account_of_atlas(options.data, model, values, found), model, values[whole])


def new_atlas(options: argparse.Namespace, base: FloatArray | None) -> AtlasEmbedding:
    """The estimator that the options describe."""
    return AtlasEmbedding(
        options.dim,
        bandwidth=options.bandwidth,
        base_point=base,
        missing="local" if options.missing == "local" else "raise",
        outside="nan" if options.nan else "nearest",
        n_jobs=options.jobs,
    )


def _check(options: argparse.Namespace) -> None:
    """Raise, before any work is done, on options that cannot be followed."""
    check_output(options.output)
    if options.figure is not None:
        require_matplotlib()
        if options.figure.suffix.lower() != ".png":
            raise ValueError(f"--figure must end in .png; got {options.figure.name!r}.")
    for given, name in ((options.radius != "auto", "--radius"), (options.raw, "--raw")):
        if given:
            raise ValueError(
                f"{name} belongs to --method chart; an atlas covers all of the data, denoised. Leave it out."
            )


def _say(model: AtlasEmbedding, values: np.ndarray, found: dict[str, np.ndarray]) -> None:
    count = model.n_denoising_neighbors_
    averaged = f"rows averaged over {count}" if count else "rows as they are"
    print(f"{len(values)} rows, {values.shape[1]} features, {model.axes_.shape[1]} principal components kept")
    print(
        f"{len(model.atlas_.bases)} charts of dimension {model.n_components_}, {model.n_neighbors_} neighbours each, "
        f"{averaged}; "
        f"residual {np.mean(found['residual']):.4g} on average"
    )
    print(
        f"charts contradict each other by {model.alignment_residual_:.2%} of their size; distortion "
        f"{np.mean(found['distortion']):.3g} on average, {np.max(found['distortion']):.3g} at most"
    )
    print(model.quality_.sentence())
    inside = np.mean(found["status"] == Status.OK)
    print(f"inside the charts: {inside:.1%} of the rows, in {model.n_connected_components_} connected component(s)")
    message = fit_message(model)
    if message:
        print(f"note: {message}")
