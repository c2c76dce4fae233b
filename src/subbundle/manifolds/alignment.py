"""One global alignment of many small charts: rotations, then translations.

Chart c carries its coordinates v to z = v R_c + t_c. On the points that charts c and e share, v_c ≈ v_e O_ce + const, so
R_e ≈ O_ce R_c, and rotations that fit all pairs at once minimise

    Σ ω_ce |R_e − O_ce R_c|²     →     the k lowest eigenvectors of the connection Laplacian of the graph of charts,

found by inverse iteration from the rotations along a spanning tree, each k × k block then made orthogonal. Given the
rotations, translations t and the positions Z_i of the points solve

    min Σ_ic w_ic |v_ic R_c + t_c − Z_i|²,

a sparse least-squares problem, by conjugate gradients. A few rounds of: Z, then R_c by Procrustes from v to Z, settle
both together. All matrices are sparse; memory is linear in the number of members.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import bsr_array, csr_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import LinearOperator, cg

from subbundle._types import FloatArray, IntArray
from subbundle.manifolds.small_charts import Links, SmallCharts, nearest_orthogonal

_INVERSE_ROUNDS, _SHIFT = 8, 1e-6
_TOL, _MOST = 1e-6, 2000


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where the charts go.

    Attributes
    ----------
    maps, shifts : [M, k, k], [M, k]
        z = v A_c + t_c, A_c orthogonal.
    positions : [n, k]
        Z of the points in the charts; NaN for points in none.
    residual : float
        Root-mean-square of v A_c + t_c − Z over the members, in chart radii.
    """

    maps: FloatArray
    shifts: FloatArray
    positions: FloatArray
    residual: float


def align(charts: SmallCharts, links: Links, labels: IntArray, *, rounds: int = 10) -> Alignment:
    """Align ``charts``, those of each of the connected components ``labels`` [M] among themselves."""
    maps = rotations(links, labels, charts.rank)
    system = _Translations(charts)
    shifts = np.zeros((len(labels), charts.rank))
    for r in range(rounds + 1):
        if r:
            maps = system.procrustes(positions)
        shifts = system.shifts(maps, shifts)
        positions = system.positions(maps, shifts)
    return Alignment(maps, shifts, positions, system.residual(maps, shifts, positions) / charts.radius)


def rotations(links: Links, labels: IntArray, rank: int) -> FloatArray:
    """Orthogonal matrices [M, k, k] with R_e ≈ O_ce R_c, component by component."""
    count = len(labels)
    turned = np.broadcast_to(np.eye(rank), (count, rank, rank)).copy()
    if len(links.pairs) == 0:
        return turned
    graph = _graph(links, count)
    for label in range(labels.max() + 1):
        _along_tree(graph, links, int(np.flatnonzero(labels == label)[0]), turned)
    degree = np.bincount(links.pairs.ravel(), weights=np.repeat(links.weights, 2), minlength=count)
    degree = np.maximum(degree, 1e-300)
    laplacian = _connection_laplacian(links, degree, rank)
    # Unknowns are √degree · R, in which the eigenproblem is the plain one.
    scale = np.sqrt(degree)[:, None, None]
    block = turned * scale
    for _ in range(_INVERSE_ROUNDS):
        flat = block.reshape(count * rank, rank)
        columns = [_solve(laplacian, flat[:, a], flat[:, a]) for a in range(rank)]
        block = _normalised(np.column_stack(columns).reshape(count, rank, rank), labels)
    return nearest_orthogonal(block / scale)[0]


def _graph(links: Links, count: int) -> csr_array:
    """Entry (c, e) holds 1 + the number of the link, so that it is never an empty entry."""
    numbers = np.arange(1, len(links.pairs) + 1, dtype=np.float64)
    rows, columns = links.pairs.T
    upper = csr_array((numbers, (rows, columns)), shape=(count, count))
    return csr_array(upper + upper.T)


def _along_tree(graph: csr_array, links: Links, root: int, turned: FloatArray) -> None:
    """Multiply the turns along a breadth-first tree from ``root``."""
    order, before = breadth_first_order(graph, root, directed=False)
    for chart in order[1:]:
        parent = before[chart]
        number = int(graph[parent, chart]) - 1
        turn = links.turns[number]
        turned[chart] = (turn if links.pairs[number, 0] == parent else turn.T) @ turned[parent]


def _connection_laplacian(links: Links, degree: FloatArray, rank: int) -> csr_array:
    """I − D^−½ W D^−½ with the k × k blocks W_ec = ω O_ce, plus a small shift that makes it positive."""
    count = len(degree)
    c, e = links.pairs.T
    blocks = links.turns * (links.weights / np.sqrt(degree[c] * degree[e]))[:, None, None]
    rows, columns = np.concatenate([e, c]), np.concatenate([c, e])
    data = np.concatenate([blocks, blocks.transpose(0, 2, 1)])
    order = np.lexsort((columns, rows))
    starts = np.searchsorted(rows[order], np.arange(count + 1))
    size = count * rank
    joint = csr_array(bsr_array((data[order], columns[order], starts), shape=(size, size)))
    identity = csr_array((np.full(size, 1.0 + _SHIFT), (np.arange(size), np.arange(size))), shape=(size, size))
    return csr_array(identity - joint)


