"""Measurements for the laws: complete geodesics, coordinates in a frame, bounds with messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray, Status, count_statuses
from subbundle.bundles.base import Subbundle
from subbundle.flow import Trajectories, integrate


def follow(
    bundle: Subbundle,
    points: FloatArray,
    covectors: FloatArray,
    times: FloatArray,
    *,
    unit_speed: bool = True,
    **how: Any,
) -> Trajectories:
    """Integrate, and raise unless every row is complete: laws are checked on complete geodesics only."""
    run = integrate(bundle, points, covectors, times, unit_speed=unit_speed, **how)
    if (run.status != Status.OK).any():
        raise AssertionError(
            f"All geodesics must be complete for the laws to be checked; got {count_statuses(run.status)}. "
            "Start further inside, or pass a shorter length."
        )
    return run


def unit_speed(bundle: Subbundle, points: FloatArray, covectors: FloatArray) -> FloatArray:
    """``covectors`` scaled to √(2H) = 1."""
    speed = np.sqrt((covectors * bundle.field(points, covectors).velocity).sum(axis=1))
    return np.asarray(covectors / speed[:, None])


def coordinates_in(vectors: FloatArray, tangents: FloatArray) -> FloatArray:
    """F⁺ v [batch, rank]: the coordinates of ``tangents`` [batch, dim] in the frames ``vectors``."""
    gram = np.einsum("bdi,bdj->bij", vectors, vectors)
    right = np.einsum("bdi,bd->bi", vectors, tangents)
    return np.asarray(np.linalg.solve(gram, right[:, :, None])[:, :, 0])


def at_most(values: FloatArray, bound: float, law: str) -> None:
    """Assert values [batch] ≤ bound; NaN fails too."""
    bad = np.flatnonzero(~(values <= bound))
    if bad.size:
        worst = bad[np.argmax(np.nan_to_num(values[bad], nan=np.inf))]
        raise AssertionError(
            f"Law broken in {bad.size} of {len(values)} rows: {law} must be at most {bound:.3g}; "
            f"it is {values[worst]:.3g} in row {worst}."
        )
