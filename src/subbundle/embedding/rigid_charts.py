"""Charts as rigid pieces of a layout: how far positions z contradict them, and the quadratic model of that.

A chart c gives its members j coordinates v_cj with weights w_cj. Its share of the energy is

    E_c(Z) = min over R, t of Σ_j w_cj |z_j − t − v_cj R|²,     R orthogonal.

The best R and t depend on Z; eliminated to first order (Gauss–Newton with variable projection) they leave

    H = L ⊗ 1 − Kᵀ G⁻¹ K,     L = diag(Σ_c w_c) − Sᵀ diag(1/Σ_j w_cj) S,

with the weights S [C, n], the arms u = (v − v̄) R turned by the generators of rotations in K [C·p, n·k], and their Gram
matrices G [C, p, p], p = k(k − 1)/2. All of them are sparse; memory is linear in the number of members.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import bsr_array, csr_array, diags_array

from subbundle._types import FloatArray, IntArray
from subbundle.atlas.orientation import nearest_frame


@dataclass(frozen=True, slots=True)
class ChartMembers:
    """Members of charts as one list.

    Attributes
    ----------
    starts : [C + 1]
        Members of chart c are the entries starts[c] .. starts[c + 1].
    rows : [m]
    coordinates : [m, k]
        v.
    weights : [m]
        1/standard error², up to a common factor.
    """

    starts: IntArray
    rows: IntArray
    coordinates: FloatArray
    weights: FloatArray

    @property
    def charts(self) -> IntArray:
        """Chart of each entry [m]."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


