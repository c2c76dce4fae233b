"""The dimension that an estimator was given, or that the data has."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from subbundle._types import FloatArray, SubbundleWarning, all_finite
from subbundle._validation import as_integer
from subbundle.estimators._on_manifold import central_rows
from subbundle.selection.components import first_components
from subbundle.selection.rank import choose_rank
from subbundle.spaces.base import Space
from subbundle.spaces.rows import flattened, shaped

# Below this fraction of the places that agree, a choice is worth a warning.
_UNSURE = 0.5


def fewest_rows(rank: Any) -> int:
    """Observations needed at least, for the check that comes before everything else."""
    return 2 if isinstance(rank, str) else int(rank) + 2


def checked_rank(rank: Any, name: str) -> int | str:
    """``rank`` as a positive integer, or ``"auto"``."""
    if isinstance(rank, str):
        if rank != "auto":
            raise ValueError(f"{name} must be a positive integer or 'auto'; got {rank!r}.")
        return rank
    return as_integer(rank, name, low=1)


def settled_rank(rank: int | str, name: str, X: FloatArray, space: Space | None = None) -> int:
    """``rank`` itself, or for ``"auto"`` the dimension of the rows ``X`` [n, d], in ``space`` where there is one.

    Never the whole space, which would leave nothing to learn, and never a point.
    """
    if not isinstance(rank, str):
        return rank
    if space is not None:
        X = _tangent_coordinates(X, space)
    most = X.shape[1] - 1 if space is None else space.dim
    choice = choose_rank(X, max_rank=most)
    found = max(choice.rank, 1)
    if choice.confidence < _UNSURE:
        warnings.warn(
            f"{name}='auto' took {found}, but only {choice.confidence:.0%} of the places agree: the dimension is "
            f"uncertain, or varies, or the cloud fills the space. Look at subbundle.diagnose(X), or pass {name}.",
            SubbundleWarning,
            stacklevel=3,
        )
    return found


def _tangent_coordinates(rows: FloatArray, space: Space) -> FloatArray:
    """Logarithms [n, dim] at the most central of ``rows`` [n, D]; those without one are left out.

    Not the rows themselves: however thin, the manifold they lie on would be the first shape to be seen.
    """
    points = shaped(space, rows)
    logs = flattened(space, space.log(points, points[central_rows(rows, space)[0]]))
    known: FloatArray = np.ascontiguousarray(logs[all_finite(logs)])
    return first_components(known, space.dim).enter(known)
