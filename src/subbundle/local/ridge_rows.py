"""Walks onto the ridge above `BLOCK_DIM` dimensions: rows for BLAS, normal directions never listed.

The same steps as in `ridge_steps`, without Newton's division, which needs every normal direction by itself: noise in
many dimensions is narrower than the kernel along each, and plain steps shrink an offset by λ_j/a² a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.local._ridge_parts import beside, far, kept_part
from subbundle.local.krylov import FULL, leading
from subbundle.local.quadric_sums import FLATNESS, fitted, n_features, solve
from subbundle.local.rows import fill_tile, first_moment, weigh_rows_within
from subbundle.local.settings import Settings, Walks, pairs
from subbundle.local.verdicts import gap_verdict, mass_verdict
from subbundle.local.widths import width_at


@dataclass(slots=True)
class _Seen:
    """Neighbours of one point: offsets y_n [n, d] from it, weights w_n, their sums, m − p, Σ's leading eigenpairs,
    the bandwidth, and the log mass that is typical at the point."""

    offsets: FloatArray
    weights: FloatArray
    mass: float
    log_mass: float
    shift: FloatArray
    values: FloatArray
    tangents: FloatArray
    width: float
    typical: float

    @property
    def effective(self) -> float:
        """(Σ w)² / Σ w²."""
        return self.mass**2 / float(self.weights @ self.weights)


class RidgeRows:
    """Walks over the rows of a cloud; ``start`` [b, d] is any block in general position, for the eigenvectors."""

    def __init__(
        self,
        rows: FloatArray,
        boxes: FloatArray,
        start: FloatArray,
        settings: Settings,
        walks: Walks,
        codimension: int,
    ) -> None:
        self._rows, self._boxes, self._start, self._settings, self._walks = rows, boxes, start, settings, walks
        self._codimension = codimension

    def walk(self, p: FloatArray) -> _Walk:
        """Carry the point ``p`` [d] onto the ridge."""
        k = self._settings.rank
        walks = self._walks
        order, tol, max_steps = walks.order, walks.tol, walks.max_steps
        end = _Walk.at(p, k)
        seen = self._look(end.point, 1.0)
        few = seen is not None and seen.effective < walks.wanted
        if walks.ladder.size and seen is not None and (few or far(seen.shift, seen.width)):
            lower = self._descend(end.point)
            if lower is None and few:
                end.status = int(Status.LEFT_SUPPORT)
                return end
            end.point = end.point if lower is None else lower
            seen = self._look(end.point, 1.0)
        while end.steps < max_steps:
            end.log_mass = -np.inf if seen is None else seen.log_mass - seen.typical
            end.status = int(mass_verdict(end.log_mass, self._settings.log_share))
            if seen is None or end.status != Status.OK:
                return end
            a = seen.width
            end.status = int(gap_verdict(seen.values, k, self._settings.min_gap))
            if end.status != Status.OK:
                return end
            end.status = int(Status.NOT_CONVERGED)
            step = _across(seen.tangents, seen.shift)
            end.steps += 1
            if order == 2:
                fit, variance, squares = _fit(seen, a)
                bend = a * fit[0] - step
                noise = squares * variance * a * a / self._codimension
                part = kept_part(float(bend @ bend), noise, k, self._codimension, seen.effective, a)
                step = step + float(part) * bend
            end.offset = float(np.sqrt(step @ step))
            if end.offset <= tol or end.steps == max_steps:
                if order == 1:
                    fit, variance, _ = _fit(seen, a)
                end.record(seen, fit, variance, order, a)
            end.point = end.point + step
            if end.offset <= tol:
                end.status = int(Status.OK)
                return end
            seen = self._look(end.point, 1.0)
        return end

    def _descend(self, p: FloatArray) -> FloatArray | None:
        """A plain step at each factor of the ladder, from the smallest at which ``p`` is not alone; None if there is
        none."""
        top = self._rung(p) if np.isfinite(self._walks.wanted) else 0
        if top < 0:
            return None
        for factor in self._walks.ladder[top:]:
            seen = self._look(p, factor)
            if seen is not None and gap_verdict(seen.values, self._settings.rank, self._settings.min_gap) == Status.OK:
                p = p + _across(seen.tangents, seen.shift)
        return p

    def _rung(self, p: FloatArray) -> int:
        """Place on the ladder to begin at, as in `ridge_steps`; −1 if there is none."""
        for level in reversed(range(self._walks.ladder.size)):
            seen = self._look(p, self._walks.ladder[level])
            if seen is None or seen.effective < self._walks.wanted:
                continue
            if mass_verdict(seen.log_mass - seen.typical, self._settings.log_share) != Status.OK:
                continue
            if not beside(seen.shift, _across(seen.tangents, seen.shift), seen.width):
                return level
        return -1

    def _weigh(self, p: FloatArray, width: float) -> tuple[np.ndarray, FloatArray, float]:
        n_points = self._rows.shape[0]
        places, phi, psi = np.empty(n_points, np.int64), np.empty(n_points), np.empty(n_points)
        s = self._settings
        count, nearest = weigh_rows_within(
            self._rows, self._boxes, p, width, s.kernel, self._walks.reach, -1.0, places, phi, psi
        )
        places, weights = places[:count], phi[:count]
        if self._walks.spared > 0.0 and count:
            kept = weights * count >= self._walks.spared * weights.sum()
            places, weights = places[kept], weights[kept]
        return places, weights, nearest

    def _look(self, p: FloatArray, factor: float) -> _Seen | None:
        """What is seen from ``p`` with the bandwidth ``factor`` a(p); None where nothing is."""
        width, typical = width_at(self._settings.widths, p, np.empty_like(p))
        width *= factor
        places, weights, nearest = self._weigh(p, width)
        shift = np.empty_like(p)
        mass = float(first_moment(self._rows, places, weights, p, shift)) if places.size else 0.0
        if mass == 0.0:
            return None
        shift /= mass
        factor_rows = np.empty((places.size, p.size))
        fill_tile(self._rows, places, weights / mass, p + shift, factor_rows)
        values, tangents = self._leading(factor_rows)
        offsets = self._rows[places] - p
        log_mass = float(np.log(mass) - 0.5 * nearest)
        return _Seen(offsets, weights, mass, log_mass, shift, values, tangents, width, typical)

    def _leading(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Leading k + 1 eigenvalues of Z ᵀZ and k eigenvectors [d, k]."""
        k = self._settings.rank
        factored = rows.shape[0] < rows.shape[1]
        matrix = rows if factored else rows.T @ rows
        if factored or rows.shape[1] > FULL * len(self._start):
            converged, values, vectors = leading(matrix, factored, self._start, k)
            if converged:
                return values, vectors
        ascending, columns = np.linalg.eigh(rows.T @ rows)
        return np.maximum(ascending[::-1][: k + 1], 0.0), np.ascontiguousarray(columns[:, ::-1][:, :k])


