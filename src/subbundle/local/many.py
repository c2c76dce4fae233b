"""The local model above `BLOCK_DIM` dimensions: rows for BLAS, normal directions never listed.

The same steps as in `walk`, without Newton's division, which needs every normal direction by itself: noise in many
dimensions is narrower than the kernel along each, and plain steps shrink an offset by λ_j/a² a time.
"""

from __future__ import annotations

import numpy as np

from subbundle._numbers import SINGULAR
from subbundle._types import FloatArray, Status
from subbundle.cloud import Cloud
from subbundle.local.columns import EFFECTIVE, KEPT, LOG_ABSOLUTE, LOG_MASS, LOST, OFFSET, WIDTH
from subbundle.local.leading import leading
from subbundle.local.many_fits import Fit, Row, Seen, record
from subbundle.local.regression import freedom
from subbundle.local.rows import fill_tile, first_moment, weigh_rows
from subbundle.local.settings import Plan, Widths
from subbundle.local.steps import beside, far, kept_part
from subbundle.local.tuning import NARROWER
from subbundle.local.verdicts import gap_verdict, mass_verdict
from subbundle.local.widths import width_at


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
                fit = Fit(seen)
                bend = a * fit.coefficients[0] - step
                noise = fit.extra * fit.residual / freedom(k, seen.effective) * a * a / plan.codimension
                part = kept_part(float(bend @ bend), noise, k, plan.codimension, seen.effective, a)
                step = step + float(part) * bend
                numbers[KEPT] = part
                numbers[LOST] = (1.0 - part) ** 2 * max(float(bend @ bend) - plan.codimension * noise, 0.0)
            numbers[OFFSET] = float(np.sqrt(step @ step))
            done = numbers[OFFSET] <= (plan.tol * a if plan.relative else plan.tol)
            if done or end.steps >= plan.max_steps:
                factors = NARROWER if plan.errors > 1 else ()
                narrower = [self._look(end.point, own_width, factor, -1.0) for factor in factors]
                if plan.order == 1:
                    fit = Fit(seen)
                    bend = a * fit.coefficients[0] - step
                    numbers[KEPT], numbers[LOST] = 0.0, bend @ bend
                record(end, seen, fit, narrower, bend, plan)
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

    def _rung(self, p: FloatArray, own_width: float) -> tuple[int, Seen | None]:
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

    def _look(self, p: FloatArray, own_width: float, factor: float, apart: float) -> Seen | None:
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
