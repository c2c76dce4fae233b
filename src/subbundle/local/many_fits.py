"""One point in many dimensions: its neighbours, the quadric fitted to them, and the row of the record they make."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_solve

from subbundle._numbers import SINGULAR
from subbundle._types import FloatArray, IntArray, Status
from subbundle.local import columns as of
from subbundle.local.deviations import deviations
from subbundle.local.moments import TILE
from subbundle.local.regression import fill_features, fitted, n_features, solve
from subbundle.local.rows import quadric_sums
from subbundle.local.settings import ALL, Plan, pairs
from subbundle.local.tuning import FLATNESS


@dataclass(slots=True)
class Seen:
    """Neighbours of one point: it, the rows of the cloud and which of them, weights w_n, Σ w²/v, their sums, m − p, the
    bandwidth, and the log mass that is typical at the point. Σ's leading eigenpairs, which cost most, are found by
    `ManyDimensions._turn` where they are needed."""

    point: FloatArray
    rows: FloatArray
    places: IntArray
    weights: FloatArray
    squares: float
    mass: float
    log_mass: float
    shift: FloatArray
    width: float
    typical: float
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    tangents: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def effective(self) -> float:
        """(Σ w)² / Σ (w²/v)."""
        return self.mass**2 / self.squares


@dataclass(slots=True)
class Row:
    """Where a walk has come to, and what was seen there; see `walk_rows`."""

    point: FloatArray
    mean: FloatArray
    values: FloatArray
    tangents: FloatArray
    forms: FloatArray
    numbers: FloatArray
    steps: int = 0
    status: int = int(Status.NOT_CONVERGED)

    @classmethod
    def at(cls, p: FloatArray, rank: int) -> Row:
        """A walk that has not begun."""
        count, numbers = rank * (rank + 1) // 2, np.full(of.COLUMNS, np.nan)
        numbers[[of.LOG_MASS, of.LOG_ABSOLUTE, of.OFFSET]] = -np.inf, -np.inf, np.inf
        unknown = np.full(p.size, np.nan)
        tangents, forms = np.full((p.size, rank), np.nan), np.full((count, p.size), np.nan)
        return cls(p.copy(), unknown, unknown.copy(), tangents, forms, numbers)


class Fit:
    """The quadric at one point, in bandwidths.

    ``coefficients`` [q, d] are vectors of the normal space; ``residual`` is Σ w |e|²/Σ w; ``extra`` the sum of the
    squared weights with which the neighbours enter the correction for curvature.
    """

    def __init__(self, seen: Seen) -> None:
        dim, k = seen.tangents.shape
        own, size = np.empty((k, len(seen.places))), n_features(k)
        gram, cross = np.empty((size, size)), np.empty((size, dim))
        near = (seen.rows, seen.places, seen.weights, seen.point)
        spread = float(quadric_sums(*near, seen.tangents, seen.width, own, gram, cross))
        self._solve(gram, cross, k, seen.mass, FLATNESS * seen.squares / seen.mass, spread)
        first = np.zeros((size, 1))
        first[0] = 1.0
        solve(self.factor, first)
        features = np.empty((size, own.shape[1]))
        fill_features(own, 0, own.shape[1], k, features)
        extra = seen.weights * (first[:, 0] @ features - 1.0 / seen.mass)
        self.extra = float(extra @ extra)

    def _solve(self, gram: FloatArray, cross: FloatArray, k: int, mass: float, penalty: float, spread: float) -> None:
        """`fitted`, by LAPACK where the neighbours have all directions: in many dimensions that is faster."""
        penalised = gram.copy()
        penalised[range(1 + k, len(gram)), range(1 + k, len(gram))] += penalty
        try:
            self.factor = np.linalg.cholesky(penalised)
            whole = bool((np.diagonal(self.factor) ** 2 > SINGULAR * np.diagonal(gram)).all())
        except np.linalg.LinAlgError:
            whole = False
        if not whole:
            self.factor, self.coefficients = gram, np.empty_like(cross)
            self.residual = float(fitted(self.factor, cross, self.coefficients, k, mass, penalty, spread))
            return
        self.coefficients = np.ascontiguousarray(cho_solve((self.factor, True), cross, check_finite=False))
        explained = np.sum(self.coefficients * cross) + penalty * np.sum(self.coefficients[1 + k :] ** 2)
        self.residual = max(spread - float(explained), 0.0) / mass

    def deviate(self, seen: Seen) -> tuple[FloatArray, FloatArray]:
        """The bias [d] in bandwidths, and the sums of `deviations`, of observations with their weights."""
        out, bias = np.empty(4), np.empty(seen.point.size)
        offsets = (seen.rows[seen.places] - seen.point) / seen.width
        own = offsets @ seen.tangents
        near = np.ascontiguousarray(np.column_stack([own, offsets - own @ seen.tangents.T, seen.weights]).T)
        tile = np.empty((len(self.coefficients), TILE))
        deviations(near, near.shape[1], own.shape[1], self.factor, self.coefficients, 2, ALL, tile, out, bias)
        return bias, out * seen.squares / out[3]


def record(end: Row, seen: Seen, fit: Fit, narrower: list[Seen | None], bend: FloatArray, plan: Plan) -> None:
    """Write tangents, second form, residual and what enters the standard errors; ``bend`` [d] is the correction for
    curvature."""
    k, a, numbers = plan.rank, seen.width, end.numbers
    numbers[of.RESIDUAL] = fit.residual * a * a
    end.forms = fit.coefficients[1 + k :] / a
    squares = [pair for pair, (i, j) in enumerate(pairs(k)) if i == j]
    bent = end.forms[squares].sum(axis=0)
    end.forms[squares] *= 2.0
    if plan.order == 2:
        tilted, upper = np.linalg.qr(seen.tangents + fit.coefficients[1 : 1 + k].T)
        end.tangents = tilted * np.sign(np.diag(upper))
        end.forms -= (end.forms @ end.tangents) @ end.tangents.T
    if plan.errors > 0:
        bias, out = fit.deviate(seen)
        numbers[[of.HEIGHT, of.SLOPES, of.BEYOND]] = out[:3]
        vectors = np.zeros((5, len(bias)))
        vectors[2:] = a * bias, (1.0 - numbers[of.KEPT]) * bend, bent
        for level, less in enumerate(narrower):
            if less is not None:
                less.tangents = seen.tangents
                narrow = Fit(less)
                vectors[level] = a * fit.coefficients[0] - less.width * narrow.coefficients[0]
                sums = less.effective, narrow.residual * less.width**2, narrow.deviate(less)[1][0]
                place = of.NARROW + 3 * level
                numbers[place : place + 3] = sums
        of.multiply(vectors, numbers)
