"""The neighbours of a point above `BLOCK_DIM` dimensions, as `gather` and `moments` find them below: weights
w_n = v_n φ_n, mean and second moment, and local PCA, the local model of order 0.

The second moment about a centre c is ZᵀZ with the rows √(w_n/s) (x_n − c), s = Σ w_n. With fewer neighbours than
dimensions it is never formed, and with very many Z is read a tile at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray, IntArray, Status
from subbundle.cloud import Cloud
from subbundle.local import deviations as of
from subbundle.local.leading import decompose
from subbundle.local.logs import Logs
from subbundle.local.moments import log_mass
from subbundle.local.rows import fill_tile, first_moment, weigh_rows
from subbundle.local.settings import NONE, RECENTRED, Settings, gap_status, mass_status, width_at

# Numbers of Z in memory at a time, 32 MB.
_TILE = 2**22


@dataclass(slots=True)
class Neighbours:
    """Neighbours of one point: the rows of the cloud, the point, its bandwidth, the places of the neighbours, v_n, w_n,
    v_n ψ_n, Σ w²/v, Σ w and its log, m − p, and the squared distance that weights are relative to."""

    rows: FloatArray
    point: FloatArray
    width: float
    places: IntArray
    counts: FloatArray
    weights: FloatArray
    slopes: FloatArray
    squares: float
    mass: float
    log_mass: float
    shift: FloatArray
    nearest: float

    @property
    def mean(self) -> FloatArray:
        """m [d]."""
        return self.point + self.shift

    @property
    def effective(self) -> float:
        """(Σ w)² / Σ (w²/v)."""
        return self.mass**2 / self.squares

    def squared(self, p: FloatArray) -> FloatArray:
        """|x_n − p|² [n]."""
        offsets = self.rows[self.places] - p
        return np.asarray(np.einsum("nd,nd->n", offsets, offsets))

    def factor(self, centre: FloatArray) -> FloatArray | None:
        """Z [n, d] where it fits in memory, and always when there are fewer neighbours than d; else None."""
        n, dim = self.places.size, centre.size
        if n >= dim and n > _TILE // dim:
            return None
        whole = np.empty((n, dim))
        fill_tile(self.rows, self.places, self.weights / self.mass, centre, whole)
        return whole

    def tiles(self, centre: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """The rows of Z, a tile at a time."""
        n, dim = self.places.size, centre.size
        height = max(_TILE // dim, 1)
        tile = np.empty((min(height, n), dim))
        for start in range(0, n, height):
            rows = slice(start, min(start + height, n))
            part = tile[: rows.stop - start]
            fill_tile(self.rows, self.places[rows], self.weights[rows] / self.mass, centre, part)
            yield rows, part

    def second_moment(self, centre: FloatArray, whole: FloatArray | None) -> tuple[FloatArray, bool]:
        """Σ as a matrix [d, d] and False, or its factor Z = ``whole`` and True with fewer neighbours than d."""
        if whole is not None:
            return (whole, True) if len(whole) < centre.size else (whole.T @ whole, False)
        sigma = np.zeros((centre.size, centre.size))
        for _, part in self.tiles(centre):
            sigma += part.T @ part
        return sigma, False


class RowSearch:
    """Neighbours among the rows of a cloud, with one kernel.

    Observations without weight are left out, and of the others the lightest, up to the fraction ``omitted`` of the
    mass.
    """

    def __init__(self, cloud: Cloud | Logs, kernel: int, reach: float, omitted: float = 0.0) -> None:
        self._rows, self._boxes, self._weights = cloud.rows, cloud.boxes, cloud.weights.ravel()
        self._kernel, self._reach, self._omitted = kernel, reach, omitted

    def around(self, p: FloatArray, width: float, apart: float = -1.0) -> Neighbours:
        """Those of ``p`` [d]; ``apart`` as in `gather.ball`. Without any the mass is 0."""
        n_points = self._rows.shape[0]
        places, phi, psi = np.empty(n_points, np.int64), np.empty(n_points), np.empty(n_points)
        count, nearest = weigh_rows(
            self._rows, self._boxes, p, width, self._kernel, self._reach, apart, places, phi, psi
        )
        places, phi, psi = places[:count], phi[:count], psi[:count]
        own = self._weights[places]
        weights = phi * own
        if self._omitted > 0.0 and count:
            kept = phi * own.sum() >= self._omitted * weights.sum()
            places, phi, psi, own, weights = places[kept], phi[kept], psi[kept], own[kept], weights[kept]
        shift = np.empty_like(p)
        mass = float(first_moment(self._rows, places, weights, p, shift)) if count else 0.0
        if mass == 0.0:
            none = np.empty(0)
            return Neighbours(self._rows, p, width, places[:0], none, none, none, 0.0, 0.0, -np.inf, shift, 0.0)
        shift /= mass
        squares = float(phi @ weights)
        return Neighbours(
            self._rows, p, width, places, own, weights, psi * own, squares, mass, log_mass(mass, nearest), shift,
            nearest * width**2
        )  # fmt: skip

    def centred(self, near: Neighbours, centering: int) -> tuple[FloatArray, Neighbours]:
        """The point that y_n is measured from, and the neighbours whose weights enter Σ."""
        if centering == NONE:
            return near.point, near
        return near.mean, self.around(near.mean, near.width) if centering == RECENTRED else near


def pca_of_rows(
    cloud: Cloud, settings: Settings, out: of.Output, own_widths: FloatArray, apart: float, i: int, j: int
) -> None:
    """`local_pca_rows` for the rows from ``i`` to ``j`` of ``out``, with all eigenvalues and k eigenvectors."""
    search = RowSearch(cloud, settings.kernel, settings.reach)
    for b in range(i, j):
        p, numbers = out.points[b], out.numbers[b]
        width, typical = width_at(settings.widths, p, np.empty_like(p))
        near = search.around(p, own_widths[b] if own_widths.size else width, apart)
        numbers[of.WIDTH], numbers[of.LOG_MASS] = near.width, near.log_mass - typical
        out.status[b] = mass_status(numbers[of.LOG_MASS], settings.log_share)
        if near.mass == 0.0:
            continue
        out.means[b], numbers[of.EFFECTIVE] = near.mean, near.effective
        centre, about = search.centred(near, settings.centering)
        if about.mass == 0.0:
            out.status[b] = Status.LEFT_SUPPORT
            continue
        out.values[b], vectors = decompose(*about.second_moment(centre, about.factor(centre)))
        found = min(settings.rank, vectors.shape[1])
        out.basis[b, :, :found] = vectors[:, :found]
        if out.status[b] == Status.OK:
            out.status[b] = gap_status(out.values[b], settings.rank, settings.min_gap)
        if out.status[b] == Status.OK:
            numbers[of.OFFSET] = 0.0
