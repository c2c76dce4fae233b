"""``subbundle embed``: coordinates for the rows of a table, by an atlas of many charts or by one chart."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from subbundle import saving
from subbundle._atomic import check_target
from subbundle._progress import Progress
from subbundle._types import FloatArray
from subbundle.commands._chunks import embed_chunks, is_requested, offer_chunks
from subbundle.commands._learned import check_rows, collected, read_rows
from subbundle.commands._reports import account_of_embedding, check_report, lines_of_embedding, write_report
from subbundle.commands._tables import check_output, write_table
from subbundle.embedding_figure import draw_embedding
from subbundle.estimators import AtlasEmbedding, PrincipalSubmanifold
from subbundle.estimators.coordinates import columns_of, everywhere
from subbundle.plot import require_matplotlib


def run(options: argparse.Namespace) -> None:
    """Read, fit or load, locate, write and report."""
    saved: Any = None if options.model is None else saving.load(options.model)
    kind = _kind(options, saved)
    if saved is not None and not isinstance(saved, kind):
        raise ValueError(
            f"{options.model} must hold a model of the kind {kind.__name__}; it holds a {type(saved).__name__}."
        )
    if is_requested(options):
        embed_chunks(options, new_model(kind, options) if saved is None else saved)
        return
    _check(options, kind)
    progress = Progress()
    rows = read_rows(options, progress)
    values = rows.values
    if saved is not None and saved.n_features_in_ != values.shape[1]:
        raise ValueError(
            f"{options.data.name} must have the {saved.n_features_in_} features of {options.model}; it has "
            f"{', '.join(rows.names)}. Leave columns out with --drop NAMES."
        )
    with collected() as messages:
        model = _fitted(options, kind, values, progress) if saved is None else saved
        progress.stage("locating the rows")
        found = model.locate(values).as_dict()
    write_table(options.output, {**everywhere(rows.complete, columns_of(found)), **rows.labels})
    shown = "\n".join(lines_of_embedding(model, values, found))  # with the rows outside a chart, by status
    print(shown)
    for note in [*rows.notes, *(text for text in messages if text not in shown and "outside the chart" not in text)]:
        print(f"note: {note}")
    print(f"wrote {options.output}")
    whole = np.isfinite(values).all(axis=1)
    if options.figure is not None:
        labels = next((column[rows.complete][whole] for column in rows.labels.values()), None)
        draw_embedding(model, values[whole], options.figure, labels=labels)
        print(f"wrote {options.figure}")
    if options.save is not None:
        print(f"wrote {saving.save(model, options.save)}")
    if options.report is not None:
        write_report(options, account_of_embedding(options.data, model, values, found), model, values[whole])


def _kind(options: argparse.Namespace, saved: Any) -> type[Any]:
    """The class of the estimator: that of ``--method``, of the ``saved`` model, or an atlas."""
    kinds = {"atlas": AtlasEmbedding, "chart": PrincipalSubmanifold}
    if options.method is None:
        return PrincipalSubmanifold if isinstance(saved, PrincipalSubmanifold) else AtlasEmbedding
    return kinds[options.method]


def _check(options: argparse.Namespace, kind: type[Any]) -> None:
    """Raise, before any work is done, on options that cannot be combined."""
    check_report(options.report)
    offer_chunks([options.data], "embed", table=True)
    if options.output is None:
        options.output = Path(f"{options.data.stem}-coordinates.csv")
    check_output(options.output)
    if options.standardize and (options.save is not None or options.model is not None):
        raise ValueError(
            "--standardize cannot be combined with --save or --model: a model has no scales. Standardize the table "
            "first, or save a scikit-learn pipeline from Python."
        )
    if kind is PrincipalSubmanifold:
        if options.missing == "local":
            raise ValueError(
                "--missing local belongs to --method atlas; one chart needs complete rows. Write --missing drop to "
                "leave the others out."
            )
        if options.figure is not None:
            raise ValueError("--figure belongs to --method atlas. Leave it out, or write --report page.html.")
        return
    if options.figure is not None:
        require_matplotlib()
        check_target(options.figure, (".png",), "--figure")
    for given, name in ((options.radius != "auto", "--radius"), (options.raw, "--raw")):
        if given:
            raise ValueError(
                f"{name} belongs to --method chart; an atlas covers all of the data, denoised. Leave it out."
            )


def new_model(kind: type[Any], options: argparse.Namespace, base: FloatArray | None = None) -> Any:
    """The estimator of the class ``kind`` that the options describe."""
    common = {"bandwidth": options.bandwidth, "outside": "nan" if options.nan else "nearest", "n_jobs": options.jobs}
    if kind is AtlasEmbedding:
        missing = "local" if options.missing == "local" else "raise"
        return AtlasEmbedding(options.dim, base_point=base, missing=missing, **common)
    start = "frechet" if base is None else base
    return PrincipalSubmanifold(options.dim, base_point=start, radius=options.radius, denoise=not options.raw, **common)


def _fitted(options: argparse.Namespace, kind: type[Any], values: FloatArray, progress: Progress) -> Any:
    """A new model of ``values`` [n, d]."""
    base = None
    if options.base_row is not None:
        check_rows([options.base_row], len(values), "--base-row")
        base = values[options.base_row]
    count = "" if options.dim == "auto" else f"{options.dim} "
    progress.stage(f"learning {count}coordinates from {values.shape[0]} rows of {values.shape[1]} features")
    return new_model(kind, options, base).fit(values)
