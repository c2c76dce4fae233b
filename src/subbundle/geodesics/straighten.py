"""Straightening curves on the ridge: the shortest curve in the homotopy class of a given one.

A curve is a row of nodes p_0..p_m, about a bandwidth apart, with fixed ends. Its energy Σ |p_{i+1} − p_i|² is least
where the nodes are evenly spaced on a geodesic of the ridge. A step moves each node within its subspace, by F_i c_i,

    2 c_i − X_i c_{i+1} − X_{i−1}ᵀ c_{i−1} = F_iᵀ (p_{i+1} − 2 p_i + p_{i−1}),        X_i = F_iᵀ F_{i+1},

a diagonally dominant system, and then back onto the ridge. Noise in the subspaces focuses and defocuses geodesics that
are *shot* over long distances; a curve with both ends fixed averages over it. Steps shrink by the
square of the distance relative to that of a conjugate point; three to five are usual.

The length counts arcs instead of chords: with α the angle between a chord and the subspaces at its ends, |e| α / sin α.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import BoolArray, FloatArray, IntArray, Status, all_finite
from subbundle.bundles.base import Subbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.bundles.surroundings import Surroundings, surrounding_dim, surroundings_of
from subbundle.geodesics.arcs import arcs
from subbundle.geodesics.tuning import RIDGE_STEPS

# Steps after which a curve is taken as it is: near conjugate points they shrink slowly, but lengths hardly change.
_MOST_STEPS = 30


@dataclass(frozen=True, slots=True)
class Curves:
    """Straightened curves.

    Attributes
    ----------
    nodes : list of [m + 1, dim]
    lengths : [n]
    departures, arrivals : [n, dim]
        Unit vectors in the subspaces at the first and at the last node that lead along the curve and back along it.
    """

    nodes: list[FloatArray]
    lengths: FloatArray
    departures: FloatArray
    arrivals: FloatArray

    def chosen(self, rows: IntArray) -> Curves:
        """The curves of ``rows``."""
        nodes = [self.nodes[row] for row in rows]
        return Curves(nodes, self.lengths[rows], self.departures[rows], self.arrivals[rows])


def straighten(bundle: Subbundle, curves: list[FloatArray], tol: float) -> Curves:
    """Straighten ``curves``, each [m, dim] with its ends on the ridge, until steps shorten them by less than ``tol``.

    A curve's result does not depend on the others.
    """
    around = surroundings_of(bundle)
    nodes = [_even(around, curve, bundle.length_scale) for curve in curves]
    found = Curves(nodes, np.zeros(len(nodes)), *np.zeros((2, len(nodes), bundle.ambient_dim)))
    sizes = np.array([len(curve) for curve in nodes], np.int64)
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        together, lengths, directions = _relaxed(bundle, np.stack([nodes[row] for row in rows]), tol)
        found.lengths[rows], found.departures[rows], found.arrivals[rows] = lengths, directions[0], directions[1]
        for row, curve in zip(rows, together, strict=True):
            nodes[row] = curve
    return found


def _even(around: Surroundings, curve: FloatArray, spacing: float) -> FloatArray:
    """Nodes about ``spacing`` apart along the polygon ``curve`` [m, dim]."""
    legs = around.distance(curve[:-1], curve[1:])
    return evenly_along(around, curve, max(int(np.ceil(float(legs[np.isfinite(legs)].sum()) / spacing)), 1))


def evenly_along(around: Surroundings, curve: FloatArray, count: int) -> FloatArray:
    """``count`` + 1 points at equal distances along the polygon ``curve`` [m, dim]."""
    legs = around.distance(curve[:-1], curve[1:])
    ends = np.concatenate([[0.0], np.cumsum(np.where(np.isfinite(legs), legs, 0.0))])
    at = ends[-1] * np.arange(1, count) / count
    leg = np.clip(np.searchsorted(ends, at, side="right") - 1, 0, len(legs) - 1)
    fraction = (at - ends[leg]) / np.maximum(legs[leg], 1e-300)
    inner = around.move(curve[leg], fraction[:, None] * around.displacement(curve[leg], curve[leg + 1]))
    return np.concatenate([curve[:1], inner, curve[-1:]])


def _relaxed(
    bundle: Subbundle, nodes: FloatArray, tol: float
) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """Nodes [n, m + 1, dim] after straightening, lengths [n] and the directions at both ends."""
    vectors, duals, _ = _frames(bundle, nodes)
    lengths, directions = _measured(bundle, nodes, vectors, duals)
    active = np.arange(len(nodes)) if nodes.shape[1] > 2 else np.empty(0, np.int64)
    for step in range(_MOST_STEPS):
        if active.size == 0:
            break
        moved = _step(bundle, nodes[active], vectors[active], duals[active])
        *frames, defined = _frames(bundle, moved)
        for new, old in zip((moved, *frames), (nodes, vectors, duals), strict=True):
            # Nodes that would leave the support stay.
            new[~defined] = old[active][~defined]
        now, turned = _measured(bundle, moved, *frames)
        # The first curve is a polygon with chords off the ridge, and may be shorter than any on it.
        better = np.flatnonzero((now < lengths[active]) | (step < 2))
        gain = lengths[active] - now
        rows = active[better]
        nodes[rows], vectors[rows], duals[rows], lengths[rows] = (
            moved[better], frames[0][better], frames[1][better], now[better],
        )  # fmt: skip
        for direction, new in zip(directions, turned, strict=True):
            direction[rows] = new[better]
        active = active[(gain > tol * np.maximum(lengths[active], bundle.length_scale)) | (step < 2)]
    return nodes, lengths, directions


def _frames(bundle: Subbundle, nodes: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Frames and dual frames [n, m, dim, k] at ``nodes`` [n, m, dim], zero where undefined; where defined [n, m]."""
    frame = bundle.frame(nodes.reshape(-1, nodes.shape[-1]))
    shape = (*nodes.shape, bundle.rank)
    vectors = np.nan_to_num(frame.vectors)
    duals = vectors.copy() if frame.duals is None else np.nan_to_num(frame.duals)
    return vectors.reshape(shape), duals.reshape(shape), (frame.status == Status.OK).reshape(shape[:2])


