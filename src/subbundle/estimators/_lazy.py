"""Dask collections in estimators: rows mapped partition by partition, lazily; a seeded sample of them to learn from.

Nothing here imports Dask: a collection brings its own methods.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from subbundle._parallel import one_thread
from subbundle._sampling import FITTED, fraction_for, in_fraction, smallest
from subbundle._types import FloatArray, SubbundleWarning


def is_lazy(X: Any) -> bool:
    """Whether ``X`` is a Dask array or data frame."""
    return callable(getattr(X, "__dask_graph__", None))


def transformed(estimator: Any, X: Any) -> FloatArray:
    """``estimator.transform`` of a Dask collection, lazily."""
    check_is_fitted(estimator)
    return mapped(estimator.transform, X, [str(name) for name in estimator.get_feature_names_out()])


def mapped(function: Callable[[Any], FloatArray], X: Any, names: list[str]) -> FloatArray:
    """``function`` of the rows of ``X``, lazily: a Dask array for an array, a data frame with ``names`` for one.

    Each partition uses one thread: Dask processes several at once.
    """
    block = _OnOneThread(function)
    if _is_frame(X):
        empty = type(X._meta)(np.empty((0, len(names))), columns=names, index=X._meta.index[:0])
        table: FloatArray = X.map_partitions(_FrameBlock(block, names), meta=empty)
        return table
    rows = X.rechunk({1: -1})
    chunks = (rows.chunks[0], (len(names),))
    found: FloatArray = rows.map_blocks(block, dtype=np.float64, chunks=chunks, meta=np.empty((0, 0)))
    return found


class _OnOneThread:
    """A function of an array that uses only the calling thread."""

    def __init__(self, function: Callable[[Any], FloatArray]) -> None:
        self._function = function

    def __call__(self, block: Any) -> FloatArray:
        with one_thread():
            return np.asarray(self._function(block))


class _FrameBlock:
    """A function of arrays applied to data frames, with their index."""

    def __init__(self, block: _OnOneThread, names: list[str]) -> None:
        self._block, self._names = block, names

    def __call__(self, frame: Any) -> Any:
        if len(frame) == 0:
            return type(frame)(np.empty((0, len(self._names))), columns=self._names, index=frame.index)
        return type(frame)(self._block(frame), columns=self._names, index=frame.index)


def sampled(X: Any, n_rows: int = FITTED, *, sample_weight: Any = None) -> Any:
    """At most ``n_rows`` rows of a Dask collection, those whose numbers have the smallest hashes, in memory.

    Anything else is returned unchanged. A warning reports the size of the sample.
    """
    if not is_lazy(X):
        return X
    if sample_weight is not None:
        raise ValueError("sample_weight must be None for Dask collections, which are subsampled for the fit.")
    lengths = _lengths(X)
    total = sum(lengths)
    share, first, parts, numbers = fraction_for(n_rows, total), 0, [], []
    for part, length in enumerate(lengths):
        rows = np.arange(first, first + length)
        chosen = np.flatnonzero(in_fraction(rows, share))
        first += length
        if chosen.size:
            numbers.append(rows[chosen])
            parts.append(_taken(X, part, chosen))
    found = _together(X, parts)
    kept = smallest(np.concatenate(numbers), n_rows) if numbers else np.empty(0, np.int64)
    if total > n_rows:
        warnings.warn(
            f"fit uses a sample of {len(kept)} of {total} rows, independent of the partitions; attributes of the "
            "training points refer to the sample.",
            SubbundleWarning,
            stacklevel=3,
        )
    return found.iloc[kept] if hasattr(found, "iloc") else found[kept]


def _is_frame(X: Any) -> bool:
    return hasattr(X, "map_partitions") and hasattr(X, "_meta") and hasattr(X, "columns")


def _lengths(X: Any) -> list[int]:
    if _is_frame(X):
        return [int(length) for length in X.map_partitions(len).compute()]
    lengths = X.chunks[0]
    if any(np.isnan(length) for length in lengths):
        lengths = X.compute_chunk_sizes().chunks[0]
    return [int(length) for length in lengths]


def _taken(X: Any, part: int, rows: Any) -> Any:
    """Rows of a partition, lazily."""
    if _is_frame(X):
        return X.get_partition(part).map_partitions(_rows_of, rows, meta=X._meta)
    return X.blocks[part][rows]


def _rows_of(frame: Any, rows: Any) -> Any:
    return frame.iloc[rows]


def _together(X: Any, parts: list[Any]) -> Any:
    """The blocks in memory, concatenated."""
    found = import_module("dask").compute(*parts)
    if _is_frame(X):
        return import_module("pandas").concat(found) if found else X._meta
    return np.concatenate(found) if found else np.empty((0, X.shape[1]))
