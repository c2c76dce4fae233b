"""Shared by all integrators: states of a batch, evaluations with the reason why a row failed, and the results.

A state holds a batch of points and covectors in one array [2, batch, dim], ``state[0]`` the points and ``state[1]`` the
covectors; a slope holds their time derivatives, velocity and force, in the same layout. All operations of an
integrator act on rows separately, so the bits of a row do not depend on the batch: elementwise operations, and sums
along the last axis of C-ordered arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from subbundle._types import BoolArray, FloatArray, IntArray, Status, StatusArray
from subbundle.bundles.base import Subbundle, completed


def row_norm(vectors: FloatArray) -> FloatArray:
    """Euclidean norm along the last axis of a C-ordered array [..., dim]."""
    norm: FloatArray = np.sqrt(np.einsum("...d,...d->...", vectors, vectors))
    return norm


def spread(values: FloatArray, dim: int) -> FloatArray:
    """``values`` [n] repeated along a last axis [n, dim]: copying beats broadcasting over a last axis so short."""
    return np.repeat(values, dim).reshape(-1, dim)


def combine(coefficients: Sequence[float], slopes: Sequence[FloatArray]) -> FloatArray:
    """Σ coefficients_i · slopes_i, added in this order for every row."""
    total = coefficients[0] * slopes[0]
    for coefficient, slope in zip(coefficients[1:], slopes[1:], strict=True):
        if coefficient:
            total += coefficient * slope
    return total


def projected(bundle: Subbundle, state: FloatArray) -> FloatArray:
    """``state`` [2, n, dim] projected to the submanifold of the bundle's geodesics; itself where that is all of R^D."""
    if not state.shape[1]:
        return state
    points, covectors = state
    found = completed(bundle).project(points, covectors)
    return state if found[0] is points else np.stack(found)


class Attempt:
    """One step of a batch. Evaluates the field for the rows that have not failed and records why the others have.

    Attributes
    ----------
    status : [batch]
        OK, or the reason of the first evaluation that failed.
    length_scale : float
        Of the bundle.
    """

    def __init__(self, bundle: Subbundle, evaluations: IntArray) -> None:
        self._bundle = bundle
        self._evaluations = evaluations
        self.length_scale = float(bundle.length_scale)
        self.status: StatusArray = np.zeros(len(evaluations), np.int8)

    def slope(self, state: FloatArray, only: BoolArray | None = None) -> FloatArray:
        """Velocity and force [2, batch, dim] at ``state``; zero for rows that have failed or are not in ``only``."""
        if not np.isfinite(state).all():
            broken = ~np.isfinite(state).all(axis=(0, 2))
            self.status[broken & (self.status == Status.OK)] = Status.NOT_FINITE
        valid = self.status == Status.OK
        if only is not None:
            valid &= only
        if valid.all():
            return self._evaluate(state, None)
        slope = np.zeros_like(state)
        rows = np.flatnonzero(valid)
        if rows.size:
            slope[:, rows] = self._evaluate(np.take(state, rows, axis=1), rows)
        return slope

    def _evaluate(self, state: FloatArray, rows: IntArray | None) -> FloatArray:
        """Call the bundle for a batch without failed rows; ``rows`` are their places in it (None: all)."""
        field = self._bundle.field(state[0], state[1])
        slope = np.empty_like(state)
        slope[0] = field.velocity
        slope[1] = field.force
        reason = field.status
        if not np.isfinite(slope).all():
            broken = ~np.isfinite(slope).all(axis=(0, 2))
            slope[:, broken] = 0.0
            reason = np.where(broken & (reason == Status.OK), np.int8(Status.NOT_FINITE), reason)
        if reason.any():
            slope[:, reason != Status.OK] = 0.0
        if rows is None:
            self.status = reason.astype(np.int8)
            self._evaluations += 1
        else:
            self.status[rows] = reason
            self._evaluations[rows] += 1
        return slope


@dataclass
class ActiveRows:
    """The rows still being integrated, contiguous. Integrators add their own fields per row.

    Attributes
    ----------
    index : [n]
        Row of the whole batch.
    state, slope : [2, n, dim]
        Current state, and the field there.
    pace : [n]
        Arc length per unit of the caller's time.
    evaluations : [n]
        Number of evaluations of the field.
    """

    index: IntArray
    state: FloatArray
    slope: FloatArray
    pace: FloatArray
    evaluations: IntArray

    def keep(self, selected: BoolArray) -> None:
        """Drop all rows but those where ``selected`` [n] is true."""
        rows = np.flatnonzero(selected)
        for entry in fields(self):
            value = getattr(self, entry.name)
            # np.take keeps C order, value[:, rows] would not: sums along the last axis rely on it.
            setattr(self, entry.name, np.take(value, rows, axis=1 if value.ndim == 3 else 0))


@dataclass
class Output:
    """Results of the whole batch, filled in during integration; unit-speed covectors, arc lengths.

    Attributes
    ----------
    states : [2, batch, n_times, dim]
        NaN where not reached.
    ends : [2, batch, dim]
        Last valid state.
    lengths : [batch]
        Arc length at ``ends``.
    status, evaluations : [batch]
    """

    states: FloatArray
    ends: FloatArray
    lengths: FloatArray
    status: StatusArray
    evaluations: IntArray

    def write(self, rows: IntArray, outputs: IntArray, states: FloatArray) -> None:
        """Store ``states`` [m, 2 dim], the point and then the covector, as ``outputs`` [m] of ``rows`` [m]."""
        _, batch, n_times, dim = self.states.shape
        flat = self.states.reshape(2, batch * n_times, dim)
        where = rows * n_times + outputs
        flat[0][where] = states[:, :dim]
        flat[1][where] = states[:, dim:]

    def end(self, rows: ActiveRows, selected: BoolArray, lengths: FloatArray, status: StatusArray) -> None:
        """Store the end of the ``selected`` [n] rows, with ``lengths`` [n] and ``status`` [n]."""
        where = rows.index[selected]
        self.ends[:, where] = rows.state[:, selected]
        self.lengths[where] = lengths[selected]
        self.status[where] = status[selected]
        self.evaluations[where] = rows.evaluations[selected]
