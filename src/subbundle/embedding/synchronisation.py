"""Rotations of many charts from the turns between pairs of them.

Charts c and e that share points are related by an orthogonal O_ce, and R_e ≈ O_ce R_c is wanted for all pairs at once:

    min Σ ω_ce |R_e − O_ce R_c|²     →     the k lowest eigenvectors of the connection Laplacian of the graph of charts,

found by inverse iteration from the rotations along a spanning tree, each k × k block then made orthogonal.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import bsr_array, csr_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import cg

from subbundle._types import FloatArray, IntArray
from subbundle.embedding.chart_links import Links, nearest_orthogonal

# The shift makes the matrix positive; it is far below the second eigenvalue of any graph of this size.
_ROUNDS, _SHIFT = 5, 1e-7
_TOL, _MOST = 1e-4, 1000


def rotations(links: Links, labels: IntArray, rank: int) -> FloatArray:
    """Orthogonal matrices [M, k, k] with R_e ≈ O_ce R_c, for each of the connected components ``labels`` [M]."""
    count = len(labels)
    turned = np.broadcast_to(np.eye(rank), (count, rank, rank)).copy()
    if len(links.pairs) == 0:
        return turned
    _along_trees(links, labels, turned)
    degree: FloatArray = np.full(count, 1e-300)
    degree += np.bincount(links.pairs.ravel(), weights=np.repeat(links.weights, 2), minlength=count)
    laplacian = _connection_laplacian(links, degree, rank)
    # Unknowns are √degree · R, in which the eigenproblem is the plain one.
    scale = np.sqrt(degree / degree.mean())[:, None, None]
    block = turned * scale
    for _ in range(_ROUNDS):
        flat = block.reshape(count * rank, rank)
        columns = [cg(laplacian, flat[:, a], x0=flat[:, a], rtol=_TOL, maxiter=_MOST)[0] for a in range(rank)]
        block = _normalised(np.column_stack(columns).reshape(count, rank, rank), labels)
    return nearest_orthogonal(block / scale)[0]


def _along_trees(links: Links, labels: IntArray, turned: FloatArray) -> None:
    """Multiply the turns along a breadth-first tree in every component."""
    count = len(labels)
    # Entries are 1 + the number of the link, so that none is an empty one.
    numbers = np.arange(1, len(links.pairs) + 1, dtype=np.float64)
    upper = csr_array((numbers, tuple(links.pairs.T)), shape=(count, count))
    graph = csr_array(upper + upper.T)
    roots = np.unique(labels, return_index=True)[1]
    for root in roots:
        order, before = breadth_first_order(graph, root, directed=False)
        for chart in order[1:]:
            parent = before[chart]
            row = slice(graph.indptr[parent], graph.indptr[parent + 1])
            number = int(graph.data[row][np.flatnonzero(graph.indices[row] == chart)[0]]) - 1
            turn = links.turns[number]
            turned[chart] = (turn if links.pairs[number, 0] == parent else turn.T) @ turned[parent]


def _connection_laplacian(links: Links, degree: FloatArray, rank: int) -> csr_array:
    """I − D^−½ W D^−½ with the k × k blocks W_ec = ω O_ce, plus the shift."""
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