def _step(bundle: Subbundle, nodes: FloatArray, vectors: FloatArray, duals: FloatArray) -> FloatArray:
    """The nodes [n, m + 1, dim] after one step; those without a projection to the ridge stay."""
    around, dim = surroundings_of(bundle), nodes.shape[2]
    inner = nodes[:, 1:-1].reshape(-1, dim)
    pull = around.displacement(inner, nodes[:, 2:].reshape(-1, dim))
    pull = np.nan_to_num(pull + around.displacement(inner, nodes[:, :-2].reshape(-1, dim)))
    forces = (duals[:, 1:-1].reshape(-1, dim, bundle.rank) * pull[:, :, None]).sum(axis=1)
    moves = _solved(_couplings(around, nodes, vectors, duals), forces.reshape(len(nodes), -1, bundle.rank))
    size = np.sqrt((moves * moves).sum(axis=2)).max(axis=1)
    moves *= np.minimum(1.0, bundle.length_scale / np.maximum(size, 1e-300))[:, None, None]
    tried = around.move(inner, (vectors[:, 1:-1] * moves[:, :, None, :]).sum(axis=3).reshape(-1, dim))
    kept = all_finite(tried)
    if bundle.rank < surrounding_dim(bundle):
        ridge = ridge_project(bundle, np.where(kept[:, None], tried, inner), max_steps=RIDGE_STEPS, continuation=None)
        kept &= ridge.arrived
        tried = ridge.points
    result = nodes.copy()
    result[:, 1:-1] = np.where(kept[:, None], tried, inner).reshape(len(nodes), -1, dim)
    return result


def _couplings(around: Surroundings, nodes: FloatArray, vectors: FloatArray, duals: FloatArray) -> FloatArray:
    """X [n, m − 2, k, k] between the subspaces at one inner node and the next."""
    n, _, dim, rank = vectors.shape
    here, there = (nodes[:, part].reshape(-1, dim) for part in (slice(1, -2), slice(2, -1)))
    dual = duals[:, 1:-2].reshape(-1, dim, rank)
    columns = [
        (dual * np.nan_to_num(around.transport(vectors[:, 2:-1, :, i].reshape(-1, dim), there, here))[:, :, None]).sum(
            1
        )
        for i in range(rank)
    ]
    return np.stack(columns, axis=2).reshape(n, -1, rank, rank)


def _solved(couplings: FloatArray, forces: FloatArray) -> FloatArray:
    """c [n, m, k] with 2 c_i − X_i c_{i+1} − X_{i−1}ᵀ c_{i−1} = forces_i: elimination forwards, then backwards."""
    n, m, k = forces.shape
    after, value = np.zeros((n, m, k, k)), np.zeros((n, m, k))
    for i in range(m):
        pivot, right = np.broadcast_to(2.0 * np.eye(k), (n, k, k)), forces[:, i]
        if i:
            before = np.swapaxes(couplings[:, i - 1], 1, 2)
            pivot = pivot - _product(before, after[:, i - 1])
            right = right + (before * value[:, i - 1, None, :]).sum(axis=2)
        inverse = np.asarray(np.linalg.inv(pivot), dtype=np.float64)
        value[:, i] = (inverse * right[:, None, :]).sum(axis=2)
        if i + 1 < m:
            after[:, i] = _product(inverse, couplings[:, i])
    for i in range(m - 2, -1, -1):
        value[:, i] += (after[:, i] * value[:, i + 1, None, :]).sum(axis=2)
    return value


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products of small matrices, summed in the same order for every row."""
    return np.asarray((a[:, :, :, None] * b[:, None, :, :]).sum(axis=2))


def _measured(
    bundle: Subbundle, nodes: FloatArray, vectors: FloatArray, duals: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Lengths [n] and the unit vectors [n, dim] at both ends along the curves."""
    around, dim = surroundings_of(bundle), nodes.shape[2]
    here, there = (nodes[:, part].reshape(-1, dim) for part in (slice(0, -1), slice(1, None)))
    ahead = (duals[:, :-1] * around.displacement(here, there).reshape(nodes[:, 1:].shape)[..., None]).sum(axis=2)
    back = (duals[:, 1:] * around.displacement(there, here).reshape(nodes[:, 1:].shape)[..., None]).sum(axis=2)
    chords = around.distance(here, there).reshape(len(nodes), -1)
    lengths = arcs(chords, (ahead * ahead).sum(axis=2), (back * back).sum(axis=2)).sum(axis=1)
    ends = ((vectors[:, 0], ahead[:, 0]), (vectors[:, -1], back[:, -1]))
    departures, arrivals = ((frame * _unit(direction)[:, None, :]).sum(axis=2) for frame, direction in ends)
    return lengths, (departures, arrivals)


def _unit(vectors: FloatArray) -> FloatArray:
    size = np.sqrt((vectors * vectors).sum(axis=1))
    first = np.eye(vectors.shape[1])[0]
    return np.asarray(np.where(size[:, None] > 0, vectors / np.maximum(size, 1e-300)[:, None], first))
