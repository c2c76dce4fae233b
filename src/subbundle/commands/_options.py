"""Options that the commands share."""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path
from typing import Any

# Metres.
_UNITS = {"km": 1e3, "m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
_UNIT_NAMES = {
    "metre": "m", "meter": "m", "centimetre": "cm", "centimeter": "cm", "millimetre": "mm", "millimeter": "mm",
    "µm": "um", "micron": "um", "inch": "in", "foot": "ft", "kilometre": "km", "kilometer": "km",
}  # fmt: skip


def add_scans(parser: argparse.ArgumentParser) -> None:
    """Options of everything that takes scans."""
    parser.add_argument(
        "scans", type=Path, nargs="+", metavar="SCAN",
        help="points: .ply, .obj, .stl, .off, .pcd, .xyz, .pts, .csv, .npy, .npz, .las, .laz, .e57, …; several are "
        "taken together, and an .aln file names several with their places",
    )  # fmt: skip
    parser.add_argument(
        "--transform", action="append", metavar="FILE",
        help="a 4 × 4 matrix (.txt or .json) that moves a scan to its place, or identity; once for every scan",
    )  # fmt: skip
    parser.add_argument(
        "--crop", type=crop, default=None, metavar="BOX",
        help="take only points in xmin,xmax,ymin,ymax,zmin,zmax, in the units of the scan; an empty entry is no limit",
    )  # fmt: skip
    parser.add_argument(
        "--units", type=units, default=None, metavar="UNIT",
        help="unit of the scan, like mm, noted in the output; m:mm turns metres into millimetres, in which figures and "
        f"--bandwidth are then ({', '.join(_UNITS)})",
    )  # fmt: skip
    parser.add_argument("--no-normals", action="store_true", help="take no notice of the normals in the files")
    parser.add_argument(
        "--save-outliers", type=Path, default=None, metavar="FILE",
        help="write the outliers, as they were measured, to this cloud (.ply, .csv, .npy, .parquet)",
    )  # fmt: skip


def crop(text: str) -> Any:
    """A box [3, 2]."""
    import numpy as np

    words = [word.strip() for word in text.split(",")]
    wrong = argparse.ArgumentTypeError(
        f"must be six numbers xmin,xmax,ymin,ymax,zmin,zmax (empty for no limit), like 0,1,,,-2,2; got {text!r}"
    )
    try:
        ends = [float(word) if word else (-1) ** (i + 1) * math.inf for i, word in enumerate(words)]
    except ValueError:
        raise wrong from None
    if len(ends) != 6 or any(math.isnan(end) for end in ends):
        raise wrong
    box = np.array(ends).reshape(3, 2)
    for axis, (low, high) in zip("xyz", box, strict=True):
        if not low < high:
            raise argparse.ArgumentTypeError(f"must have {axis}min < {axis}max; got {low:g} and {high:g}")
    return box


def units(text: str) -> tuple[str, float]:
    """The unit that lengths are in, and what they are multiplied by to be so."""
    names = [_UNIT_NAMES.get(name, name) for name in re.sub(r"s\b", "", text.strip().lower()).split(":")]
    if len(names) > 2 or any(name not in _UNITS for name in names):
        raise argparse.ArgumentTypeError(
            f"must be one of {', '.join(_UNITS)}, or two like m:mm to turn metres into millimetres; got {text!r}"
        )
    return names[-1], float(f"{_UNITS[names[0]] / _UNITS[names[-1]]:.12g}")


def add_learning(parser: argparse.ArgumentParser) -> None:
    """Options of everything that learns a bundle."""
    parser.add_argument(
        "data", type=Path, help="rows of numbers: .csv, .npy, .parquet, or a cloud (.ply, .obj, .xyz, …)"
    )
    add_bandwidth(parser)
    parser.add_argument("--raw", action="store_true", help="learn from the observations as they are, without denoising")
    parser.add_argument("--jobs", type=positive_integer, default=None, metavar="N", help="threads (default: all cores)")


def add_bandwidth(parser: argparse.ArgumentParser) -> None:
    """The bandwidth of a bundle."""
    parser.add_argument(
        "--bandwidth",
        type=bandwidth_or_local,
        default="auto",
        help="standard deviation of the kernel, auto (default) or local: one for every place",
    )


def add_columns(parser: argparse.ArgumentParser, *, missing: tuple[str, ...]) -> None:
    """Options that say what the columns of a table are; ``missing``: what can be done with rows that lack numbers."""
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
            "--missing", choices=missing, default=missing[0], help="what to do with rows that lack numbers: refuse "
            "them, leave them out, or (local) place them by the numbers they have" if "local" in missing else
            "what to do with rows that lack numbers: refuse them, or leave them out",
        )  # fmt: skip


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


def face_count(text: str) -> int:
    """A number of triangles."""
    if not (text.isascii() and text.isdigit() and int(text) >= 4):
        raise argparse.ArgumentTypeError(f"must be at least 4, the triangles of the smallest closed mesh; got {text!r}")
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
