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
        self._generators = _generators(self.rank)
        self._turned = self._arms
        self._across: csr_array | None = None
        self._gram = np.empty((charts, 0, 0))

    def at(self, positions: FloatArray) -> tuple[float, FloatArray]:
        """E and half of its negative gradient [n, k] at ``positions`` [n, k]; `product` then belongs to these."""
        weights = self.members.weights[:, None]
        here = positions[self.members.rows]
        here = here - self._means(here)[self._of]
        moments = np.stack(
            [np.asarray(self._sum @ (weights * self._arms[:, [a]] * here)) for a in range(self.rank)], axis=1
        )
        self.turns = nearest_frame(moments)
        self._turned = np.einsum("mi,mij->mj", self._arms, self.turns[self._of])
        off = self._turned - here
        self.residuals = np.asarray(self._sum @ np.einsum("m,mk,mk->m", self.members.weights, off, off))
        return float(self.residuals.sum()), np.asarray(self._spread @ (weights * off))

    def linearise(self) -> None:
        """Prepare `product` for the positions last given to `at`."""
        charts, angles = len(self.mass), len(self._generators)
        if not angles:
            self._across = None
            return
        turned = np.einsum("mi,pij->mpj", self._turned, self._generators)
        weighted = turned * self.members.weights[:, None, None]
        gram = np.stack(
            [np.asarray(self._sum @ np.einsum("mj,mpj->mp", weighted[:, p], turned)) for p in range(angles)],
            axis=1,
        )
        traces = np.trace(gram, axis1=1, axis2=2)
        gram += (1e-9 * traces + 1e-300)[:, None, None] * np.eye(angles)
        self._gram = np.linalg.inv(gram)
        blocks = bsr_array(
            (weighted, self.members.rows, self.members.starts), shape=(charts * angles, self.count * self.rank)
        )
        self._across = csr_array(blocks)
        self._back = csr_array(self._across.T)

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


def _generators(rank: int) -> FloatArray:
    """A basis [k(k−1)/2, k, k] of the antisymmetric matrices."""
    first, second = np.triu_indices(rank, 1)
    basis = np.zeros((len(first), rank, rank))
    numbers = np.arange(len(first))
    basis[numbers, first, second], basis[numbers, second, first] = 1.0, -1.0
    return basis


def _times_identity(matrix: csr_array, rank: int) -> csr_array:
    """``matrix`` ⊗ 1_k."""
    entries = matrix.tocoo()
    rows, columns = (np.asarray(index)[:, None] * rank + np.arange(rank) for index in entries.coords)
    shape = (matrix.shape[0] * rank, matrix.shape[1] * rank)
    return csr_array((np.repeat(entries.data, rank), (rows.ravel(), columns.ravel())), shape=shape)
