"""Results in the order of the rows: tiles write what they own into one file, from which files are written by pieces."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._sampling import in_share
from subbundle._types import FloatArray, Status
from subbundle.distributed.sample import SAMPLE
from subbundle.distributed.sides import follow

# Bytes of the rows' file that are in memory at a time.
_WINDOW = 1 << 26


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of ``n_rows`` records; those that no tile has written are nil."""

    path: Path
    dim: int
    n_rows: int

    @property
    def kind(self) -> np.dtype[np.void]:
        """A record: whether it is written, status, position, normal, noise, outlier score."""
        vector = ("<f8", (self.dim,))
        return np.dtype([
            ("done", "u1"), ("status", "i1"), ("x", *vector), ("normal", *vector), ("noise", "<f8"), ("score", "<f8"),
        ])  # fmt: skip

    def make(self) -> None:
        """Make the file, all records nil, with its place on the disk: whether that is full is known then."""
        with open(self.path, "wb") as stream:
            left = self.n_rows * self.kind.itemsize
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(stream.fileno(), 0, left)
                return
            while left > 0:
                left -= stream.write(bytes(min(left, _WINDOW)))

    def put(self, rows: NDArray[np.int64], records: NDArray[np.void]) -> None:
        """Write ``records`` at ``rows``, which rise; a window of the file is in memory at a time."""
        width = max(_WINDOW // self.kind.itemsize, 1)
        cuts = np.flatnonzero(np.diff(rows // width)) + 1
        for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            first, last = int(rows[start]), int(rows[stop - 1])
            window = np.memmap(self.path, self.kind, "r+", first * self.kind.itemsize, (last - first + 1,))
            window[rows[start:stop] - first] = records[start:stop]
            window.flush()

    def read(self, start: int, stop: int) -> NDArray[np.void]:
        """The records of rows ``start`` to ``stop``."""
        return np.fromfile(self.path, self.kind, stop - start, offset=start * self.kind.itemsize)

    def kept(self, start: int, stop: int, level: float | None) -> NDArray[np.bool_]:
        """Which rows from ``start`` to ``stop`` are written and no outliers."""
        return _kept(self.read(start, stop), level)

    def found(
        self, start: int, stop: int, level: float | None, normals: bool
    ) -> tuple[NDArray[np.bool_], FloatArray, dict[str, NDArray[Any]]]:
        """Which of the rows are kept, their points, and the columns to be written beside them."""
        records = self.read(start, stop)
        columns: dict[str, NDArray[Any]] = {}
        if normals and self.dim == 3 and records["normal"].any():
            columns = {f"n{axis}": records["normal"][:, i] for i, axis in enumerate("xyz")}
        columns |= {"noise": records["noise"], "outlier_score": records["score"]}
        columns["status"] = records["status"].astype(np.float64)
        return _kept(records, level), records["x"], columns


def _kept(records: NDArray[np.void], level: float | None) -> NDArray[np.bool_]:
    done = records["done"] == 1
    return np.asarray(done if level is None else done & (records["score"] <= level))


def scattered_tile(path: str, file: RowFile, seeds: str) -> tuple[list[int], FloatArray]:
    """Write the results of a tile to the rows' file; how many rows have each status, and the noise of some."""
    with np.load(path, allow_pickle=False) as found:
        records = np.zeros(len(found["rows"]), file.kind)
        rows, records["x"], records["status"] = found["rows"], found["points"], found["status"]
        records["noise"], records["score"], normals = found["noise"], found["scores"], found["normals"]
    if normals.shape[1]:
        with np.load(seeds, allow_pickle=False) as turned:
            records["normal"] = follow(records["x"], normals, (turned["points"], turned["normals"]))
    records["done"] = 1
    file.put(rows, records)
    some = in_share(rows, SAMPLE / file.n_rows)
    return np.bincount(records["status"], minlength=len(Status)).tolist(), records["noise"][some]
