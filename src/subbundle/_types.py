"""Shape-bearing aliases and the reasons a row can carry instead of a value.

Arrays are annotated by what they hold; their shapes stand in the docstrings, as ``[batch, dim]``.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
StatusArray = NDArray[np.int8]
BoolArray = NDArray[np.bool_]


class Status(IntEnum):
    """Why a row holds what it holds. Stored as ``int8`` arrays; ``Status(value).words`` explains it.

    Zero is success, so ``~status.astype(bool)`` selects the rows that can be used as they are.
    """

    OK = 0
    LEFT_SUPPORT = 1
    GAP_CLOSED = 2
    STEP_UNDERFLOW = 3
    TOO_MANY_STEPS = 4
    NOT_CONVERGED = 5
    NOT_FINITE = 6

    @property
    def words(self) -> str:
        """The reason in words, for messages and tables."""
        return _WORDS[self]


_WORDS = {
    Status.OK: "reached",
    Status.LEFT_SUPPORT: "left the support of the data",
    Status.GAP_CLOSED: "the eigenvalue gap closed",
    Status.STEP_UNDERFLOW: "the step became too small",
    Status.TOO_MANY_STEPS: "too many steps",
    Status.NOT_CONVERGED: "the iteration did not converge",
    Status.NOT_FINITE: "the numbers overflowed",
}


def count_statuses(status: StatusArray) -> dict[str, int]:
    """How many rows carry each status, in words, commonest first; statuses that do not occur are left out."""
    values, counts = np.unique(status, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {Status(int(values[i])).words: int(counts[i]) for i in order}


def all_finite(rows: FloatArray) -> NDArray[np.bool_]:
    """Whether each row of ``rows`` [n, m] holds only finite numbers."""
    finite: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(rows), axis=1)
    return finite


class SubbundleError(ValueError):
    """Base of the errors that have a name of their own here: the data cannot give what was asked for."""


class SubbundleWarning(UserWarning):
    """A result is usable but something about it should be known."""
