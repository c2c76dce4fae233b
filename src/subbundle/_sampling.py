"""Rows sampled by the hash of their number, independent of the partition of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import IntArray

# Rows of the sample that estimators fit when a table is larger than memory: these take seconds.
FITTED = 50_000


def row_hash(rows: Any) -> NDArray[np.uint64]:
    """SplitMix64 of row numbers [n]: uniform over 0..2⁶⁴ − 1."""
    with np.errstate(over="ignore"):
        z = (np.asarray(rows).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def in_fraction(rows: Any, fraction: float) -> NDArray[np.bool_]:
    """Which ``rows`` [n] are among the ``fraction`` of all numbers with the smallest hashes."""
    if fraction >= 1.0:
        return np.ones(len(rows), np.bool_)
    return np.asarray(row_hash(rows) <= np.uint64(fraction * (2**64 - 2**11)))


def smallest(rows: IntArray, count: int) -> IntArray:
    """Places in ``rows`` of the ``count`` rows with the smallest hash, in the order of the rows."""
    if len(rows) <= count:
        return np.argsort(rows, kind="stable")
    chosen = np.argsort(row_hash(rows), kind="stable")[:count]
    return np.asarray(chosen[np.argsort(rows[chosen], kind="stable")])


def fraction_for(count: int, total: int) -> float:
    """A fraction of ``total`` rows with the ``count`` of smallest hashes among them: six standard deviations more."""
    count = min(count, total)
    return min((count + 6.0 * float(np.sqrt(count)) + 30.0) / max(total, 1), 1.0)