class RigidCharts:
    """E(Z) = Σ_c E_c(Z) of ``members`` among ``count`` rows, its gradient and its curvature H at the current Z."""

    def __init__(self, members: ChartMembers, count: int) -> None:
        self.members, self.count = members, count
        self.rank = members.coordinates.shape[1]
        self._of = members.charts
        charts, entries = len(members.starts) - 1, len(members.rows)
        self._sum = csr_array((np.ones(entries), np.arange(entries), members.starts), shape=(charts, entries))
        self._spread = csr_array((np.ones(entries), (members.rows, np.arange(entries))), shape=(count, entries))
        self.mass = np.maximum(self._sum @ members.weights, 1e-300)
        self._shares = csr_array((members.weights, members.rows, members.starts), shape=(charts, count))
        self.degrees = np.asarray(self._spread @ members.weights)
        self._arms = members.coordinates - self._means(members.coordinates)[self._of]
        self.size = float(np.sum(members.weights[:, None] * self._arms**2))
        self._planes = np.triu_indices(self.rank, 1)
        self._turned = self._arms
        self._across: csr_array | None = None
        self._gram: FloatArray = np.empty((charts, 0, 0))

    def at(self, positions: FloatArray) -> tuple[float, FloatArray]:
        """E and half of its negative gradient [n, k] at ``positions`` [n, k]; `product` then belongs to these."""
        weights = self.members.weights[:, None]
        here = positions[self.members.rows]
        here = here - self._means(here)[self._of]
        self.turns = nearest_frame(self._moments(weights * self._arms, here))
        self._turned = np.einsum("mi,mij->mj", self._arms, self.turns[self._of])
        off = self._turned - here
        self.residuals = np.asarray(self._sum @ np.einsum("m,mk,mk->m", self.members.weights, off, off))
        return float(self.residuals.sum()), np.asarray(self._spread @ (weights * off))

    def linearise(self) -> None:
        """Prepare `product` for the positions last given to `at`."""
        first, second = self._planes
        if not first.size:
            self._across = None
            return
        weighted = self._turned * self.members.weights[:, None]
        gram = _turned_products(self._moments(weighted, self._turned), first, second)
        traces = np.trace(gram, axis1=1, axis2=2)
        gram += (1e-9 * traces + 1e-300)[:, None, None] * np.eye(first.size)
        self._gram = np.asarray(np.linalg.inv(gram), dtype=np.float64)
        entries = np.stack([weighted[:, first], -weighted[:, second]], axis=2)
        order, indices, starts = self._pattern
        shape = (gram.shape[0] * first.size, self.count * self.rank)
        self._across = csr_array((entries.ravel()[order], indices, starts), shape=shape)
        self._back = csr_array(self._across.T)

    @cached_property
    def _pattern(self) -> tuple[IntArray, IntArray, IntArray]:
        """Order, columns and starts of rows of the entries of K: u turned in the plane (a, b) is u_a e_b − u_b e_a."""
        first, second = self._planes
        rows = self._of[:, None] * first.size + np.arange(first.size)
        columns = self.members.rows[:, None, None] * self.rank + np.stack([second, first], axis=1)
        rows = np.broadcast_to(rows[:, :, None], columns.shape).ravel()
        order = np.lexsort([columns.ravel(), rows])
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(self.mass) * first.size))])
        return order, columns.ravel()[order], starts

    def _moments(self, weighted: FloatArray, others: FloatArray) -> FloatArray:
        """Σ w u ⊗ z [C, k, k] over the members of each chart, of w u and z [m, k]."""
        parts = [np.asarray(self._sum @ (weighted[:, [a]] * others)) for a in range(self.rank)]
        return np.stack(parts, axis=1)

    def product(self, x: FloatArray) -> FloatArray:
        """H x for ``x`` [n, k]."""
        result = self.degrees[:, None] * x - self._shares.T @ ((self._shares @ x) / self.mass[:, None])
        if self._across is not None:
            angles = (self._across @ x.ravel()).reshape(len(self.mass), -1)
            solved = np.einsum("cpq,cq->cp", self._gram, angles)
            result -= (self._back @ solved.ravel()).reshape(x.shape)
        return np.asarray(result)

    def reduced(self, basis: csr_array) -> FloatArray:
        """Bᵀ H B, dense, for a sparse ``basis`` [n·k, b]."""
        shares = csr_array(_times_identity(self._shares, self.rank) @ basis)
        own = basis.T @ diags_array(np.repeat(self.degrees, self.rank)) @ basis
        own = own - shares.T @ diags_array(np.repeat(1.0 / self.mass, self.rank)) @ shares
        result = own.toarray()
        if self._across is not None:
            across = csr_array(self._across @ basis)
            charts, angles = self._gram.shape[:2]
            solve = bsr_array((self._gram, np.arange(charts), np.arange(charts + 1)), shape=(charts * angles,) * 2)
            result -= (across.T @ (solve @ across)).toarray()
        return np.asarray(result)

    def _means(self, entries: FloatArray) -> FloatArray:
        """Weighted means [C, k] over the members of each chart."""
        return np.asarray((self._sum @ (self.members.weights[:, None] * entries)) / self.mass[:, None])


def _turned_products(moments: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """Σ w (u turned in one plane)·(u turned in another) [C, p, p], from Σ w u uᵀ [C, k, k] and the planes' axes [p].

    (u_a e_b − u_b e_a)·(u_c e_d − u_d e_c) = u_a u_c δ_bd − u_a u_d δ_bc − u_b u_c δ_ad + u_b u_d δ_ac.
    """
    axes = ((first, second, 1.0), (second, first, -1.0))
    terms = [
        sign * other_sign * moments[:, a[:, None], c] * (b[:, None] == d)
        for a, b, sign in axes
        for c, d, other_sign in axes
    ]
    return np.asarray(sum(terms))


def _times_identity(matrix: csr_array, rank: int) -> csr_array:
    """``matrix`` ⊗ 1_k."""
    entries = matrix.tocoo()
    rows, columns = (np.asarray(index)[:, None] * rank + np.arange(rank) for index in entries.coords)
    shape = (matrix.shape[0] * rank, matrix.shape[1] * rank)
    return csr_array((np.repeat(entries.data, rank), (rows.ravel(), columns.ravel())), shape=shape)
