"""Standard errors of means over rows, by the jackknife without one block of consecutive rows at a time.

Rows in the order of a search tree that follow one another are near each other and share neighbours: their errors are
not independent, those of blocks nearly.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from scipy.special import ndtri, stdtr

from subbundle._types import FloatArray


def without_blocks(values: FloatArray, queries: int) -> FloatArray:
    """Means [b] of ``values`` [splits · queries], each without one of √q blocks of √q consecutive queries."""
    per_query = values.reshape(-1, queries).mean(axis=0)
    blocked = np.array_split(per_query, isqrt(queries))
    return np.array([(per_query.sum() - block.sum()) / (queries - len(block)) for block in blocked])


def exceeds(means: FloatArray) -> bool:
    """Whether a statistic is above zero by more than its standard error: ``means`` [b] are its values without each
    block, and any function of such values."""
    return _in_standard_errors(means) > 1.0


def normal_score(values: FloatArray) -> float:
    """The normal score of the t statistic of the mean of ``values`` [q]; infinite where its probability is rounded."""
    means = without_blocks(values, len(values))
    return float(ndtri(stdtr(max(len(means) - 1, 1), _in_standard_errors(means))))


def _in_standard_errors(means: FloatArray) -> float:
    return float(np.mean(means) / max(np.sqrt(len(means) - 1.0) * float(np.std(means)), 1e-300))
