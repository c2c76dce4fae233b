"""``subbundle embed data.csv -o coords.csv``: coordinates of a user's own table."""

from __future__ import annotations

import argparse
from pathlib import Path

from subbundle.commands._options import add_columns, add_learning, bandwidth, dimension
from subbundle.commands._report import add_report, check_report
from subbundle.commands._scale_out import add_scale_out, is_asked_for, offer_pieces

HELP = "give every row of a table its coordinates on the submanifold through the middle of the data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``embed``."""
    add_learning(parser)
    add_columns(parser, missing=("refuse", "drop", "local"))
    parser.add_argument(
        "--label", default=None, metavar="NAME", help="column to carry to the output and the colours, not to learn from"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=None, metavar="FILE",
        help=".csv, .npy or .parquet (default: DATA-coordinates.csv); a folder for tables larger than memory",
    )  # fmt: skip
    parser.add_argument(
        "--dim", type=dimension, default=2, metavar="K", help="number of coordinates (default 2), or auto"
    )
    parser.add_argument(
        "--method",
        choices=("atlas", "chart"),
        default=None,
        help="an atlas of many small charts for the whole shape (default), or one chart from a base point",
    )
    parser.add_argument(
        "--figure", type=Path, default=None, metavar="FILE", help="with --method atlas: also draw the coordinates"
    )
    parser.add_argument(
        "--radius", type=bandwidth, default="auto", help="largest distance from the base point, or auto (default)"
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
    add_scale_out(parser)
    add_report(parser)


def run(options: argparse.Namespace) -> None:
    """Coordinates by the chosen method, or by that of the saved model."""
    if is_asked_for(options):
        from subbundle.commands._embed_pieces import run_pieces

        run_pieces(options, _method(options))
        return
    check_report(options.report)
    offer_pieces([options.data], "embed", table=True)
    if options.output is None:
        options.output = Path(f"{options.data.stem}-coordinates.csv")
    if options.standardize and (options.save is not None or options.model is not None):
        raise ValueError(
            "--standardize cannot go with --save or --model: a model does not keep the scales. Standardize the table "
            "first, or save a scikit-learn pipeline from Python."
        )
    method = _method(options)
    if method == "chart" and options.missing == "local":
        raise ValueError(
            "--missing local belongs to --method atlas; one chart needs complete rows. Write --missing drop to leave "
            "the others out."
        )
    if method == "atlas":
        from subbundle.commands._embed_atlas import run_atlas

        run_atlas(options)
    else:
        from subbundle.commands._embed_chart import run_chart

        run_chart(options)


def _method(options: argparse.Namespace) -> str:
    if options.method is not None:
        return str(options.method)
    if options.model is None:
        return "atlas"
    from subbundle import saving
    from subbundle.estimators import PrincipalSubmanifold

    return "chart" if isinstance(saving.load(options.model), PrincipalSubmanifold) else "atlas"
