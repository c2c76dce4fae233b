"""What is written for a row beside its fit: the columns of ``numbers``, and how the fit changes in narrower windows."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.local.deviations import deviations
from subbundle.local.moments import TILE
from subbundle.local.regression import fitted, n_features, quadric_sums
from subbundle.local.tuning import NARROWER

# Places in ``numbers`` of what is written for a row: log mass relative to the typical one, log mass, bandwidth, n_eff,
# Σ w|e|²/Σ w, length of the last step, the part of the correction for curvature that was made and the square of what
# was not, what `deviations` gives (height, slopes, quartic), how far from where the row began observations could have
# a weight. From `NARROW` on, for each of the windows narrower by `NARROWER`: n_eff, Σ w|e|²/Σ w, height. From
# `PRODUCTS` on, inner products of vectors of the normal space: those of c − c' and c − c'', the changes of the height
# in these windows, and of the bias by the quartic term (11, 12, 13, 22, 23, 33); theirs with the part of the correction
# that was not made, and those of all four, and of itself, with ½ tr II.
LOG_MASS, LOG_ABSOLUTE, WIDTH, EFFECTIVE, RESIDUAL, OFFSET, KEPT, LOST, HEIGHT, SLOPES, BEYOND, LOOKED = range(12)
NARROW, _, _, _, _, _, PRODUCTS, _, _, _, _, _, _, _, _, _, _, _, _, _, COLUMNS = range(12, 33)


@kernel
def scratch(dim, rank):
    """Arrays for one row's fit: gram, cross, fit, features, offsets, deviations, and the vectors of `PRODUCTS`."""
    size = n_features(rank)
    return (
        np.empty((size, size)),
        np.empty((size, dim - rank)),
        np.empty((size, dim - rank)),
        np.empty((size, TILE)),
        np.empty((dim, TILE)),
        np.empty(4),
        np.zeros((5, dim - rank)),
    )


@kernel
def deviate(near, count, rank, room, bandwidth, squares, errors, cases, numbers):
    """Write what `deviations` gives into the row ``numbers``, the quartic's bias, in data units, and ½ tr II into
    ``room``."""
    gram, _, fit, tile, _, out, vectors = room
    deviations(near, count, rank, gram, fit, errors, cases, tile, out, vectors[2])
    # An observation of weight v has the noise of v observations averaged.
    repeated = squares / out[3]
    numbers[HEIGHT], numbers[SLOPES], numbers[BEYOND] = repeated * out[0], repeated * out[1], repeated * out[2]
    for j in range(vectors.shape[1]):
        vectors[2, j] *= bandwidth
        place, vectors[4, j] = 1 + rank, 0.0
        for i in range(rank):
            vectors[4, j] += fit[place, j] / bandwidth
            place += rank - i


@kernel
def compare(near, count, rank, room, spare, bandwidth, level, flatness, squares, cases, numbers):
    """Write what the window ``near``, narrower by `NARROWER` [``level``], sees beside the fit in ``room``."""
    gram, cross, fit, tile, _, out, unused = spare
    spread = quadric_sums(near, count, rank, cases, tile, gram, cross)
    mass = gram[0, 0]
    place, change, width = NARROW + 3 * level, room[6][level], NARROWER[level] * bandwidth
    if not mass > 0.0:
        return
    residual = fitted(gram, cross, fit, rank, mass, flatness * squares / mass, spread)
    deviations(near, count, rank, gram, fit, 1, cases, tile, out, unused[2])
    numbers[place], numbers[place + 1] = mass * mass / squares, residual * width * width
    numbers[place + 2] = out[0] * squares / out[3]
    for j in range(change.size):
        change[j] = bandwidth * room[2][0, j] - width * fit[0, j]


@kernel
def multiply(vectors, numbers):
    """Write the `PRODUCTS` of ``vectors`` [5, m]."""
    place = PRODUCTS
    for i in range(3):
        for j in range(i, 3):
            numbers[place] = _inner(vectors, i, j)
            place += 1
    for j in range(3, 5):
        for i in range(j if j == 3 else 5):
            numbers[place] = _inner(vectors, i, j)
            place += 1


@kernel
def _inner(vectors, i, j):
    total = 0.0
    for c in range(vectors.shape[1]):
        total += vectors[i, c] * vectors[j, c]
    return total
