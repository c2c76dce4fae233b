"""Types of option values for `argparse`."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

# Metres.
UNITS = {"km": 1e3, "m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254, "ft": 0.3048}
_UNIT_NAMES = {
    "metre": "m", "meter": "m", "centimetre": "cm", "centimeter": "cm", "millimetre": "mm", "millimeter": "mm",
    "µm": "um", "micron": "um", "inch": "in", "foot": "ft", "kilometre": "km", "kilometer": "km",
}  # fmt: skip


def _whole(wanted: str, low: int, high: float = math.inf) -> Callable[[str], int]:
    """The type of integers in ``low..high``; ``wanted`` describes them."""

    def integer(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise ArgumentTypeError(f"must be {wanted}; got {text!r}")
        return int(text)

    return integer


def _or(convert: Callable[[str], Any], *names: str) -> Callable[[str], Any]:
    """The type ``convert``, or one of ``names`` as it is."""

    def value(text: str) -> Any:
        try:
            return text if text in names else convert(text)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(str(error).replace("; got", f", or {' or '.join(names)}; got")) from None

    return value


def positive(text: str) -> float:
    """A positive number."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < math.inf:
        raise ArgumentTypeError(f"must be a positive number; got {text!r}")
    return value


positive_integer = _whole("a positive integer", 1)
seed = _whole("an integer >= 0", 0)
face_count = _whole("at least 4, the triangles of the smallest closed mesh", 4)
port = _whole("a port number in 0..65535", 0, 65535)
dimension = _or(positive_integer, "auto")
bandwidth = _or(positive, "auto")
bandwidth_or_local = _or(positive, "auto", "local")


def row_numbers(text: str) -> list[int]:
    """Row numbers, counted from 0, separated by commas."""
    entries = text.split(",")
    if not all(entry.isascii() and entry.isdigit() for entry in entries):
        raise ArgumentTypeError(f"must be row numbers like 0,5,12; got {text!r}")
    return [int(entry) for entry in entries]


def names(text: str) -> list[str]:
    """Names separated by commas."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise ArgumentTypeError(f"must be names of columns like age,height; got {text!r}")
    return found


def image_shape(text: str) -> tuple[int, int]:
    """Height and width."""
    sides = text.lower().split("x")
    if len(sides) != 2 or not all(side.isascii() and side.isdigit() and int(side) > 0 for side in sides):
        raise ArgumentTypeError(f"must be height x width like 28x28; got {text!r}")
    return int(sides[0]), int(sides[1])


def place(text: str) -> tuple[float, ...]:
    """A point of space."""
    try:
        point = tuple(float(entry) for entry in text.split(","))
    except ValueError:
        point = ()
    if len(point) != 3 or not all(math.isfinite(entry) for entry in point):
        raise ArgumentTypeError(f"must be three numbers like 0.5,0,-0.1; got {text!r}")
    return point


def crop(text: str) -> Any:
    """A box [3, 2]."""
    import numpy as np

    wrong = ArgumentTypeError(
        f"must be six numbers xmin,xmax,ymin,ymax,zmin,zmax (empty for no limit), like 0,1,,,-2,2; got {text!r}"
    )
    try:
        ends = [float(end) if end.strip() else (-1) ** (i + 1) * math.inf for i, end in enumerate(text.split(","))]
    except ValueError:
        raise wrong from None
    if len(ends) != 6 or any(math.isnan(end) for end in ends):
        raise wrong
    box = np.array(ends).reshape(3, 2)
    for axis, (low, high) in zip("xyz", box, strict=True):
        if not low < high:
            raise ArgumentTypeError(f"must have {axis}min < {axis}max; got {low:g} and {high:g}")
    return box


def units(text: str) -> tuple[str, float]:
    """The unit of the output, and the factor that converts lengths to it."""
    found = [_UNIT_NAMES.get(name, name) for name in re.sub(r"s\b", "", text.strip().lower()).split(":")]
    if len(found) > 2 or any(name not in UNITS for name in found):
        raise ArgumentTypeError(
            f"must be one of {', '.join(UNITS)}, or two like m:mm to convert metres to millimetres; got {text!r}"
        )
    return found[-1], float(f"{UNITS[found[0]] / UNITS[found[-1]]:.12g}")
