"""Distances along noisy clouds with known geodesics, compared with a neighbour graph and the heat method."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks._clouds import Measured, in_many_dimensions, surfaces
from benchmarks._extras import require
from benchmarks._report import Bar, Result, Table
from subbundle._types import FloatArray
from subbundle.estimators import GeodesicDistance

NOISES = (0.005, 0.01, 0.02)
NEIGHBOURS = (6, 8, 10, 15, 20, 30)


def run() -> Result:
    heat = require("potpourri3d")
    require("pygeodesic")
    rows, bars = [], []
    for noise in NOISES:
        for cloud in surfaces(noise):
            ours, fit = _error(_ours(cloud, 2), cloud), f"{noise:g}"
            graph, k = _best_graph(cloud)
            warm = _error(_heat(cloud, heat), cloud)
            rows.append([cloud.name, fit, *(f"{100 * value:.2f} %" for value in (ours, graph, warm)), k])
            bars.append(
                Bar(f"{cloud.name}, noise {noise:g}: error over the better of both", ours / min(graph, warm), 0.5)
            )
    others = []
    for cloud, rank in in_many_dimensions():
        ours = _error(_ours(cloud, rank), cloud)
        graph, k = _best_graph(cloud)
        others.append([cloud.name, f"{100 * ours:.2f} %", f"{100 * graph:.2f} %", k])
    return Result(
        title="Distances along noisy clouds",
        method=(
            "20000 observations of a sphere, a cylinder and a torus, noise relative to the size (the diameter), "
            "isotropic; distances between 40 of them that are further apart than a quarter of the size, against the "
            "exact ones between their projections onto the surface (these 40 have noise across it only): mean of the "
            "relative error. The truth on the torus is that of a mesh of 48000 triangles. The graph joins nearest "
            "neighbours and is shown at the count that is best with the truth known; ours chooses its bandwidth itself."
        ),
        tables=[
            Table(["surface", "noise", "ours", "neighbour graph", "heat method", "neighbours"], rows),
            Table(
                ["cloud", "ours", "neighbour graph", "neighbours"],
                others,
                "3000 observations, noise 0.025 in all coordinates:",
            ),
        ],
        bars=bars,
    )


def _ours(cloud: Measured, rank: int) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GeodesicDistance(rank).fit(cloud.points).pairwise(cloud.points[: len(cloud.truth)])


def _best_graph(cloud: Measured) -> tuple[float, int]:
    """Least error over the neighbour counts, and the count."""
    from scipy.sparse.csgraph import dijkstra
    from sklearn.neighbors import kneighbors_graph

    found = []
    for k in NEIGHBOURS:
        graph = kneighbors_graph(cloud.points, k, mode="distance")
        count = len(cloud.truth)
        lengths = dijkstra(graph, directed=False, indices=np.arange(count))[:, :count]
        found.append((_error(lengths, cloud), k))
    return min(found)


def _heat(cloud: Measured, heat: object) -> FloatArray:
    solver = heat.PointCloudHeatSolver(cloud.points)  # type: ignore[attr-defined]
    count = len(cloud.truth)
    return np.stack([solver.compute_distance(i)[:count] for i in range(count)])


def _error(found: FloatArray, cloud: Measured) -> float:
    far = cloud.truth > 0.25 * cloud.size
    error = np.abs(found[far] / cloud.truth[far] - 1.0)
    # A distance that was not found counts as wrong by all of it.
    return float(np.mean(np.where(np.isfinite(error), error, 1.0)))
