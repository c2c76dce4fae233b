"""Small clouds with a truth for the choices of bandwidth, rank, components and base point, for `sensitivity`."""

from __future__ import annotations

import warnings

import numpy as np

import subbundle as sb
from benchmarks import _bandwidth_errors as errors
from benchmarks._held_out_shapes import held_out
from benchmarks._shapes import shapes as clouds_of_rank
from benchmarks._truths import shapes
from benchmarks._varying import cone
from subbundle.selection import choose_bandwidth, choose_base_point, choose_local_bandwidth, choose_rank

# Both sides of the switch from folds to halves.
BANDWIDTHS = (("torus", 1500, 0.01), ("sphere", 400, 0.01), ("wavy patch", 400, 0.02))
PURPOSES = {"ridge": errors.ridge_error, "tangents": errors.tangent_error, "geodesics": errors.geodesic_error}


def figures() -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _bandwidths() | _local() | _ranks() | {"base point": _base_point()}


def _bandwidths() -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for name, n, noise in BANDWIDTHS:
        truth = errors.observe(shapes()[name], n, noise, 3)
        for purpose, error in PURPOSES.items():
            chosen = choose_bandwidth(truth.points, truth.shape.rank, purpose=purpose).bandwidth
            found.setdefault(purpose, []).append(error(truth, chosen))
    return {purpose: float(np.exp(np.mean(np.log(values)))) for purpose, values in found.items()}


def _local() -> dict[str, float]:
    data = cone(1500, 0.01)
    chosen = choose_local_bandwidth(data.points, data.rank)
    ridge = sb.ridge_project(sb.PrincipalSubbundle(data.points, data.rank, chosen.bandwidth), data.queries)
    return {"ridge, local": float(np.sqrt(np.nanmean(np.minimum(data.distance(ridge.points), 0.1) ** 2)))}


def _ranks() -> dict[str, float]:
    """Fractions of the observations, and of the clouds, whose dimension is wrong; a hundredth more than that."""
    some = [*list(clouds_of_rank(500))[::9], *list(held_out(500))[::9]]
    found = [(choose_rank(points), rank) for _, points, rank in some]
    points = np.mean([np.mean(choice.per_point != rank) for choice, rank in found])
    return {"rank per point": 0.01 + float(points), "rank": 0.01 + float(np.mean([c.rank != k for c, k in found]))}


def _base_point() -> float:
    """Distance from the middle of a strip that is bent to an arch, along it."""
    rng = np.random.default_rng(0)
    along, across = rng.uniform(-1.0, 1.0, 800), rng.uniform(-0.3, 0.3, 800)
    arch = np.column_stack([np.sin(2.0 * along), np.cos(2.0 * along), across]) + 0.02 * rng.standard_normal((800, 3))
    point = choose_base_point(sb.PrincipalSubbundle(arch, 2, 0.2), distance="learned").point
    return 0.05 + abs(0.5 * float(np.arctan2(point[0], point[1])))
