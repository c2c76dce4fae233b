"""The local model above `BLOCK_DIM` dimensions: rows for BLAS, no basis of the normal space.

The same steps as in `walk`, without Newton's division, which needs every normal direction: noise in many dimensions is
narrower than the kernel along each, and a plain step shrinks an offset by the factor λ_j/a².
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from subbundle._numbers import SINGULAR
from subbundle._types import FloatArray, Status
from subbundle.cloud import Cloud
from subbundle.local import deviations as of
from subbundle.local.leading import leading
from subbundle.local.logs import Logs
from subbundle.local.moments import TILE
from subbundle.local.neighbours import Neighbours, RowSearch
from subbundle.local.regression import fill_features, fitted, n_features, residual_fraction, solve
from subbundle.local.rows import quadric_sums
from subbundle.local.settings import ALL, Plan, Widths, gap_status, mass_status, pairs, width_at
from subbundle.local.steps import far, kept_fraction, mostly_tangential
from subbundle.local.tuning import FLATNESS, NARROWER


@dataclass(slots=True)
class Moments:
    """Moments around one point: its neighbours, the typical log mass there, and Σ's leading eigenpairs, which cost
    most: `ManyDimensions._eigenpairs` computes them where they are needed."""

    near: Neighbours
    typical: float
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    tangents: FloatArray = field(default_factory=lambda: np.empty((0, 0)))


class Fit:
    """The quadric at one point, in bandwidths.

    ``coefficients`` [q, d] are vectors of the normal space; ``residual`` is Σ w |e|²/Σ w; ``extra`` the sum of the
    squared weights with which single observations enter the correction for curvature.
    """

    def __init__(self, near: Neighbours, tangents: FloatArray) -> None:
        dim, k = tangents.shape
        self._near, self._tangents = near, tangents
        own, size = np.empty((k, len(near.places))), n_features(k)
        gram, cross = np.empty((size, size)), np.empty((size, dim))
        sums = quadric_sums(near.rows, near.places, near.weights, near.point, tangents, near.width, own, gram, cross)
        self.factor, self.coefficients = gram, np.empty_like(cross)
        penalty = FLATNESS * near.squares / near.mass
        self.residual = float(fitted(gram, cross, self.coefficients, k, near.mass, penalty, float(sums)))
        first = np.zeros((size, 1))
        first[0] = 1.0
        solve(self.factor, first)
        features = np.empty((size, own.shape[1]))
        fill_features(own, 0, own.shape[1], k, features)
        extra = near.weights * (first[:, 0] @ features - 1.0 / near.mass)
        self.extra = float((extra / near.counts) @ extra)

    def deviations(self) -> tuple[FloatArray, FloatArray]:
        """The bias [d] in bandwidths, and the sums of `deviations`, of observations with their weights."""
        near, tangents = self._near, self._tangents
        out, bias = np.empty(4), np.empty(near.point.size)
        offsets = (near.rows[near.places] - near.point) / near.width
        own = offsets @ tangents
        columns = np.ascontiguousarray(np.column_stack([own, offsets - own @ tangents.T, near.weights]).T)
        tile = np.empty((len(self.coefficients), TILE))
        of.deviations(
            columns, columns.shape[1], own.shape[1], self.factor, self.coefficients, ALL, ALL, tile, out, bias
        )
        return bias, out * near.squares / out[3]


class ManyDimensions:
    """Iterations over the rows of a cloud with the window and the settings of a plan."""

    def __init__(self, cloud: Cloud | Logs, widths: Widths, plan: Plan) -> None:
        self._search = RowSearch(cloud, plan.kernel, plan.reach, plan.omitted)
        self._widths, self._plan = widths, plan
        # Any fixed block in general position serves; the same one for every point keeps results reproducible.
        self._start = np.random.default_rng(0).standard_normal((min(plan.rank + 3, cloud.dim), cloud.dim))

    def iterate(self, out: of.Output, b: int, own_width: float) -> None:
        """Move the point of row ``b`` of ``out``; ``own_width`` is its bandwidth, NaN for that of the widths."""
        plan, numbers, k = self._plan, out.numbers[b], self._plan.rank
        p = out.points[b]
        local = self._moments_at(p, own_width, 1.0, plan.apart)
        few = local is not None and local.near.effective < plan.min_effective
        if plan.continuation.size and local is not None and (few or far(local.near.shift, local.near.width)):
            lower = self._continuation(p, own_width)
            if lower is None and few:
                out.status[b] = Status.LEFT_SUPPORT
                return
            p[:] = p if lower is None else lower
            local = self._moments_at(p, own_width, 1.0, -1.0)
        while out.steps[b] < max(plan.max_steps, 1):
            if local is None:
                out.status[b] = Status.LEFT_SUPPORT
                return
            self._eigenpairs(local)
            near = local.near
            a = numbers[of.WIDTH] = near.width
            numbers[of.LOG_MASS], numbers[of.EFFECTIVE] = near.log_mass - local.typical, near.effective
            out.means[b], out.values[b, : k + 1], out.basis[b] = near.mean, local.values, local.tangents
            out.status[b] = mass_status(numbers[of.LOG_MASS], plan.log_share)
            if out.status[b] == Status.OK:
                out.status[b] = gap_status(local.values, k, plan.min_gap)
            if out.status[b] != Status.OK:
                return
            out.steps[b] += 1
            out.status[b] = Status.NOT_CONVERGED
            step = _across(local.tangents, near.shift)
            if plan.order == 2:
                fit = Fit(near, local.tangents)
                delta = a * fit.coefficients[0] - step
                noise = fit.extra * fit.residual / residual_fraction(k, near.effective) * a * a / plan.codimension
                fraction = kept_fraction(float(delta @ delta), noise, k, plan.codimension, near.effective, a)
                step = step + float(fraction) * delta
                numbers[of.KEPT] = fraction
                numbers[of.LOST] = (1.0 - fraction) ** 2 * max(float(delta @ delta) - plan.codimension * noise, 0.0)
            numbers[of.OFFSET] = float(np.sqrt(step @ step))
            done = numbers[of.OFFSET] <= plan.tol * a
            if done or out.steps[b] >= plan.max_steps:
                if plan.order == 1:
                    fit = Fit(near, local.tangents)
                    delta = a * fit.coefficients[0] - step
                    numbers[of.KEPT], numbers[of.LOST] = 0.0, delta @ delta
                self._write(out, b, local, fit)
                self._errors(numbers, local, fit, delta)
            if plan.max_steps > 0:
                p += step * min(1.0, a / numbers[of.OFFSET] if numbers[of.OFFSET] > 0.0 else 1.0)
            if done or plan.max_steps == 0:
                out.status[b] = Status.OK
                return
            local = self._moments_at(p, own_width, 1.0, -1.0)

    def _write(self, out: of.Output, b: int, local: Moments, fit: Fit) -> None:
        """Write tangents, second form and residual into row ``b`` of ``out``."""
        k = self._plan.rank
        out.numbers[b, of.RESIDUAL] = fit.residual * local.near.width * local.near.width
        forms = fit.coefficients[1 + k :] / local.near.width
        forms[_squares(k)] *= 2.0
        if self._plan.order == 2:
            tilted, upper = np.linalg.qr(local.tangents + fit.coefficients[1 : 1 + k].T)
            out.basis[b] = tilted * np.sign(np.diag(upper))
            forms -= (forms @ out.basis[b]) @ out.basis[b].T
        out.forms[b] = forms

    def _errors(self, numbers: FloatArray, local: Moments, fit: Fit, delta: FloatArray) -> None:
        """Write the sums for the standard errors; ``delta`` [d] is the correction for curvature."""
        if not self._plan.errors:
            return
        k, a = self._plan.rank, local.near.width
        bias, sums = fit.deviations()
        numbers[[of.HEIGHT, of.SLOPES, of.BEYOND]] = sums[:3]
        vectors = np.zeros((5, len(bias)))
        half_trace = (fit.coefficients[1 + k :] / a)[_squares(k)].sum(axis=0)
        vectors[2:] = a * bias, (1.0 - numbers[of.KEPT]) * delta, half_trace
        for level, factor in enumerate(NARROWER):
            less = self._search.around(local.near.point, factor * a)
            if less.mass > 0.0:
                narrow = Fit(less, local.tangents)
                vectors[level] = a * fit.coefficients[0] - less.width * narrow.coefficients[0]
                place = of.NARROW + 3 * level
                numbers[place : place + 3] = (
                    less.effective, narrow.residual * less.width**2, narrow.deviations()[1][0]
                )  # fmt: skip
        of.multiply(vectors, numbers)

    def _continuation(self, p: FloatArray, own_width: float) -> FloatArray | None:
        """A plain step at each factor of the continuation, as in `walk`; None if there is none to begin at."""
        plan = self._plan
        top, local = self._first_factor(p, own_width) if np.isfinite(plan.min_effective) else (0, None)
        if top < 0:
            return None
        for factor in plan.continuation[top:]:
            local = self._moments_at(p, own_width, factor, -1.0) if local is None else local
            if local is not None:
                self._eigenpairs(local)
                if gap_status(local.values, plan.rank, plan.min_gap) == Status.OK:
                    p = p + _across(local.tangents, local.near.shift)
            local = None
        return p

    def _first_factor(self, p: FloatArray, own_width: float) -> tuple[int, Moments | None]:
        """Index of the first factor of the continuation, as in `walk`, and the moments there; −1 if there is none."""
        for level in reversed(range(self._plan.continuation.size)):
            local = self._moments_at(p, own_width, self._plan.continuation[level], -1.0)
            if local is None or local.near.effective < self._plan.min_effective:
                continue
            if mass_status(local.near.log_mass - local.typical, self._plan.log_share) != Status.OK:
                continue
            self._eigenpairs(local)
            if not mostly_tangential(local.near.shift, _across(local.tangents, local.near.shift)):
                return level, local
        return -1, None

    def _moments_at(self, p: FloatArray, own_width: float, factor: float, apart: float) -> Moments | None:
        """Moments at ``p`` with ``factor`` times its bandwidth; None without neighbours."""
        width, typical = width_at(self._widths, p, np.empty_like(p))
        near = self._search.around(p, factor * (width if np.isnan(own_width) else own_width), apart)
        return Moments(near, typical) if near.mass > 0.0 else None

    def _eigenpairs(self, local: Moments) -> None:
        """Compute the leading k + 1 eigenvalues of ZᵀZ and k eigenvectors [d, k], once."""
        if not local.values.size:
            centre = local.near.mean
            moment = local.near.second_moment(centre, local.near.factor(centre))
            values, local.tangents = leading(*moment, self._start, self._plan.rank, SINGULAR)
            local.values = values[: self._plan.rank + 1]


def _across(tangents: FloatArray, vector: FloatArray) -> FloatArray:
    """(I − P) applied to a vector [d]."""
    return np.asarray(vector - tangents @ (vector @ tangents))


def _squares(rank: int) -> list[int]:
    """Places of II(e_a, e_a) among the pairs."""
    return [place for place, (i, j) in enumerate(pairs(rank)) if i == j]
