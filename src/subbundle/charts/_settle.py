"""The nearest point of a chart in the metric of a manifold, from the nearest one in its picture.

With y the target, Φ the chart and e(v) = log_y(Φ(v)) in an orthonormal basis at y, |e(v)| is the distance. Gauss–Newton
on |e|² moves v, with ∂e/∂v by central differences; a step is kept where it makes |e| smaller.
"""

from __future__ import annotations

import numpy as np

from subbundle._numbers import DIFFERENCE, MOST_ROUNDS, SINGULAR
from subbundle._types import FloatArray, IntArray, all_finite
from subbundle.bundles.surroundings import Picture, Surroundings
from subbundle.charts.chart_data import Model


def settle(
    around: Surroundings,
    picture: Picture,
    model: Model,
    targets: FloatArray,
    coordinates: FloatArray,
    found: FloatArray,
) -> None:
    """Move ``coordinates`` [n, k] and the pictures ``found`` [n, m] to the points nearest to ``targets`` [n, dim], in
    place; rows outside the domain of the chart, or without a picture, are left."""
    rows = np.flatnonzero(model.inside(coordinates) & all_finite(picture.enter(targets)))
    size = float(np.abs(model.nodes[1]).max(initial=0.0)) or 1.0

    def seen(which: IntArray, v: FloatArray) -> FloatArray:
        ends = picture.leave(model.evaluate(v))
        return around.coordinates(targets[which], around.displacement(targets[which], ends))

    for _ in range(MOST_ROUNDS):
        if rows.size == 0:
            return
        v = coordinates[rows]
        miss, slopes = seen(rows, v), []
        for unit in np.eye(v.shape[1]):
            slopes.append(seen(rows, v + DIFFERENCE * size * unit) - seen(rows, v - DIFFERENCE * size * unit))
        jacobian = np.stack(slopes, axis=2) / (2.0 * DIFFERENCE * size)
        normal = np.einsum("nmi,nmj->nij", jacobian, jacobian)
        # A singular or undefined one gives no step.
        sound = np.isfinite(normal).all(axis=(1, 2)) & all_finite(miss)
        sound[sound] = np.linalg.cond(normal[sound]) < 1e12
        rows, v, miss, jacobian, normal = rows[sound], v[sound], miss[sound], jacobian[sound], normal[sound]
        step = -np.linalg.solve(normal, np.einsum("nmi,nm->ni", jacobian, miss)[:, :, None])[:, :, 0]
        tried = v + step
        now = seen(rows, tried)
        better = np.einsum("nm,nm->n", now, now) < np.einsum("nm,nm->n", miss, miss)
        coordinates[rows[better]] = tried[better]
        going = better & (np.abs(step).max(axis=1, initial=0.0) > SINGULAR * size)
        found[rows[better]] = model.evaluate(tried[better])
        rows = rows[going & model.inside(tried)]
