"""The local model above `BLOCK_DIM` dimensions: rows for BLAS, normal directions never listed.

The same steps as in `walk`, without Newton's division, which needs every normal direction by itself: noise in many
dimensions is narrower than the kernel along each, and plain steps shrink an offset by λ_j/a² a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_solve

from subbundle._numbers import SINGULAR
from subbundle._types import FloatArray, IntArray, Status
from subbundle.cloud import Cloud
from subbundle.local import deviations as of
from subbundle.local.leading import leading
from subbundle.local.moments import TILE
from subbundle.local.regression import fill_features, fitted, freedom, n_features, solve
from subbundle.local.rows import fill_tile, first_moment, quadric_sums, weigh_rows
from subbundle.local.settings import ALL, Plan, Widths, gap_verdict, mass_verdict, pairs, width_at
from subbundle.local.steps import beside, far, kept_part
from subbundle.local.tuning import FLATNESS, NARROWER


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
        of.deviations(near, near.shape[1], own.shape[1], self.factor, self.coefficients, ALL, ALL, tile, out, bias)
        return bias, out * seen.squares / out[3]


class ManyDimensions:
    """Walks over the rows of a cloud with the window and the rules of a plan."""

    def __init__(self, cloud: Cloud, widths: Widths, plan: Plan) -> None:
        self._rows, self._boxes, self._weights = cloud.rows, cloud.boxes, cloud.weights.ravel()
        self._widths, self._plan = widths, plan
        # Any fixed block in general position will do; the same one for every point keeps results reproducible.
        self._start = np.random.default_rng(0).standard_normal((min(plan.rank + 3, cloud.dim), cloud.dim))

    def walk(self, out: of.Written, b: int, own_width: float) -> None:
        """Move the point of row ``b`` of ``out``; ``own_width`` is its bandwidth, NaN for that of the widths."""
        plan, numbers, k = self._plan, out.numbers[b], self._plan.rank
        p = out.points[b]
        seen = self._moments_at(p, own_width, 1.0, plan.apart)
        few = seen is not None and seen.effective < plan.wanted
        if plan.ladder.size and seen is not None and (few or far(seen.shift, seen.width)):
            lower = self._descend(p, own_width)
            if lower is None and few:
                out.status[b] = Status.LEFT_SUPPORT
                return
            p[:] = p if lower is None else lower
            seen = self._moments_at(p, own_width, 1.0, -1.0)
        while out.steps[b] < max(plan.max_steps, 1):
            if seen is None:
                out.status[b] = Status.LEFT_SUPPORT
                return
            self._turn(seen)
            a = numbers[of.WIDTH] = seen.width
            numbers[of.LOG_MASS], numbers[of.EFFECTIVE] = seen.log_mass - seen.typical, seen.effective
            out.means[b], out.values[b, : k + 1], out.basis[b] = p + seen.shift, seen.values, seen.tangents
            out.status[b] = mass_verdict(numbers[of.LOG_MASS], plan.log_share)
            if out.status[b] == Status.OK:
                out.status[b] = gap_verdict(seen.values, k, plan.min_gap)
            if out.status[b] != Status.OK:
                return
            out.steps[b] += 1
            if plan.order == 0:
                numbers[of.OFFSET] = 0.0
                return
            out.status[b] = Status.NOT_CONVERGED
            step = _across(seen.tangents, seen.shift)
            if plan.order == 2:
                fit = Fit(seen)
                bend = a * fit.coefficients[0] - step
                noise = fit.extra * fit.residual / freedom(k, seen.effective) * a * a / plan.codimension
                part = kept_part(float(bend @ bend), noise, k, plan.codimension, seen.effective, a)
                step = step + float(part) * bend
                numbers[of.KEPT] = part
                numbers[of.LOST] = (1.0 - part) ** 2 * max(float(bend @ bend) - plan.codimension * noise, 0.0)
            numbers[of.OFFSET] = float(np.sqrt(step @ step))
            done = numbers[of.OFFSET] <= (plan.tol * a if plan.relative else plan.tol)
            if done or out.steps[b] >= plan.max_steps:
                if plan.order == 1:
                    fit = Fit(seen)
                    bend = a * fit.coefficients[0] - step
                    numbers[of.KEPT], numbers[of.LOST] = 0.0, bend @ bend
                self._write(out, b, seen, fit)
                self._deviate(numbers, seen, fit, bend, own_width)
            if plan.max_steps > 0:
                p += step * min(1.0, a / numbers[of.OFFSET] if numbers[of.OFFSET] > 0.0 else 1.0)
            if done or plan.max_steps == 0:
                out.status[b] = Status.OK
                return
            seen = self._moments_at(p, own_width, 1.0, -1.0)

    def _write(self, out: of.Written, b: int, seen: Seen, fit: Fit) -> None:
        """Write tangents, second form and residual into row ``b`` of ``out``."""
        k = self._plan.rank
        out.numbers[b, of.RESIDUAL] = fit.residual * seen.width * seen.width
        forms = fit.coefficients[1 + k :] / seen.width
        forms[_squares(k)] *= 2.0
        if self._plan.order == 2:
            tilted, upper = np.linalg.qr(seen.tangents + fit.coefficients[1 : 1 + k].T)
            out.basis[b] = tilted * np.sign(np.diag(upper))
            forms -= (forms @ out.basis[b]) @ out.basis[b].T
        out.forms[b] = forms

    def _deviate(self, numbers: FloatArray, seen: Seen, fit: Fit, bend: FloatArray, own_width: float) -> None:
        """Write what standard errors need; ``bend`` [d] is the correction for curvature."""
        if self._plan.errors < 1:
            return
        k, a = self._plan.rank, seen.width
        bias, sums = fit.deviate(seen)
        numbers[[of.HEIGHT, of.SLOPES, of.BEYOND]] = sums[:3]
        vectors = np.zeros((5, len(bias)))
        bent = (fit.coefficients[1 + k :] / a)[_squares(k)].sum(axis=0)
        vectors[2:] = a * bias, (1.0 - numbers[of.KEPT]) * bend, bent
        for level, factor in enumerate(NARROWER if self._plan.errors > 1 else ()):
            less = self._moments_at(seen.point, own_width, factor, -1.0)
            if less is not None:
                less.tangents = seen.tangents
                narrow = Fit(less)
                vectors[level] = a * fit.coefficients[0] - less.width * narrow.coefficients[0]
                place = of.NARROW + 3 * level
                numbers[place : place + 3] = (
                    less.effective, narrow.residual * less.width**2, narrow.deviate(less)[1][0]
                )  # fmt: skip
        of.multiply(vectors, numbers)

    def _descend(self, p: FloatArray, own_width: float) -> FloatArray | None:
        """A plain step at each factor of the ladder, from the smallest at which ``p`` has neighbours; None if there is
        none."""
        plan = self._plan
        top, seen = self._rung(p, own_width) if np.isfinite(plan.wanted) else (0, None)
        if top < 0:
            return None
        for factor in plan.ladder[top:]:
            seen = self._moments_at(p, own_width, factor, -1.0) if seen is None else seen
            if seen is not None:
                self._turn(seen)
                if gap_verdict(seen.values, plan.rank, plan.min_gap) == Status.OK:
                    p = p + _across(seen.tangents, seen.shift)
            seen = None
        return p

    def _rung(self, p: FloatArray, own_width: float) -> tuple[int, Seen | None]:
        """Place on the ladder to begin at, as in `walk`, and what is seen there; −1 if there is none."""
        for level in reversed(range(self._plan.ladder.size)):
            seen = self._moments_at(p, own_width, self._plan.ladder[level], -1.0)
            if seen is None or seen.effective < self._plan.wanted:
                continue
            if mass_verdict(seen.log_mass - seen.typical, self._plan.log_share) != Status.OK:
                continue
            self._turn(seen)
            if not beside(seen.shift, _across(seen.tangents, seen.shift)):
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

    def _moments_at(self, p: FloatArray, own_width: float, factor: float, apart: float) -> Seen | None:
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
        return Seen(p, self._rows, places, weights, float(phi @ weights), mass, log_mass, shift, width, typical)

    def _turn(self, seen: Seen) -> None:
        """Find the leading k + 1 eigenvalues of ZᵀZ and k eigenvectors [d, k], once."""
        if not seen.values.size:
            rows = np.empty((seen.places.size, seen.point.size))
            fill_tile(self._rows, seen.places, seen.weights / seen.mass, seen.point + seen.shift, rows)
            factored = rows.shape[0] < rows.shape[1]
            matrix = rows if factored else rows.T @ rows
            values, seen.tangents = leading(matrix, factored, self._start, self._plan.rank, SINGULAR)
            seen.values = values[: self._plan.rank + 1]


def _across(tangents: FloatArray, vector: FloatArray) -> FloatArray:
    """(I − P) applied to a vector [d]."""
    return np.asarray(vector - tangents @ (vector @ tangents))


def _squares(rank: int) -> list[int]:
    """Places of II(e_a, e_a) among the pairs."""
    return [place for place, (i, j) in enumerate(pairs(rank)) if i == j]
