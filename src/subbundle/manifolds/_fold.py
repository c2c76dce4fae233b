"""Where exp stops being one-to-one along the geodesics of a fan.

*Folds.* The Jacobi field W of the fan (see `_fan_derivatives`) starts as r and vanishes where neighbouring geodesics meet: a
conjugate point, beyond which exp folds back. A geodesic is cut where the smallest singular value of W falls below a small
part of r, or where W turns over between two nodes, det(W_iᵀ W_{i+1}) < 0.

*Shortcuts.* Where another geodesic has arrived near a node x on a way that is shorter, r′ + |x − x′| < r by a margin, the
geodesic has passed its cut point: on a cylinder, half way around. At x the other one's distance is r′ + γ̇′·(x − x′) to
first order, so along this geodesic the lead of the other grows at the rate 1 − γ̇·γ̇′, and it was nil at

    r − (r − r′ − γ̇′·(x − x′)) / (1 − γ̇·γ̇′).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.manifolds._fan import Fan
from subbundle.manifolds._fan_derivatives import jacobi_fields

# Smallest spread of neighbouring geodesics, relative to the flat one: coordinates blow noise up by its inverse.
_LEAST_SPREAD = 0.1
# In length scales: how near another geodesic must pass to be compared, and the lead it must have.
_NEAR = 1.0
_LEAD = 0.25
_NEIGHBOURS = 32


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
    turned = np.linalg.det(np.einsum("lmdi,lmdj->lmij", fields[:, :-1], fields[:, 1:])) < 0.0
    narrow = least < _LEAST_SPREAD
    narrow[:, 1:] |= turned
    first = np.where(narrow.any(axis=1), narrow.argmax(axis=1), -1)
    return np.array([_crossing(distances, least[ray], i) if i >= 0 else np.inf for ray, i in enumerate(first)])


def _crossing(distances: FloatArray, spread: FloatArray, node: int) -> float:
    """Where the spread falls below the least allowed, linearly between ``node`` and the one before."""
    if node == 0 or not np.isfinite(spread[node - 1]):
        return float(distances[node])
    # A field that has turned over is as good as negative.
    here = min(spread[node], 2.0 * _LEAST_SPREAD - spread[node])
    fraction = (spread[node - 1] - _LEAST_SPREAD) / max(spread[node - 1] - here, 1e-300)
    return float(distances[node - 1] + np.clip(fraction, 0.0, 1.0) * (distances[node] - distances[node - 1]))


def shortcuts(fan: Fan, scale: float) -> FloatArray:
    """Distance [L] at which another geodesic arrives as soon; infinite where none does. ``scale`` is the length scale."""
    cut = np.full(len(fan.directions), np.inf)
    ray, node = _thinned(fan, scale)
    known_points, known_distances = fan.points[ray, node], fan.distances[node]
    known_velocities = fan.velocities[ray, node]
    rays, nodes = np.nonzero(fan.real & (fan.distances > 2.0 * scale))
    if rays.size == 0:
        return cut
    points, distances, velocities = fan.points[rays, nodes], fan.distances[nodes], fan.velocities[rays, nodes]
    count = min(_NEIGHBOURS, len(known_points))
    apart, found = cKDTree(known_points).query(points, k=count, distance_upper_bound=_NEAR * scale)
    apart, found = apart.reshape(len(points), count), found.reshape(len(points), count)
    missing = found == len(known_points)
    found = np.where(missing, 0, found)
    other = np.where(missing, np.inf, known_distances[found])
    lead = distances[:, None] - other - apart
    best = lead.argmax(axis=1)
    row = np.arange(len(points))
    late = np.flatnonzero(lead[row, best] > _LEAD * scale)
    chosen = found[late, best[late]]
    lag = distances[late] - known_distances[chosen]
    lag -= np.einsum("nd,nd->n", known_velocities[chosen], points[late] - known_points[chosen])
    rate = 1.0 - np.einsum("nd,nd->n", velocities[late], known_velocities[chosen])
    met = distances[late] - np.clip(lag / np.maximum(rate, 0.05), 0.0, 2.0 * scale)
    np.minimum.at(cut, rays[late], met)
    return cut


def _thinned(fan: Fan, scale: float) -> tuple[FloatArray, FloatArray]:
    """Rays and nodes of the fan, leaving out what lies closer together than a third of the length scale."""
    ray, node = np.nonzero(fan.real)
    if fan.directions.shape[1] != 2:
        return ray, node
    spacing = 2.0 * np.pi / len(fan.directions) * fan.distances
    stride = np.maximum(1, np.floor(scale / 3.0 / np.maximum(spacing, 1e-300))).clip(max=len(fan.directions))
    kept = ray % stride[node].astype(np.int64) == 0
    return ray[kept], node[kept]
