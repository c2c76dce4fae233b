"""The domain of a chart: the distance along each geodesic up to which exp is one-to-one, and why it ends there.

*Folds.* The Jacobi field W of the fan starts as r and vanishes where neighbouring geodesics meet: a conjugate point,
beyond which exp folds back. A geodesic is cut where the smallest singular value of W falls below a small fraction of r,
or where W reverses its orientation between two nodes, det(W_iᵀ W_{i+1}) < 0.

*Shortcuts.* Another geodesic may reach a node x at a shorter distance: on a cylinder, beyond half way around. Let x′ be
one of its nodes nearby, at a distance r′. It belongs to another sheet of the fan if its coordinates are much further
from those of x than x′ is from x. To first order the other distance at x is r′ + γ̇′·(x − x′); where that is less than
r, the geodesic has passed its cut point. The lead of the other grows at the rate 1 − γ̇·γ̇′, so it was zero at

    r − (r − r′ − γ̇′·(x − x′)) / (1 − γ̇·γ̇′),        but no further back than one length scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import BoolArray, FloatArray, IntArray, Status, StatusArray, count_statuses
from subbundle.charts.fan import Fan, jacobi_fields
from subbundle.charts.tuning import GEODESICS_APART, LEAST_LEAD, LEAST_SPREAD, RISE, SHEETS_APART

# Nodes nearby that are compared: more than one geodesic has within that distance.
_NEIGHBOURS = 24


def folds(fan: Fan) -> FloatArray:
    """Distance [L] at which each geodesic meets its neighbours; infinite where it does not."""
    if fan.directions.shape[1] == 1:
        return np.full(len(fan.directions), np.inf)
    fields = jacobi_fields(fan)[:, 1:]
    distances = fan.distances[1:]
    gram = np.einsum("lmdi,lmdj->lmij", fields, fields)
    known = np.isfinite(gram).all(axis=(2, 3))
    gram[~known] = np.eye(gram.shape[2])
    least = np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[:, :, 0], 0.0)) / distances
    least[~known] = np.inf
    overlap = np.einsum("lmdi,lmdj->lmij", fields[:, :-1], fields[:, 1:])
    overlap[~(known[:, 1:] & known[:, :-1])] = 0.0
    turned = np.zeros(least.shape, bool)
    turned[:, 1:] = np.linalg.det(overlap) < 0.0
    narrow = turned | (least < LEAST_SPREAD)
    first = np.where(narrow.any(axis=1), narrow.argmax(axis=1), -1)
    # Up to the first fold, a field of reversed orientation counts as negative.
    least = np.where(turned, -least, least)
    return np.array([_crossing(distances, least[ray], i) if i >= 0 else np.inf for ray, i in enumerate(first)])


def _crossing(distances: FloatArray, spread: FloatArray, node: int) -> float:
    """Where the spread falls below the least allowed, linearly between ``node`` and the one before."""
    if node == 0 or not np.isfinite(spread[node - 1]):
        return float(distances[node])
    fraction = (spread[node - 1] - LEAST_SPREAD) / (spread[node - 1] - spread[node])
    return float(distances[node - 1] + fraction * (distances[node] - distances[node - 1]))


def shortcuts(fan: Fan, scale: float) -> FloatArray:
    """Distance [L] at which another geodesic arrives at the same time; infinite where none does."""
    cut = np.full(len(fan.directions), np.inf)
    rays, nodes = np.nonzero(fan.real & (fan.distances > 2.0 * scale))
    if rays.size == 0:
        return cut
    other_rays, other_nodes = _thinned(fan, scale)
    points = fan.points[rays, nodes]
    tree = cKDTree(fan.points[other_rays, other_nodes])
    count = min(_NEIGHBOURS, len(other_rays))
    apart, found = tree.query(points, k=np.arange(1, count + 1), distance_upper_bound=GEODESICS_APART * scale)
    row, column = np.nonzero(np.isfinite(apart))
    apart, found = apart[row, column], found[row, column]
    here, there = (rays[row], nodes[row]), (other_rays[found], other_nodes[found])
    between = fan.distances[here[1], None] * fan.directions[here[0]]
    between -= fan.distances[there[1], None] * fan.directions[there[0]]
    elsewhere = differ(np.linalg.norm(between, axis=1), apart, scale)
    # Neighbours come by distance; the nearest on another sheet estimates its distance best.
    nearest = np.flatnonzero(elsewhere)[np.unique(row[elsewhere], return_index=True)[1]]
    here, there = _at(here, nearest), _at(there, nearest)
    # γ̇′ is the gradient of the other distance; where the metric is not that of the ambient space, γ̇′/|γ̇′|² is.
    gradient = fan.velocities[there]
    gradient = gradient / np.einsum("nd,nd->n", gradient, gradient)[:, None]
    lead = fan.distances[here[1]] - fan.distances[there[1]]
    lead -= np.einsum("nd,nd->n", gradient, fan.points[here] - fan.points[there])
    rate = 1.0 - np.einsum("nd,nd->n", gradient, fan.velocities[here])
    # No further back than one length scale from where it was detected.
    back = np.clip(lead / np.maximum(rate, 1e-3), 0.0, scale)
    late = lead > LEAST_LEAD * scale
    np.minimum.at(cut, here[0][late], fan.distances[here[1][late]] - back[late])
    return cut


def differ(between: FloatArray, apart: FloatArray, scale: float) -> BoolArray:
    """Whether pairs lie on different sheets: coordinates ``between`` [n] from each other, points ``apart`` [n]."""
    return np.asarray(between > SHEETS_APART * apart + 0.5 * scale)


def _at(index: tuple[IntArray, IntArray], kept: IntArray) -> tuple[IntArray, IntArray]:
    return index[0][kept], index[1][kept]


def _thinned(fan: Fan, scale: float) -> tuple[IntArray, IntArray]:
    """Rays and nodes of the fan, thinned to a third of the length scale."""
    ray, node = np.nonzero(fan.real)
    if fan.directions.shape[1] != 2:
        return ray, node
    spacing = 2.0 * np.pi / len(fan.directions) * fan.distances
    stride = np.maximum(1, np.floor(scale / 3.0 / np.maximum(spacing, 1e-300))).clip(max=len(fan.directions))
    kept = ray % stride[node].astype(np.int64) == 0
    return ray[kept], node[kept]


class Ending(IntEnum):
    """Why a geodesic of a chart ends. Up to `Status.NOT_FINITE` these are the reasons of the flow."""

    FOLDED = 20
    SHORTCUT = 21

    @property
    def message(self) -> str:
        """The reason as a message."""
        return {
            Ending.FOLDED: "met its neighbours (fold)",
            Ending.SHORTCUT: "another geodesic is shorter (cut)",
        }[self]


@dataclass(frozen=True, slots=True)
class Domain:
    """Extents of a chart along its geodesics.

    Attributes
    ----------
    extents : [L]
    endings : [L]
        `Status` (OK: reached the radius) or `Ending`.
    injectivity_radius : float
        Distance of the nearest fold or cut; infinite if there is none.
    """

    extents: FloatArray
    endings: StatusArray
    injectivity_radius: float

    @property
    def cut(self) -> BoolArray:
        """Which geodesics [L] end at a fold or a cut."""
        return np.asarray(self.endings >= min(Ending))

    def border(self, scale: float) -> FloatArray:
        """ρ at the two sides [L, 2] of the cell after each geodesic of a circle of directions; of a line, ρ twice."""
        if len(self.extents) == 2:
            return np.repeat(self.extents[:, None], 2, axis=1)
        rise = np.where(self.endings == Ending.FOLDED, 0.0, RISE * scale)
        ends = np.stack([self.extents, np.roll(self.extents, -1)], axis=1)
        rise = np.minimum(rise, np.roll(rise, -1))[:, None]
        return np.asarray(np.minimum(ends, ends.min(axis=1, keepdims=True) + rise))


def domain_of(fan: Fan, scale: float, limit: float) -> Domain:
    """Cut the geodesics of ``fan`` where exp stops being one-to-one.

    A geodesic abandoned before the ``limit`` within the data had met others in a coarser fan.
    """
    fold, shortcut = folds(fan), shortcuts(fan, scale)
    extents = np.minimum(fan.reached, np.minimum(fold, shortcut))
    endings = np.where((fan.status == Status.OK) & (fan.reached < limit), np.int8(Ending.FOLDED), fan.status)
    endings[shortcut <= np.minimum(fan.reached, fold)] = Ending.SHORTCUT
    endings[(fold < shortcut) & (fold <= fan.reached)] = Ending.FOLDED
    cuts = extents[endings >= min(Ending)]
    return Domain(extents, endings, float(cuts.min()) if cuts.size else np.inf)


def count_endings(endings: StatusArray) -> dict[str, int]:
    """Number of geodesics that ended for each reason, by message, the most frequent first."""

    def message(value: int) -> str:
        reason = Ending(value) if value >= min(Ending) else Status(value)
        return "reached the radius" if reason == Status.OK else reason.message

    return count_statuses(endings, message)
