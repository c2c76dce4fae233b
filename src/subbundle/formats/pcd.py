"""Reading ``.pcd``, the format of the Point Cloud Library: ascii, binary, and binary compressed by LZF.

The header lists the fields with the bytes, the type (F, I, U) and the count of each; compressed files hold all numbers
of the first field, then all of the second, and so on. A chunk of LZF begins with a byte c. Below 32, c + 1 literals
follow; else l = c >> 5 (7: plus the next byte) and l + 2 bytes are repeated, from 256 (c & 31) + next byte + 1
back.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle.formats.columns import LONGEST_HEADER, Content, named

# Three bytes of LZF decode to 264 at most.
_EXPANSION = 88
# A field holds fewer numbers than this.
_MOST_NUMBERS = 65536
_KINDS = {"F": (4, 8), "I": (1, 2, 4, 8), "U": (1, 2, 4, 8)}


def read_pcd(path: Path) -> Content:
    """Points with their fields; ``rgb`` is split into bytes, and padding is left out."""
    with open(path, "rb") as stream:
        header, form = _header(stream)
        layout, count = _layout(header)
        if form == "ascii":
            table = _ascii(stream, layout, count)
        elif form == "binary":
            wanted = layout.itemsize * count
            _check_length(wanted, min(path.stat().st_size - stream.tell(), wanted))
            table = np.frombuffer(stream.read(wanted), layout, count)
        else:
            table = _compressed(stream.read(), layout, count)
    columns = {name: table[name] for name in layout.names or () if not name.startswith("_")}
    lower = {name.lower(): name for name in columns}
    if not set("xyz") <= set(lower):
        raise ValueError(f"its fields must be x, y, z and others; they are {', '.join(columns)[:200]}")
    points = np.column_stack([columns.pop(lower[axis]).astype(np.float64) for axis in "xyz"])
    for packed in ("rgb", "rgba"):
        if packed in columns and columns[packed].dtype.itemsize == 4:
            bits = np.ascontiguousarray(columns.pop(packed)).view(np.uint32)
            shades = {"red": bits >> 16, "green": bits >> 8, "blue": bits}
            columns |= {name: (shade & 255).astype(np.uint8) for name, shade in shades.items()}
    return named(points, columns)


def _header(stream: Any) -> tuple[dict[str, list[str]], str]:
    """The entries of the header by name, and how the points are stored; the stream is left where they begin."""
    entries: dict[str, list[str]] = {}
    while stream.tell() < LONGEST_HEADER:
        line = stream.readline(4096)
        words = line.decode("ascii", errors="replace").partition("#")[0].split()
        if not line:
            break
        if not words:
            continue
        if words[0].upper() == "DATA":
            form = words[1].lower() if len(words) > 1 else ""
            if form not in ("ascii", "binary", "binary_compressed"):
                raise ValueError(f"its points must be ascii, binary or binary_compressed; they are {form[:40]!r}")
            return entries, form
        entries[words[0].upper()] = words[1:]
    raise ValueError("it is cut off or no PCD file: its header has no line that begins with DATA")


def _layout(header: dict[str, list[str]]) -> tuple[np.dtype[Any], int]:
    """The type of a record, and how many there are."""
    names = header.get("FIELDS", header.get("COLUMNS", []))
    sizes, kinds = header.get("SIZE", []), header.get("TYPE", [])
    counts = header.get("COUNT", ["1"] * len(names))
    if not names or not len(names) == len(sizes) == len(kinds) == len(counts):
        raise ValueError("its header is damaged: FIELDS, SIZE, TYPE and COUNT must be as many")
    fields: list[Any] = []
    for i, (name, size, kind, count) in enumerate(zip(names, sizes, kinds, counts, strict=True)):
        known_kind = size.isdigit() and int(size) in _KINDS.get(kind.upper(), ())
        if not (known_kind and count.isdigit() and int(count) < _MOST_NUMBERS):
            raise ValueError(f"its header is damaged: the field {name[:40]} has type {kind[:9]}, size {size[:9]}")
        known = name == "_" or name in [field[0] for field in fields]
        field = (f"_{i}" if known or int(count) != 1 else name, f"<{kind.lower()}{size}")
        fields.append(field if int(count) == 1 else (*field, (int(count),)))
    number = header.get("POINTS") or ["x"]
    if not number[0].isdigit():
        shape = [entry[0] for entry in (header.get("WIDTH"), header.get("HEIGHT")) if entry and entry[0].isdigit()]
        if len(shape) < 2:
            raise ValueError("its header is damaged: the number of points is missing")
        return np.dtype(fields), int(shape[0]) * int(shape[1])
    return np.dtype(fields), int(number[0])


def _check_length(announced: int, found: int) -> None:
    if announced != found:
        raise ValueError(f"it announces {announced} bytes of points and holds {found}")


def _ascii(stream: Any, layout: np.dtype[Any], count: int) -> NDArray[Any]:
    width = sum(int(np.prod(layout[name].shape, dtype=np.int64)) for name in layout.names or ())
    text = stream.read()
    if count * (2 * width) > len(text) + 1:
        raise ValueError(f"it announces {count} points, more than its {len(text)} bytes of text can hold")
    if count == 0:
        return np.empty(0, layout)
    table = np.loadtxt(io.BytesIO(text), ndmin=2)
    if table.shape != (count, width):
        found = " of ".join(map(str, table.shape))
        raise ValueError(f"it announces {count} points of {width} numbers and holds {found}")
    rows, at = np.empty(count, layout), 0
    for name in layout.names or ():
        size = int(np.prod(layout[name].shape, dtype=np.int64))
        # Packed colours are written as the integer of their bits.
        packed = name in ("rgb", "rgba") and layout[name] == np.float32 and (table[:, at] >= 1.0).any()
        with np.errstate(invalid="ignore", over="ignore"):
            if packed:
                rows[name] = np.clip(table[:, at], 0.0, 2.0**32 - 1.0).astype(np.uint32).view(np.float32)
            else:
                rows[name] = table[:, at : at + size].reshape(count, *layout[name].shape)
        at += size
    return rows


def _compressed(content: bytes, layout: np.dtype[Any], count: int) -> NDArray[Any]:
    if len(content) < 8:
        raise ValueError("it is cut off: the sizes of its compressed points are missing")
    packed, size = struct.unpack_from("<II", content)
    _check_length(layout.itemsize * count, size)
    _check_length(packed, min(len(content) - 8, packed))
    if size > _EXPANSION * packed:
        raise ValueError(f"it announces {size} bytes of points in {packed} compressed ones, which hold fewer")
    data, rows, at = unpacked(content[8 : 8 + packed], size), np.empty(count, layout), 0
    for name in layout.names or ():
        kind = layout[name]
        rows[name] = np.frombuffer(data, kind.base, count * int(np.prod(kind.shape, dtype=np.int64)), at).reshape(
            count, *kind.shape
        )
        at += kind.itemsize * count
    return rows


def unpacked(packed: bytes, size: int) -> bytes:
    """The ``size`` bytes that LZF compressed to ``packed``."""
    out, at, end = bytearray(), 0, len(packed)
    try:
        while at < end:
            control = packed[at]
            at += 1
            if control < 32:
                out += packed[at : at + control + 1]
                at += control + 1
                continue
            length = control >> 5
            if length == 7:
                length += packed[at]
                at += 1
            start = len(out) - 256 * (control & 31) - packed[at] - 1
            at, length = at + 1, length + 2
            if start < 0 or len(out) + length > size:
                break
            piece = out[start : start + length]
            out += piece if len(piece) == length else (piece * (length // len(piece) + 1))[:length]
    except IndexError:
        pass
    if len(out) != size or at != end:
        raise ValueError("its compressed points are damaged")
    return bytes(out)
