"""Options that the commands share."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_learning(parser: argparse.ArgumentParser) -> None:
    """Options of everything that learns a bundle."""
    parser.add_argument(
        "data", type=Path, help="rows of numbers: .csv, .npy, .parquet, or a cloud (.ply, .obj, .xyz, …)"
    )
    parser.add_argument(
        "--bandwidth",
        type=bandwidth_or_local,
        default="auto",
        help="standard deviation of the kernel, auto (default) or local: one for every place",
    )
    parser.add_argument("--raw", action="store_true", help="learn from the observations as they are, without denoising")
    parser.add_argument("--jobs", type=positive_integer, default=None, metavar="N", help="threads (default: all cores)")


def add_columns(parser: argparse.ArgumentParser, *, missing: bool) -> None:
    """Options that say what the columns of a table are; ``missing`` where rows can be left out."""
    parser.add_argument(
        "--standardize", action="store_true", help="give all columns mean 0 and standard deviation 1 first"
    )
    parser.add_argument(
        "--drop", type=names, default=[], metavar="NAMES", help="columns to leave out, separated by commas"
    )
    parser.add_argument(
        "--categorical", type=names, default=[], metavar="NAMES", help="columns that become one of 0 and 1 per value"
    )
    if missing:
        parser.add_argument(
            "--missing", choices=("refuse", "drop"), default="refuse", help="what to do with rows that lack numbers"
        )


def names(text: str) -> list[str]:
    """Names separated by commas."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"must be names of columns like age,height; got {text!r}")
    return found


def bandwidth(text: str) -> float | str:
    """A positive number, or auto."""
    return "auto" if text == "auto" else positive(text)


def dimension(text: str) -> int | str:
    """A positive integer, or auto."""
    return "auto" if text == "auto" else positive_integer(text)


def bandwidth_or_local(text: str) -> float | str:
    """A positive number, auto or local."""
    return "local" if text == "local" else bandwidth(text)


def positive(text: str) -> float:
    """A positive number."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number; got {text!r}")
    return value


def positive_integer(text: str) -> int:
    """A positive integer."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"must be a positive integer; got {text!r}")
    return int(text)


def row_numbers(text: str) -> list[int]:
    """Row numbers, counted from 0, separated by commas."""
    entries = text.split(",")
    if not all(entry.isascii() and entry.isdigit() for entry in entries):
        raise argparse.ArgumentTypeError(f"must be row numbers like 0,5,12; got {text!r}")
    return [int(entry) for entry in entries]


def check_rows(rows: list[int], count: int, name: str) -> None:
    """Raise when a row does not exist."""
    wrong = [row for row in rows if not 0 <= row < count]
    if wrong:
        raise ValueError(f"{name} must name rows 0..{count - 1} of the data; got {wrong[0]}.")