@dataclass(slots=True)
class _Walk:
    """Where a walk has come to, and what was seen there; see `ridge_batch`."""

    point: FloatArray
    tangents: FloatArray
    forms: FloatArray
    log_mass: float = -np.inf
    variance: float = np.nan
    effective: float = np.nan
    offset: float = np.inf
    steps: int = 0
    status: int = int(Status.NOT_CONVERGED)

    @classmethod
    def at(cls, p: FloatArray, rank: int) -> _Walk:
        pairs = rank * (rank + 1) // 2
        return cls(p.copy(), np.full((p.size, rank), np.nan), np.full((pairs, p.size), np.nan))

    def record(self, seen: _Seen, fit: FloatArray, variance: float, order: int, bandwidth: float) -> None:
        k = seen.tangents.shape[1]
        self.effective, self.variance = seen.effective, variance * bandwidth**2
        self.forms = fit[1 + k :] / bandwidth
        self.forms[[pair for pair, (a, b) in enumerate(pairs(k)) if a == b]] *= 2.0
        self.tangents = seen.tangents
        if order == 2:
            tilted, upper = np.linalg.qr(seen.tangents + fit[1 : 1 + k].T)
            self.tangents = tilted * np.sign(np.diag(upper))
            self.forms -= (self.forms @ self.tangents) @ self.tangents.T


def _fit(seen: _Seen, bandwidth: float) -> tuple[FloatArray, float, float]:
    """The quadric at one point.

    Returns its coefficients, [q, d] vectors of the normal space in bandwidths; the variance about it; and the sum of
    the squared weights with which the neighbours enter the correction for curvature.
    """
    k = seen.tangents.shape[1]
    own = seen.offsets @ seen.tangents / bandwidth
    features = np.empty((own.shape[0], n_features(k)))
    features[:, 0] = 1.0
    features[:, 1 : 1 + k] = own
    for place, (a, b) in enumerate(pairs(k), start=1 + k):
        features[:, place] = own[:, a] * own[:, b]
    normal = (seen.offsets - (own @ seen.tangents.T) * bandwidth) / bandwidth
    weighted = seen.weights[:, None] * features
    gram, cross = weighted.T @ features, weighted.T @ normal
    first = np.zeros((len(gram), 1))
    first[0] = 1.0
    squares = float(seen.weights @ seen.weights)
    solve(gram.copy(), FLATNESS * squares / seen.mass, 1 + k, first)
    extra = weighted @ first[:, 0] - seen.weights / seen.mass
    fit = np.empty_like(cross)
    spread = float(seen.weights @ np.einsum("nd,nd->n", normal, normal))
    variance = float(fitted(gram, cross, fit, k, seen.mass, squares, spread))
    return fit, variance, float(extra @ extra)


def _across(tangents: FloatArray, vector: FloatArray) -> FloatArray:
    """(I − P) applied to a vector [d]."""
    return np.asarray(vector - tangents @ (vector @ tangents))
