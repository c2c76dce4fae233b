"""Passes over whole rows, for more than `BLOCK_DIM` dimensions: neighbours and weights, scaled tiles."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import LEAF
from subbundle.cloud.search import box_distance_sq
from subbundle.kernels import GAUSSIAN, TOO_FAR, exp_minus, powers
from subbundle.local.moments import FAST, TILE
from subbundle.local.regression import fill_features


@kernel
def weigh_rows(rows, boxes, point, bandwidth, kernel, reach, apart, places, phi, psi):
    """Find the neighbours of ``point`` and their weights, in one pass; ``kernel`` and ``reach`` as in `weigh`.

    The reach is relative to the nearest observation, which is only known at the end: rows are kept by the bound so far
    and filtered afterwards. In high dimension, where no box can be pruned, every row is then read just once.

    Returns
    -------
    count : int
        Neighbours found: ``places``, ``phi``, ``psi`` [N] hold their rows, φ_n and ψ_n = −2 φ′_n.
    shift : float
        t of the nearest observation for the Gaussian (its φ is relative to that one), else 0.
    """
    area = bandwidth * bandwidth
    count, best = collect(rows, boxes, point, reach * area, kernel == GAUSSIAN, apart, places, psi)
    if not best < TOO_FAR * area:
        return 0, 0.0
    shift = best / area if kernel == GAUSSIAN else 0.0
    kept = 0
    for n in range(count):
        t = psi[n] / area - shift
        places[kept], psi[kept] = places[n], t
        kept += 1 if t < reach else 0
    # Separate loops are vectorised.
    if kernel == GAUSSIAN:
        for n in range(np.uint64(kept)):
            psi[n] = exp_minus(0.5 * psi[n])
            phi[n] = psi[n]
    else:
        for n in range(kept):
            phi[n], lower = powers(kernel, 1.0 - psi[n] / reach)
            psi[n] = 2.0 * kernel / reach * lower
    return kept, shift


@kernel
def collect(rows, boxes, point, reach_sq, relative, apart, places, distances):
    """Rows nearer than ``reach_sq`` (beyond the nearest one, if ``relative``), with their squared distances."""
    n_points = rows.shape[0]
    stack, away = np.empty((64, 3), np.int64), np.empty(64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, (n_points + LEAF - 1) // LEAF
    best, away[0] = np.inf, 0.0
    top, count = 1, 0
    while top > 0:
        top -= 1
        node, first, last = stack[top, 0], stack[top, 1], stack[top, 2]
        if away[top] >= (best + reach_sq if relative else reach_sq):
            continue
        if last - first == 1:
            for n in range(first * LEAF, min(last * LEAF, n_points)):
                distance = _distance_sq(rows, n, point)
                if distance > apart:
                    best = min(best, distance)
                    if distance < (best + reach_sq if relative else reach_sq):
                        places[count] = n
                        distances[count] = distance
                        count += 1
            continue
        middle = first + (last - first + 1) // 2
        left, right = node + 1, node + 2 * (middle - first)
        # What is pushed last is read first: the nearer child, so that the bound falls early.
        to_left, to_right = box_distance_sq(boxes, left, point), box_distance_sq(boxes, right, point)
        slot = top + 1 if to_left <= to_right else top
        other = 2 * top + 1 - slot
        stack[slot, 0], stack[slot, 1], stack[slot, 2], away[slot] = left, first, middle, to_left
        stack[other, 0], stack[other, 1], stack[other, 2], away[other] = right, middle, last, to_right
        top += 2
    return count, best


@kernel(fastmath=FAST)
def _distance_sq(rows, n, point):
    total = 0.0
    for j in range(point.size):
        offset = rows[n, j] - point[j]
        total += offset * offset
    return total


@kernel(fastmath=FAST)
def first_moment(rows, places, weights, point, first):
    """Return Σ w_n and write Σ w_n (x_n − p) into ``first``."""
    first[:] = 0.0
    mass = 0.0
    whole = places.size - places.size % 4
    for n in range(0, whole, 4):  # four rows for each time that the sum is read and written
        a, b, c, d = places[n], places[n + 1], places[n + 2], places[n + 3]
        u, v, w, x = weights[n], weights[n + 1], weights[n + 2], weights[n + 3]
        mass += u + v + w + x
        for j in range(point.size):
            p = point[j]
            first[j] += u * (rows[a, j] - p) + v * (rows[b, j] - p) + w * (rows[c, j] - p) + x * (rows[d, j] - p)
    for n in range(whole, places.size):
        mass += weights[n]
        for j in range(point.size):
            first[j] += weights[n] * (rows[places[n], j] - point[j])
    return mass


@kernel(fastmath=FAST)
def fill_tile(rows, places, weights, centre, tile):
    """Write √w_n (x_n − centre) into the rows of ``tile``."""
    for n in range(places.size):
        root = np.sqrt(weights[n])
        place = places[n]
        for j in range(centre.size):
            tile[n, j] = root * (rows[place, j] - centre[j])


@kernel(fastmath=FAST)
def quadric_sums(rows, places, weights, point, tangents, width, own, gram, cross):
    """Sums over neighbours of the features f of τ = Tᵀ y, y_n = (x_n − p)/a, T = ``tangents`` [d, k], a tile at a time.

    Write τ_n into ``own`` [k, n], the lower half of Σ w f fᵀ into ``gram`` and Σ w f (y − T τ)ᵀ into ``cross`` [q, d];
    return Σ w |y − T τ|².
    """
    dim, rank = tangents.shape
    columns, tile = np.ascontiguousarray(tangents.T), np.empty((TILE, dim))
    features, weighted, w = np.empty((gram.shape[0], TILE)), np.empty((gram.shape[0], TILE)), np.empty(TILE)
    spread = 0.0
    for f in range(gram.shape[0]):
        for g in range(gram.shape[0]):
            gram[f, g] = 0.0
        for j in range(dim):
            cross[f, j] = 0.0
    for start in range(0, places.size, TILE):
        for i in range(TILE):  # the last tile is padded with rows of zero weight
            n = min(start + i, places.size - 1)
            w[i] = weights[n] if start + i < places.size else 0.0
            for j in range(dim):
                tile[i, j] = (rows[places[n], j] - point[j]) / width
        along = np.dot(columns, tile.T)
        within = np.dot(along.T, columns)
        for i in range(TILE):
            total = 0.0
            for j in range(dim):
                tile[i, j] -= within[i, j]
                total += tile[i, j] * tile[i, j]
            spread += w[i] * total
        fill_features(along, 0, TILE, rank, features)
        for f in range(gram.shape[0]):
            for i in range(TILE):
                weighted[f, i] = w[i] * features[f, i]
        for first in range(0, gram.shape[0], LEAF):
            last = min(first + LEAF, gram.shape[0])
            part = np.dot(features[first:last], weighted[:last].T)
            for f in range(first, last):
                for g in range(last):
                    gram[f, g] += part[f - first, g]
        part = np.dot(weighted, tile)
        for f in range(gram.shape[0]):
            for j in range(dim):
                cross[f, j] += part[f, j]
        for a in range(rank):
            for i in range(min(TILE, places.size - start)):
                own[a, start + i] = along[a, i]
    return spread


@kernel(fastmath=FAST)
def contract(tile, sides, components, phi, psi, mass, third):
    """Return Σ ψ_n q_n / s, s = ``mass``, and add Σ ψ_n q_n y_n / s to ``third``, from rows z_n = √w_n y_n.

    w_n q_n = Σ_i c_i (z_n·e_i)(z_n·u_i) with c = ``components`` [k] and ``sides`` [d, 2k] the columns e_i, then u_i.
    """
    total = 0.0
    rank = components.size
    for start in range(0, phi.size, TILE):
        some = tile[start : start + TILE]
        along = np.dot(some, sides)
        for n in range(some.shape[0]):
            q = 0.0
            for i in range(rank):
                q += components[i] * along[n, i] * along[n, rank + i]
            w = phi[start + n]
            q *= psi[start + n] / w if w > 0.0 else 0.0
            total += q
            q *= np.sqrt(mass / w) if w > 0.0 else 0.0
            for j in range(third.size):
                third[j] += q * some[n, j]
    return total


@kernel(fastmath=FAST)
def pull_back(rows, places, weights, point, mean, vector, result):
    """Write Σ w_n (x_n − p) ((x_n − m)·vector): the transposed derivative of the mean applied to ``vector``."""
    result[:] = 0.0
    for n in range(places.size):
        place = places[n]
        along = 0.0
        for j in range(point.size):
            along += (rows[place, j] - mean[j]) * vector[j]
        along *= weights[n]
        for j in range(point.size):
            result[j] += along * (rows[place, j] - point[j])


@kernel
def rows_times(rows, matrix):
    """``rows`` [n, d] times ``matrix`` [d, r], entries summed in the order of d: BLAS may round a row differently in
    another batch."""
    n, dim = rows.shape
    width = matrix.shape[1]
    result = np.zeros((n, width))
    for i in range(n):
        for d in range(dim):
            factor = rows[i, d]
            for j in range(width):
                result[i, j] += factor * matrix[d, j]
    return result
