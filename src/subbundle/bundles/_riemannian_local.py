"""What an evaluator of a bundle on a manifold finds at a batch of points, and whether it can be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from subbundle._numbers import SINGULAR
from subbundle._types import BoolArray, FloatArray, Status, StatusArray
from subbundle.local.settings import Settings


@dataclass(frozen=True, slots=True)
class Local:
    """Subspaces and kernel masses at a batch of points, as flat arrays.

    Attributes
    ----------
    values : [batch, dim N]
        Eigenvalues of the second moment, descending.
    vectors, duals : [batch, rank, D]
        The frame f_i, orthonormal for h, and h f_i.
    mean : [batch, D]
        m(p) = exp_p(Σ w_n log_p x_n).
    log_mass : [batch]
        log Σ φ_n at the point.
    status : [batch]
    """

    values: FloatArray
    vectors: FloatArray
    duals: FloatArray
    mean: FloatArray
    log_mass: FloatArray
    status: StatusArray


def concatenate(parts: Sequence[Local]) -> Local:
    """One record from several."""
    if len(parts) == 1:
        return parts[0]
    return Local(*(np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(Local)))


def judge(settings: Settings, values: FloatArray, log_mass: FloatArray, cut: BoolArray) -> StatusArray:
    """Status [batch]: off the support, at the cut locus of an observation in reach, or with a closed gap.

    In full rank the subspace is the tangent space, whatever the eigenvalues.
    """
    status = np.zeros(len(values), np.int8)
    rank = settings.rank
    if rank < values.shape[1]:
        gap = values[:, rank - 1] - values[:, rank]
        is_open = (gap > settings.min_gap * values[:, rank - 1]) & (gap > SINGULAR * values[:, 0])
        status[~is_open] = Status.GAP_CLOSED
    status[cut] = Status.NOT_FINITE
    status[~(log_mass > settings.log_floor)] = Status.LEFT_SUPPORT
    return status
