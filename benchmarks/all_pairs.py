"""Distances on clouds with known distances: single pairs, large matrices, a neighbour graph and the heat method."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import subbundle as sb
from benchmarks._clouds import MAJOR, MINOR, torus_points
from benchmarks._extras import require
from benchmarks._report import Bar, Result, Table
from subbundle._types import FloatArray
from subbundle.geodesics.distance import graph_distances

# Points with exact distances, of which the first are sources.
COMPARED, SOURCES = 60, 8
MANY, SEVERAL = 2000, 30
# Observations, noise, bandwidth ("auto": chosen from the data).
TORI: tuple[tuple[int, float, float | str], ...] = (
    (5000, 0.03, 0.12), (5000, 0.03, 0.2), (5000, 0.05, 0.15), (1000, 0.01, 0.15), (20000, 0.005, 0.06),
    (5000, 0.03, "auto"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cloud:
    """Observations, points of the clean surface [60, 3] and exact distances [8, 60] from the first of them."""

    name: str
    observations: FloatArray
    clean: FloatArray
    truth: FloatArray
    bandwidth: float | str


def clouds() -> list[Cloud]:
    """Tori, a sphere and an S-surface."""
    rng = np.random.default_rng(1)
    angles = rng.uniform(0.0, 2.0 * np.pi, (8 * COMPARED, 2))
    angles = angles[rng.uniform(0.0, MAJOR + MINOR, len(angles)) < MAJOR + MINOR * np.cos(angles[:, 1])][:COMPARED]
    truth = np.stack([exact_on_torus(source, angles) for source in angles[:SOURCES]])
    found = []
    for n, noise, width in TORI:
        name = f"torus, {n} points, noise {noise:g}, bandwidth {width}"
        found.append(Cloud(name, sb.datasets.torus(n, noise=noise, seed=0).points, torus_points(angles), truth, width))
    ball = sb.datasets.sphere(COMPARED, seed=1).points
    great = np.arccos(np.clip(ball[:SOURCES] @ ball.T, -1.0, 1.0))
    found.append(Cloud("sphere, 2000 points, noise 0.02, bandwidth 0.2",
                       sb.datasets.sphere(2000, noise=0.02, seed=0).points, ball, great, 0.2))  # fmt: skip
    sheet = sb.datasets.s_surface(COMPARED, seed=1)
    flat = cdist(sheet.coordinates[:SOURCES], sheet.coordinates)
    noisy = sb.datasets.s_surface(5000, noise=0.03, seed=0).points
    return [*found, Cloud("S-surface, 5000 points, noise 0.03, bandwidth 0.15", noisy, sheet.points, flat, 0.15)]


def exact_on_torus(source: FloatArray, targets: FloatArray) -> FloatArray:
    """Exact distances from angles [2] to angles [m, 2]: 5000 geodesics of the analytic torus by Runge–Kutta steps.

    Of all nodes near a target the smallest s + ⟨γ̇, y − γ(s)⟩ counts, right to second order in their distance: 2e-4.
    """
    rays, step, longest = 5000, 0.02, 4.2
    turn = 2.0 * np.pi * np.arange(rays) / rays
    ring = MAJOR + MINOR * np.cos(source[1])
    state = np.stack([np.full(rays, source[0]), np.full(rays, source[1]), np.cos(turn) / ring, np.sin(turn) / MINOR])

    def slope(s: FloatArray) -> FloatArray:
        ring = MAJOR + MINOR * np.cos(s[1])
        return np.stack([s[2], s[3], 2.0 * MINOR * np.sin(s[1]) / ring * s[2] * s[3],
                         -ring * np.sin(s[1]) / MINOR * s[2] ** 2])  # fmt: skip

    nodes = [torus_points(state[:2].T)]
    for _ in range(round(longest / step)):
        a = slope(state)
        b = slope(state + 0.5 * step * a)
        c = slope(state + 0.5 * step * b)
        state = state + step / 6.0 * (a + 2.0 * b + 2.0 * c + slope(state + step * c))
        nodes.append(torus_points(state[:2].T))
    rows = np.stack(nodes)
    ways = np.gradient(rows, step, axis=0).reshape(-1, 3)
    along, flat = np.repeat(step * np.arange(len(rows)), rays), rows.reshape(-1, 3)
    goals = torus_points(targets)
    near = cKDTree(flat).query_ball_point(goals, step)
    return np.array([np.min(along[i] + np.sum((goal - flat[i]) * ways[i], axis=1), initial=np.inf)
                     for goal, i in zip(goals, near, strict=True)])  # fmt: skip


def run() -> Result:
    heat = require("potpourri3d")
    rows, speeds, bars = [], [], []
    for cloud in clouds():
        bundle = _bundle(cloud)
        points = sb.ridge_project(bundle, cloud.clean).points
        far = cloud.truth > bundle.length_scale
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {
                "paths (`distance`)": sb.pairwise_distance(bundle, points[:SOURCES], points),
                "graph of the ridge (large matrices)": graph_distances(bundle, points[:SOURCES], points, 1e-4),
                "neighbour graph, 15": _isomap(cloud, 15),
                "heat method": _heat(cloud, heat),
            }
        for way, lengths in found.items():
            error = np.abs(lengths[far] / cloud.truth[far] - 1.0)
            rows.append([cloud.name, way, *(f"{100 * np.nanquantile(error, q):.2f} %" for q in (0.5, 0.9, 0.99, 1.0)),
                         f"{100 * np.mean(np.isnan(error)):.1f} %"])  # fmt: skip
        error = np.abs(found["paths (`distance`)"][far] / cloud.truth[far] - 1.0)
        bars.append(Bar(f"{cloud.name}: largest error of a distance", float(np.max(error)), 0.05))
    for name, bundle in _timed():
        many = bundle.rows[:MANY]
        for what, call in {
            f"all pairs of {MANY}": lambda b=bundle, x=many: sb.pairwise_distance(b, x),
            f"{SEVERAL} × {MANY}": lambda b=bundle, x=many: sb.pairwise_distance(b, x[:SEVERAL], x),
            "100 distances": lambda b=bundle, x=many: sb.distance(b, x[:100], x[100:200]),
        }.items():
            begin = time.process_time()
            call()
            speeds.append([name, what, round(time.process_time() - begin, 2)])
            bars.append(Bar(f"{name}: {what}", speeds[-1][2], 20.0, unit="s"))
    return Result(
        title="All pairs",
        method=(
            f"Distances from {SOURCES} to {COMPARED} points, projected to the ridge from the clean surface, that are "
            "further apart than a bandwidth, against exact ones: on the torus by geodesics of the analytic surface. "
            "For the neighbour graph and the heat method the clean points are among the observations."
        ),
        tables=[
            Table(["cloud", "way", "median", "90 %", "99 %", "largest", "not found"], rows),
            Table(["cloud", "call", "processor seconds"], speeds),
        ],
        bars=bars,
    )


def _bundle(cloud: Cloud) -> sb.PrincipalSubbundle:
    width = cloud.bandwidth
    if isinstance(width, str):
        width = sb.GeodesicDistance(2).fit(cloud.observations).bandwidth_
    return sb.PrincipalSubbundle(cloud.observations, 2, width)


def _timed() -> list[tuple[str, sb.PrincipalSubbundle]]:
    return [
        ("torus", sb.PrincipalSubbundle(sb.datasets.torus(5000, noise=0.03, seed=0).points, 2, 0.12)),
        ("sphere", sb.PrincipalSubbundle(sb.datasets.sphere(2000, noise=0.02, seed=0).points, 2, 0.2)),
    ]


def _isomap(cloud: Cloud, neighbours: int) -> FloatArray:
    """Shortest paths in the graph of nearest observations, as in scikit-learn's Isomap; the points are nodes too."""
    from scipy.sparse.csgraph import dijkstra
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(np.concatenate([cloud.clean, cloud.observations]), neighbours, mode="distance")
    return np.asarray(dijkstra(graph, directed=False, indices=np.arange(SOURCES))[:, :COMPARED])


def _heat(cloud: Cloud, heat: object) -> FloatArray:
    solver = heat.PointCloudHeatSolver(np.concatenate([cloud.clean, cloud.observations]))  # type: ignore[attr-defined]
    return np.stack([solver.compute_distance(i)[:COMPARED] for i in range(SOURCES)])
