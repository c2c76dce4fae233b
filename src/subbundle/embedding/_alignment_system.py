"""The least-squares problem of the alignment: its energy, and one step of Gauss and Newton.

With u = v R_c, ū_c its weighted mean over the members of chart c, a small turn and shift of the charts moves an image
by B θ = (u − ū) Ω_c + δt_c. After eliminating Z, the normal matrix is

    A = H − Gᵀ S⁻¹ G,     H = Bᵀ W B  (block diagonal),   G = Σ over the members of a point of W B,   S point masses.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import LinearOperator, cg

from subbundle._types import FloatArray, IntArray
from subbundle.embedding.chart_links import Links, nearest_orthogonal
from subbundle.embedding.quadratic_charts import SmallCharts

_TOL, _MOST = 1e-4, 1000
# A has a null vector for every rigid motion of a component; this part of its diagonal is added.
_RAISED = 1e-9


class AlignmentSystem:
    """E(R, t) of ``charts``; ``links`` say which charts form a cluster."""

    def __init__(self, charts: SmallCharts, links: Links) -> None:
        self._charts, self._of = charts, charts.charts
        self._clusters = _clusters(links, len(charts.bases))
        self._weights, self._places = charts.weights, charts.places
        entries = np.arange(len(charts.places))
        self._gather = csr_array((charts.weights, (charts.places, entries)), shape=(charts.n_points, len(entries)))
        mass = np.asarray(self._gather.sum(axis=1)).ravel()
        self._inverse = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0.0)
        self._by_chart = csr_array(
            (np.ones(len(entries)), (self._of, entries)), shape=(len(charts.bases), len(entries))
        )
        self._chart_mass = self._sum(charts.weights) + 1e-300

    def images(self, maps: FloatArray, shifts: FloatArray) -> FloatArray:
        """v R_c + t_c of every member."""
        return np.asarray(np.einsum("mi,mij->mj", self._charts.coordinates, maps[self._of]) + shifts[self._of])

    def positions(self, maps: FloatArray, shifts: FloatArray) -> FloatArray:
        """Z [n, k], the means over the charts of a point; NaN where no chart has it."""
        positions = self._inverse[:, None] * (self._gather @ self.images(maps, shifts))
        positions[self._inverse == 0.0] = np.nan
        return np.asarray(positions)

    def energy(self, maps: FloatArray, shifts: FloatArray) -> float:
        """E, at the best Z."""
        off = self.images(maps, shifts) - self.positions(maps, shifts)[self._places]
        return float(np.sum(self._weights * np.einsum("mk,mk->m", off, off)))

    def step(self, maps: FloatArray, shifts: FloatArray, *, turn: bool) -> tuple[FloatArray, FloatArray]:
        """Rotations and translations after one step; without ``turn`` only the translations change."""
        rank = shifts.shape[1]
        generators = _generators(rank) if turn else np.empty((0, rank, rank))
        turned = np.einsum("mi,mij->mj", self._charts.coordinates, maps[self._of])
        middle = self._sum(turned * self._weights[:, None]) / self._chart_mass[:, None]
        images, arms = turned + shifts[self._of], turned - middle[self._of]
        design = self._design(arms, generators)
        change = self._solve(design, images, middle + shifts, generators)
        angles, moves = change[:, : len(generators)], change[:, len(generators) :]
        turns = np.eye(rank) + np.einsum("cp,pij->cij", angles, generators)
        new_maps = nearest_orthogonal(maps @ nearest_orthogonal(turns)[0])[0] if turn else maps
        # The turn is about the middle of the members, which only moves.
        old = np.einsum("ci,cij->cj", self._mean_coordinates(), maps)
        new = np.einsum("ci,cij->cj", self._mean_coordinates(), new_maps)
        return new_maps, shifts + moves + old - new

    def _mean_coordinates(self) -> FloatArray:
        return self._sum(self._charts.coordinates * self._weights[:, None]) / self._chart_mass[:, None]

    def _design(self, arms: FloatArray, generators: FloatArray) -> csr_array:
        """√w B: rows (member, coordinate), columns (chart, angle or coordinate)."""
        members, rank = arms.shape
        angles = len(generators)
        width = angles + rank
        values = np.empty((members, rank, angles + 1))
        values[:, :, :angles] = np.einsum("mi,pij->mjp", arms, generators)
        values[:, :, angles] = 1.0
        values *= np.sqrt(self._weights)[:, None, None]
        columns = np.empty((members, rank, angles + 1), np.int64)
        columns[:] = (self._of * width)[:, None, None]
        columns[:, :, :angles] += np.arange(angles)
        columns[:, :, angles] += angles + np.arange(rank)
        starts = np.arange(members * rank + 1) * (angles + 1)
        shape = (members * rank, len(self._chart_mass) * width)
        return csr_array((values.ravel(), columns.ravel(), starts), shape=shape)

    def _solve(self, design: csr_array, images: FloatArray, centres: FloatArray, generators: FloatArray) -> FloatArray:
        """θ [M, angles + k] of the step."""
        rank = images.shape[1]
        root = np.sqrt(self._weights)
        gather = self._spread_gather(rank, root)
        joint = csr_array(gather @ design)
        inverse = np.repeat(self._inverse, rank)
        own = csr_array(design.T @ design)
        off = (self.positions_of(images) - images) * root[:, None]
        right = design.T @ off.ravel()
        clusters = _rigid_motions(self._clusters, centres, generators)
        precondition = _preconditioner(own, joint, inverse, clusters)
        across = csr_array(joint.T)
        raised = _RAISED * own.diagonal()

        def matvec(x: FloatArray) -> FloatArray:
            result: FloatArray = own @ x - across @ (inverse * (joint @ x)) + raised * x
            return result

        size = own.shape[0]
        operator = LinearOperator((size, size), matvec=matvec, dtype=np.float64)
        solution, _ = cg(operator, right, rtol=_TOL, maxiter=_MOST, M=precondition)
        return np.asarray(solution).reshape(len(self._chart_mass), -1)

    def positions_of(self, images: FloatArray) -> FloatArray:
        """Z of the point of every member [m, k]."""
        return np.asarray((self._inverse[:, None] * (self._gather @ images))[self._places])

    def _spread_gather(self, rank: int, root: FloatArray) -> csr_array:
        """Sums of √w over the members of a point, coordinate by coordinate."""
        rows = (self._places[:, None] * rank + np.arange(rank)).ravel()
        columns = np.arange(len(rows))
        return csr_array((np.repeat(root, rank), (rows, columns)), shape=(len(self._inverse) * rank, len(rows)))

    def _sum(self, entries: FloatArray) -> FloatArray:
        """Sums over the members of each chart; zero for charts that lost theirs to another part."""
        return np.asarray(self._by_chart @ entries)


def _generators(rank: int) -> FloatArray:
    """A basis [k(k−1)/2, k, k] of the antisymmetric matrices."""
    pairs = [(i, j) for i in range(rank) for j in range(i + 1, rank)]
    basis = np.zeros((len(pairs), rank, rank))
    for p, (i, j) in enumerate(pairs):
        basis[p, i, j], basis[p, j, i] = 1.0, -1.0
    return basis


def _clusters(links: Links, count: int) -> IntArray:
    """Cluster of each chart: the first chart without one takes its linked charts along, and so on."""
    rows, columns = np.concatenate([links.pairs, links.pairs[:, ::-1]]).T
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    cluster = np.full(count, -1, np.int64)
    found = 0
    for chart in range(count):
        if cluster[chart] < 0:
            near = graph.indices[graph.indptr[chart] : graph.indptr[chart + 1]]
            cluster[near[cluster[near] < 0]] = found
            cluster[chart] = found
            found += 1
    return cluster


def _rigid_motions(clusters: IntArray, centres: FloatArray, generators: FloatArray) -> csr_array:
    """Columns (cluster, angle or coordinate): how a rigid motion of a cluster moves charts at ``centres`` [M, k]."""
    count, rank = centres.shape
    angles = len(generators)
    width = angles + rank
    number = clusters.max() + 1
    sizes = np.bincount(clusters, minlength=number)[:, None]
    middle = np.column_stack([np.bincount(clusters, weights=c, minlength=number) for c in centres.T]) / sizes
    arms = centres - middle[clusters]
    block = np.zeros((count, width, width))
    block[:, np.arange(width), np.arange(width)] = 1.0
    block[:, angles:, :angles] = np.einsum("ci,pij->cjp", arms, generators)
    rows = np.broadcast_to((np.arange(count) * width)[:, None, None] + np.arange(width)[:, None], block.shape)
    columns = np.broadcast_to((clusters * width)[:, None, None] + np.arange(width), block.shape)
    return csr_array((block.ravel(), (rows.ravel(), columns.ravel())), shape=(count * width, number * width))


def _preconditioner(own: csr_array, joint: csr_array, inverse: FloatArray, clusters: csr_array) -> LinearOperator:
    """Diagonal of A plus the exact solution on the rigid motions of the clusters."""
    diagonal = own.diagonal()
    diagonal = np.maximum(diagonal, 1e-12 * diagonal.max())
    reduced = csr_array(joint @ clusters)
    coarse = (clusters.T @ own @ clusters - reduced.T @ (diags_array(inverse) @ reduced)).toarray()
    coarse[np.diag_indices_from(coarse)] += _RAISED * (clusters.T @ own @ clusters).diagonal() + 1e-300
    factor = cho_factor(coarse, lower=True)
    size = own.shape[0]

    def apply(x: FloatArray) -> FloatArray:
        result: FloatArray = x / diagonal + clusters @ cho_solve(factor, clusters.T @ x)
        return result

    return LinearOperator((size, size), matvec=apply, dtype=np.float64)
