"""`TilePlan`: space divided into boxes, each with the file of the observations whose *input* position lies in it.

The boxes are recursive bisections of one box whose corners are multiples of a power of two, so that their borders
depend on the data only through its extent. Every observation is owned by one tile; `TilePlan.tile` adds those of a halo
around it, in the order of their row numbers.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import write_text
from subbundle._types import FloatArray, IntArray
from subbundle._validation import as_integer, as_nonnegative

_FILE = "plan.json"
_VERSION = 1


def record(dim: int) -> np.dtype[np.void]:
    """An observation in a tile's file: its row number in the source and its coordinates."""
    return np.dtype([("row", "<i8"), ("x", "<f8", (dim,))])


@dataclass(frozen=True, slots=True)
class TilePoints:
    """The observations of a tile and of its halo, in the order of their rows.

    Attributes
    ----------
    points : [n, d]
    rows : [n]
        Row number in the source.
    owned : [n]
        Whether the tile owns the observation; the others belong to its halo.
    box : [2, d]
        Corners of the tile, without halo.
    """

    points: FloatArray
    rows: IntArray
    owned: NDArray[np.bool_]
    box: FloatArray


@dataclass(frozen=True)
class TilePlan:
    """Tiles of a cloud on disk.

    Attributes
    ----------
    folder : str
        Folder of the tiles.
    boxes : [m, 2, d]
        Lower and upper corners.
    counts : tuple of int
        Observations of each tile; none is empty.
    checksums : tuple of int
        CRC-32 of the tiles' files.
    n_rows, n_left_out : int
        Rows of the source, and those among them that are not finite or out of bounds, which are in no tile.
    made_of : str
        Hash of source and options.
    """

    folder: str
    boxes: FloatArray = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    checksums: tuple[int, ...] = field(repr=False)
    n_rows: int
    n_left_out: int
    made_of: str

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def dim(self) -> int:
        """Coordinates of a point."""
        return int(self.boxes.shape[2])

    @property
    def n_points(self) -> int:
        """Observations of all tiles."""
        return sum(self.counts)

    @cached_property
    def token(self) -> str:
        """Hash of all tiles, equal for the same points in the same tiles."""
        content = json.dumps([self.boxes.tolist(), self.checksums])
        return hashlib.sha256(content.encode()).hexdigest()

    def describe(self, tile: int) -> str:
        """Box and number of observations of a tile, for messages."""
        low, high = self.boxes[tile]
        place = " × ".join(f"{a:g}..{b:g}" for a, b in zip(low, high, strict=True))
        return f"tile {tile} ({place}, {self.counts[tile]} points)"

    def path(self, tile: int) -> Path:
        """The file of a tile."""
        return Path(self.folder) / "tiles" / f"{tile:06d}.npy"

    def tile(self, tile: int, halo: float = 0.0) -> TilePoints:
        """The observations of ``tile``, and those within ``halo`` of its box along every axis."""
        low, high = self.boxes[as_integer(tile, "tile", low=0, high=len(self) - 1)]
        found = [self._read(tile)]
        n_own, near = len(found[0]), self.neighbours(tile, as_nonnegative(halo, "halo"))
        found += [self._within(other, low - halo, high + halo) for other in near]
        records = np.concatenate(found)
        order = np.argsort(records["row"], kind="stable")
        return TilePoints(
            np.ascontiguousarray(records["x"][order]), records["row"][order], order < n_own, self.boxes[tile]
        )

    def neighbours(self, tile: int, halo: float) -> list[int]:
        """Tiles within ``halo`` of the box of ``tile`` along every axis."""
        low, high = self.boxes[tile]
        return [other for other in self.meeting(low - halo, high + halo) if other != tile]

    def meeting(self, low: FloatArray, high: FloatArray) -> list[int]:
        """Tiles whose boxes intersect the box from ``low`` to ``high`` [d]."""
        touching = (self.boxes[:, 0] <= high).all(axis=1) & (self.boxes[:, 1] >= low).all(axis=1)
        return [int(tile) for tile in np.flatnonzero(touching)]

    def _within(self, tile: int, low: FloatArray, high: FloatArray) -> NDArray[np.void]:
        records = self._read(tile)
        return records[inside(records["x"], low, high)]

    def _read(self, tile: int) -> NDArray[np.void]:
        """The records of a tile; raises where they are not those that were written."""
        path = self.path(tile)
        try:
            records: NDArray[np.void] = np.load(path, allow_pickle=False)
            whole = checksum(records) == self.checksums[tile]
        except (OSError, ValueError, EOFError):
            whole = False
        if not whole:
            raise ValueError(
                f"the file of tile {tile}, {path}, is damaged or missing: it is not what was written. Remove the work "
                "folder and start again, without --resume"
            )
        return records

    def save(self) -> None:
        """Write the plan into the folder of its tiles, after these."""
        content = {
            "version": _VERSION, "made_of": self.made_of, "n_rows": self.n_rows, "n_left_out": self.n_left_out,
            "boxes": self.boxes.tolist(), "counts": self.counts, "checksums": self.checksums,
        }  # fmt: skip
        write_text(Path(self.folder) / _FILE, json.dumps(content))

    @staticmethod
    def open(folder: str | Path) -> TilePlan:
        """The plan that `save` wrote to ``folder``."""
        content: dict[str, Any] = json.loads((Path(folder) / _FILE).read_text())
        return TilePlan(
            str(folder), np.array(content["boxes"]), tuple(content["counts"]), tuple(content["checksums"]),
            content["n_rows"], content["n_left_out"], content["made_of"],
        )  # fmt: skip

    @staticmethod
    def exists(folder: str | Path, made_of: str) -> bool:
        """Whether ``folder`` holds a complete plan of this source and these options."""
        path = Path(folder) / _FILE
        return path.is_file() and json.loads(path.read_text()).get("made_of") == made_of


def inside(points: FloatArray, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Which ``points`` [n, d] lie between the corners; those that are not finite do not.

    Column by column: reducing over the last axis of so few takes five times as long.
    """
    found = np.ones(len(points), np.bool_)
    for axis in range(points.shape[1]):
        column = points[:, axis]
        found &= (column >= low[axis]) & (column <= high[axis])
    return found


def within(points: FloatArray, box: FloatArray | None) -> NDArray[np.bool_]:
    """Which of the ``points`` [n, d] are finite and in the ``box`` [2, d], if there is one."""
    largest = np.full(points.shape[1], np.finfo(np.float64).max)
    return inside(points, *((-largest, largest) if box is None else np.clip(box, -largest, largest)))


def checksum(records: NDArray[np.void]) -> int:
    """CRC-32 of the content."""
    return zlib.crc32(np.ascontiguousarray(records).view(np.uint8).data)
