"""The local model above `BLOCK_DIM` dimensions: rows for BLAS, normal directions never listed.

The same steps as in `walk`, without Newton's division, which needs every normal direction by itself: noise in many
dimensions is narrower than the kernel along each, and plain steps shrink an offset by λ_j/a² a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from subbundle._types import FloatArray, IntArray, Status
from subbundle.cloud import Cloud
from subbundle.local.deviations import deviations
from subbundle.local.krylov import FULL, leading
from subbundle.local.regression import fitted, freedom, n_features, solve
from subbundle.local.rows import fill_tile, first_moment, weigh_rows
from subbundle.local.settings import Plan, Widths, pairs
from subbundle.local.steps import beside, far, kept_part
from subbundle.local.tuning import FLATNESS, NARROWER
from subbundle.local.verdicts import gap_verdict, mass_verdict
from subbundle.local.walk import (
    BEYOND,
    BIAS,
    COLUMNS,
    EFFECTIVE,
    HEIGHT,
    KEPT,
    LESS_BIAS,
    LESS_EFFECTIVE,
    LESS_HEIGHT,
    LESS_RESIDUAL,
    LOG_ABSOLUTE,
    LOG_MASS,
    LOST,
    MUTUAL,
    OFFSET,
    RESIDUAL,
    SLOPES,
    TILE,
    WIDTH,
)  # fmt: skip
from subbundle.local.widths import width_at

# Of the eigenvectors, relative to λ_1: steps end at a hundredth of the bandwidth, and nothing is differentiated.
_TOLERANCE = 1e-9


@dataclass(slots=True)
class _Seen:
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
    def offsets(self) -> FloatArray:
        """y_n [n, d]."""
        return np.asarray(self.rows[self.places] - self.point)

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
        count, numbers = rank * (rank + 1) // 2, np.full(COLUMNS, np.nan)
        numbers[[LOG_MASS, LOG_ABSOLUTE, OFFSET]] = -np.inf, -np.inf, np.inf
        unknown = np.full(p.size, np.nan)
        return cls(
            p.copy(),
            unknown,
            unknown.copy(),
            np.full((p.size, rank), np.nan),
            np.full((count, p.size), np.nan),
            numbers,
        )


class ManyDimensions:
    """Walks over the rows of a cloud with the window and the rules of a plan."""

    def __init__(self, cloud: Cloud, widths: Widths, plan: Plan) -> None:
        self._rows, self._boxes, self._weights = cloud.rows, cloud.boxes, cloud.weights.ravel()
        self._widths, self._plan = widths, plan
        # Any fixed block in general position will do; the same one for every point keeps results reproducible.
        self._start = np.random.default_rng(0).standard_normal((min(plan.rank + 3, cloud.dim), cloud.dim))

    def walk(self, p: FloatArray, own_width: float) -> Row:
        """Carry the point ``p`` [d]; ``own_width`` is its bandwidth, NaN for that of the widths."""
        plan = self._plan
        k = plan.rank
        end = Row.at(p, k)
        numbers = end.numbers
        seen = self._look(end.point, own_width, 1.0, plan.apart)
        few = seen is not None and seen.effective < plan.wanted
        if plan.ladder.size and seen is not None and (few or far(seen.shift, seen.width)):
            lower = self._descend(end.point, own_width)
            if lower is None and few:
                end.status = int(Status.LEFT_SUPPORT)
                return end
            end.point = end.point if lower is None else lower
            seen = self._look(end.point, own_width, 1.0, -1.0)
        while end.steps < max(plan.max_steps, 1):
            if seen is None:
                end.status = int(Status.LEFT_SUPPORT)
                return end
            self._turn(seen)
            a = numbers[WIDTH] = seen.width
            numbers[LOG_ABSOLUTE], numbers[LOG_MASS] = seen.log_mass, seen.log_mass - seen.typical
            numbers[EFFECTIVE] = seen.effective
            end.mean, end.values[: k + 1], end.tangents = end.point + seen.shift, seen.values, seen.tangents
            end.status = int(mass_verdict(numbers[LOG_MASS], plan.log_share))
            if end.status == Status.OK:
                end.status = int(gap_verdict(seen.values, k, plan.min_gap))
            if end.status != Status.OK:
                return end
            end.steps += 1
            if plan.order == 0:
                numbers[OFFSET] = 0.0
                return end
            end.status = int(Status.NOT_CONVERGED)
            step = _across(seen.tangents, seen.shift)
            if plan.order == 2:
                fit = _Fit(seen)
                bend = a * fit.coefficients[0] - step
                noise = fit.extra * fit.residual / freedom(k, seen.effective) * a * a / plan.codimension
                part = kept_part(float(bend @ bend), noise, k, plan.codimension, seen.effective, a)
                step = step + float(part) * bend
                numbers[KEPT] = part
                numbers[LOST] = (1.0 - part) ** 2 * max(float(bend @ bend) - plan.codimension * noise, 0.0)
            numbers[OFFSET] = float(np.sqrt(step @ step))
            done = numbers[OFFSET] <= (plan.tol * a if plan.relative else plan.tol)
            if done or end.steps >= plan.max_steps:
                less = self._look(end.point, own_width, NARROWER, -1.0) if plan.errors > 1 else None
                if less is not None:
                    less.tangents = seen.tangents
                if plan.order == 1:
                    fit = _Fit(seen)
                    bend = a * fit.coefficients[0] - step
                    numbers[KEPT], numbers[LOST] = 0.0, bend @ bend
                _record(end, seen, fit, less, plan)
            if plan.max_steps > 0:
                end.point = end.point + step * min(1.0, a / numbers[OFFSET] if numbers[OFFSET] > 0.0 else 1.0)
            if done or plan.max_steps == 0:
                end.status = int(Status.OK)
                return end
            seen = self._look(end.point, own_width, 1.0, -1.0)
        return end

    def _descend(self, p: FloatArray, own_width: float) -> FloatArray | None:
        """A plain step at each factor of the ladder, from the smallest at which ``p`` is not alone; None if there is
        none."""
        plan = self._plan
        top, seen = self._rung(p, own_width) if np.isfinite(plan.wanted) else (0, None)
        if top < 0:
            return None
        for factor in plan.ladder[top:]:
            seen = self._look(p, own_width, factor, -1.0) if seen is None else seen
            if seen is not None:
                self._turn(seen)
                if gap_verdict(seen.values, plan.rank, plan.min_gap) == Status.OK:
                    p = p + _across(seen.tangents, seen.shift)
            seen = None
        return p

    def _rung(self, p: FloatArray, own_width: float) -> tuple[int, _Seen | None]:
        """Place on the ladder to begin at, as in `walk`, and what is seen there; −1 if there is none."""
        for level in reversed(range(self._plan.ladder.size)):
            seen = self._look(p, own_width, self._plan.ladder[level], -1.0)
            if seen is None or seen.effective < self._plan.wanted:
                continue
            if mass_verdict(seen.log_mass - seen.typical, self._plan.log_share) != Status.OK:
                continue
            self._turn(seen)
            if not beside(seen.shift, _across(seen.tangents, seen.shift), seen.width):
                return level, seen
        return -1, None

    def _weigh(self, p: FloatArray, width: float, apart: float) -> tuple[np.ndarray, FloatArray, float]:
        n_points = self._rows.shape[0]
        places, phi, psi = np.empty(n_points, np.int64), np.empty(n_points), np.empty(n_points)
        plan = self._plan
        count, nearest = weigh_rows(self._rows, self._boxes, p, width, plan.kernel, plan.reach, apart, places, phi, psi)
        places, weights = places[:count], phi[:count]
        if plan.spared > 0.0 and count:
            kept = weights * count >= plan.spared * weights.sum()
            places, weights = places[kept], weights[kept]
        return places, weights, nearest

    def _look(self, p: FloatArray, own_width: float, factor: float, apart: float) -> _Seen | None:
        """What is seen from ``p`` with ``factor`` times its bandwidth; None where nothing is."""
        width, typical = width_at(self._widths, p, np.empty_like(p))
        width = factor * (width if np.isnan(own_width) else own_width)
        places, phi, nearest = self._weigh(p, width, apart)
        weights = phi * self._weights[places]
        shift = np.empty_like(p)
        mass = float(first_moment(self._rows, places, weights, p, shift)) if places.size else 0.0
        if mass == 0.0:
            return None
        shift /= mass
        log_mass = float(np.log(mass) - 0.5 * nearest)
        return _Seen(p, self._rows, places, weights, float(phi @ weights), mass, log_mass, shift, width, typical)

    def _turn(self, seen: _Seen) -> None:
        """Find the leading k + 1 eigenvalues of ZᵀZ and k eigenvectors [d, k], once."""
        if not seen.values.size:
            rows = np.empty((seen.places.size, seen.point.size))
            fill_tile(self._rows, seen.places, seen.weights / seen.mass, seen.point + seen.shift, rows)
            seen.values, seen.tangents = self._leading(rows)

    def _leading(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        k = self._plan.rank
        factored = rows.shape[0] < rows.shape[1]
        matrix = rows if factored else rows.T @ rows
        if factored or rows.shape[1] > FULL * len(self._start):
            converged, values, vectors = leading(matrix, factored, self._start, k, _TOLERANCE)
            if converged:
                return values, vectors
        ascending, columns = np.linalg.eigh(rows.T @ rows)
        return np.maximum(ascending[::-1][: k + 1], 0.0), np.ascontiguousarray(columns[:, ::-1][:, :k])


class _Fit:
    """The quadric at one point, in bandwidths.

    ``coefficients`` [q, d] are vectors of the normal space; ``residual`` is Σ w |e|²/Σ w; ``extra`` the sum of the
    squared weights with which the neighbours enter the correction for curvature.
    """

    def __init__(self, seen: _Seen) -> None:
        k = seen.tangents.shape[1]
        offsets = seen.offsets
        own = offsets @ seen.tangents / seen.width
        features = np.empty((own.shape[0], n_features(k)))
        features[:, 0] = 1.0
        features[:, 1 : 1 + k] = own
        for place, (a, b) in enumerate(pairs(k), start=1 + k):
            features[:, place] = own[:, a] * own[:, b]
        self.own, self.normal = own, (offsets - (own @ seen.tangents.T) * seen.width) / seen.width
        weighted = seen.weights[:, None] * features
        self.factor, cross = weighted.T @ features, weighted.T @ self.normal
        self.coefficients = np.empty_like(cross)
        spread = float(seen.weights @ np.einsum("nd,nd->n", self.normal, self.normal))
        penalty = FLATNESS * seen.squares / seen.mass
        self.residual = float(fitted(self.factor, cross, self.coefficients, k, seen.mass, penalty, spread))
        first = np.zeros((len(cross), 1))
        first[0] = 1.0
        solve(self.factor, first)
        extra = weighted @ first[:, 0] - seen.weights / seen.mass
        self.extra = float(extra @ extra)

    def deviate(self, seen: _Seen) -> tuple[FloatArray, FloatArray]:
        """The bias [d] in bandwidths, and the sums of `deviations`, of observations with their weights."""
        out, bias = np.empty(4), np.empty(self.normal.shape[1])
        near = np.ascontiguousarray(np.column_stack([self.own, self.normal, seen.weights]).T)
        tile = np.empty((len(self.coefficients), TILE))
        deviations(near, near.shape[1], self.own.shape[1], self.factor, self.coefficients, tile, out, bias)
        return bias, out * seen.squares / out[3]


def _record(end: Row, seen: _Seen, fit: _Fit, less: _Seen | None, plan: Plan) -> None:
    """Write tangents, second form, residual and what enters the standard errors; ``less`` is a narrower window."""
    k, a, numbers = plan.rank, seen.width, end.numbers
    numbers[RESIDUAL] = fit.residual * a * a
    end.forms = fit.coefficients[1 + k :] / a
    end.forms[[pair for pair, (i, j) in enumerate(pairs(k)) if i == j]] *= 2.0
    if plan.order == 2:
        tilted, upper = np.linalg.qr(seen.tangents + fit.coefficients[1 : 1 + k].T)
        end.tangents = tilted * np.sign(np.diag(upper))
        end.forms -= (end.forms @ end.tangents) @ end.tangents.T
    if plan.errors > 0:
        bias, out = fit.deviate(seen)
        numbers[HEIGHT], numbers[SLOPES], numbers[BEYOND], numbers[BIAS] = *out[:3], bias @ bias * a * a
        if less is not None:
            narrow = _Fit(less)
            change = (a * fit.coefficients[0] - less.width * narrow.coefficients[0]) / (1.0 - NARROWER**4)
            numbers[LESS_EFFECTIVE], numbers[LESS_RESIDUAL] = less.effective, narrow.residual * less.width**2
            numbers[LESS_HEIGHT] = narrow.deviate(less)[1][0]
            numbers[LESS_BIAS], numbers[MUTUAL] = change @ change, change @ bias * a


def _across(tangents: FloatArray, vector: FloatArray) -> FloatArray:
    """(I − P) applied to a vector [d]."""
    return np.asarray(vector - tangents @ (vector @ tangents))