def _normalised(block: FloatArray, labels: IntArray) -> FloatArray:
    """Columns made orthogonal and of the size of a stack of orthogonal matrices, in each component."""
    gram = np.zeros((labels.max() + 1, *block.shape[1:]))
    np.add.at(gram, labels, block.transpose(0, 2, 1) @ block)
    values, vectors = np.linalg.eigh(gram)
    root = vectors / np.sqrt(np.maximum(values, 1e-300))[:, None, :] @ vectors.transpose(0, 2, 1)
    sizes = np.sqrt(np.bincount(labels))[:, None, None]
    normalised: FloatArray = block @ (root * sizes)[labels]
    return normalised


def _solve(matrix: csr_array | LinearOperator, right: FloatArray, guess: FloatArray) -> FloatArray:
    solution, _ = cg(matrix, right, x0=guess, rtol=_TOL, maxiter=_MOST)
    return np.asarray(solution)


class _Translations:
    """The least-squares problem for t and Z at given rotations."""

    def __init__(self, charts: SmallCharts) -> None:
        self._v, self._rank = charts.coordinates, charts.rank
        self._charts, self._starts = charts.charts, charts.starts[:-1]
        count = len(charts.bases)
        self._weights = charts.weights
        self._by_point = csr_array((charts.weights, (charts.places, self._charts)), shape=(charts.n_points, count))
        self._spread = csr_array(
            (charts.weights, (charts.places, np.arange(len(charts.places)))),
            shape=(charts.n_points, len(charts.places)),
        )
        self._places = charts.places
        self._mass = np.asarray(self._by_point.sum(axis=1)).ravel()
        self._inverse_mass = np.divide(1.0, self._mass, out=np.zeros_like(self._mass), where=self._mass > 0.0)
        self._chart_mass = np.maximum(np.asarray(self._by_point.sum(axis=0)).ravel(), 1e-300)
        # Scaling by the square roots of the masses is Jacobi's preconditioner.
        self._scale = 1.0 / np.sqrt(self._chart_mass)
        self._operator = LinearOperator((count, count), matvec=self._laplacian, dtype=np.float64)

    def _laplacian(self, shifts: FloatArray) -> FloatArray:
        scaled = self._scale * shifts.ravel()
        between = self._by_point.T @ (self._inverse_mass * (self._by_point @ scaled))
        result: FloatArray = self._scale * (self._chart_mass * scaled - between)
        return result

    def shifts(self, maps: FloatArray, guess: FloatArray) -> FloatArray:
        """t [M, k] for the rotations ``maps``."""
        turned = self._turned(maps)
        mean = self._inverse_mass[:, None] * (self._spread @ turned)
        right = self._sum((mean[self._places] - turned) * self._weights[:, None]) * self._scale[:, None]
        start = guess / self._scale[:, None]
        columns = [_solve(self._operator, right[:, a], start[:, a]) for a in range(self._rank)]
        return np.column_stack(columns) * self._scale[:, None]

    def positions(self, maps: FloatArray, shifts: FloatArray) -> FloatArray:
        """Z [n, k]; NaN where no chart has the point."""
        images = self._turned(maps) + shifts[self._charts]
        positions = self._inverse_mass[:, None] * (self._spread @ images)
        positions[self._mass == 0.0] = np.nan
        return np.asarray(positions)

    def procrustes(self, positions: FloatArray) -> FloatArray:
        """R [M, k, k] that carry the members' coordinates closest to their positions."""
        return nearest_orthogonal(self._moments(positions)[0])[0]

    def affine(self, positions: FloatArray) -> FloatArray:
        """The same without the restriction to rotations."""
        cross, own = self._moments(positions)
        scale = np.trace(own, axis1=1, axis2=2)[:, None, None] + 1e-300
        return np.linalg.solve(own + 1e-9 * scale * np.eye(self._rank), cross)

    def _moments(self, positions: FloatArray) -> tuple[FloatArray, FloatArray]:
        w = self._weights[:, None]
        centre = self._sum(self._v * w) / self._chart_mass[:, None]
        goal = positions[self._places]
        middle = self._sum(goal * w) / self._chart_mass[:, None]
        offsets = self._v - centre[self._charts]
        cross = self._sum(np.einsum("mi,mj->mij", offsets * w, goal - middle[self._charts]))
        return cross, self._sum(np.einsum("mi,mj->mij", offsets * w, offsets))

    def residual(self, maps: FloatArray, shifts: FloatArray, positions: FloatArray) -> float:
        """Weighted root-mean-square of v R_c + t_c − Z."""
        off = self._turned(maps) + shifts[self._charts] - positions[self._places]
        return float(np.sqrt(np.sum(self._weights * np.einsum("mk,mk->m", off, off)) / self._weights.sum()))

    def _turned(self, maps: FloatArray) -> FloatArray:
        return np.einsum("mi,mij->mj", self._v, maps[self._charts])

    def _sum(self, entries: FloatArray) -> FloatArray:
        """Sums over the members of each chart; every chart has at least one."""
        return np.add.reduceat(entries, self._starts, axis=0)
