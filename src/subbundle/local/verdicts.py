"""Whether the bundle is defined at a point: the two conditions, as status codes."""

from __future__ import annotations

from subbundle._compiled import kernel
from subbundle._numbers import SINGULAR
from subbundle._types import Status

_OK, _LEFT_SUPPORT, _GAP_CLOSED = int(Status.OK), int(Status.LEFT_SUPPORT), int(Status.GAP_CLOSED)


@kernel
def mass_verdict(log_mass, log_floor):
    """LEFT_SUPPORT where the kernel mass is at or below the floor."""
    return _OK if log_mass > log_floor else _LEFT_SUPPORT


@kernel
def gap_verdict(values, rank, min_gap):
    """GAP_CLOSED where λ_k − λ_{k+1} is too small to say which directions the subspace holds."""
    gap = values[rank - 1] - values[rank]
    return _OK if gap > min_gap * values[rank - 1] and gap > SINGULAR * values[0] else _GAP_CLOSED
