"""Coordinates for whole manifolds: the atlas against Isomap, LTSA, UMAP and principal components before Isomap.

Errors are root-mean-square distances from the true coordinates after a rigid motion; the floor is the effect of the
noise along the shape. Isomap is run at six neighbour counts on the first seed; the counts that were best there by the
truth, raw and with a free scale, are run on the others. LTSA and UMAP have no scale: they get a free affine map.
Distances on curved shapes are compared with the best of the same six neighbour graphs. Set ATLAS_BENCHMARK_LARGE=1 for
the runs of 100000 and 1000000 points.
"""

from __future__ import annotations

import os
import resource
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse.csgraph import dijkstra
from sklearn.datasets import load_digits, load_sample_image
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.manifold import Isomap, LocallyLinearEmbedding, trustworthiness
from sklearn.neighbors import kneighbors_graph

import subbundle as sb
from benchmarks._extras import require
from benchmarks._report import Bar, Result, Table
from benchmarks._sheets import Curved, Sheet, box_sheet, cap, roll_sheet, s_sheet, strip_sheet, torus_patch

SEEDS = int(os.environ.get("ATLAS_BENCHMARK_SEEDS", "5"))
NEIGHBOURS = (6, 8, 10, 12, 15, 20)
SHEETS: dict[str, Callable[[int], Sheet]] = {
    "S-surface R³, N = 3000": partial(s_sheet, 3000),
    "S-surface R^100, N = 3000": partial(s_sheet, 3000, dim=100),
    "S with a hole, N = 3000": partial(s_sheet, 3000, hole=True),
    "Swiss roll, N = 1500": partial(roll_sheet, 1500),
    "Swiss roll, N = 3000": partial(roll_sheet, 3000),
    "Swiss roll, σ = 0.05, N = 3000": partial(roll_sheet, 3000, noise=0.05),
    "strip bent in 24 dimensions of R^100, N = 3000": partial(strip_sheet, 3000),
    "3-dimensional, R^20, N = 3000": partial(box_sheet, 3000, rank=3, dim=20),
    "4-dimensional, R^50, N = 3000": partial(box_sheet, 3000, rank=4, dim=50),
}
CURVED: dict[str, Callable[[int], Curved]] = {
    "torus patch R^10, N = 2000": partial(torus_patch, 2000),
    "spherical cap R³, N = 2000": partial(cap, 2000),
}
SHEET_COLUMNS = [
    "", "floor", "atlas", "Isomap", "free scale", "PCA + Isomap", "free scale", "LTSA, affine", "UMAP, affine"
]  # fmt: skip
PAIRS = 1000
# More than this many floors off is not noise: the shape was folded over or torn.
FOLDED = 4.0


def rigid(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Error after a rigid motion, and after one with a free scale."""
    found, truth = found - found.mean(axis=0), truth - truth.mean(axis=0)
    left, values, right = np.linalg.svd(found.T @ truth)
    turned = found @ (left @ right)
    scale = values.sum() / np.sum(found**2)
    return tuple(float(np.sqrt(np.mean(np.sum((s * turned - truth) ** 2, axis=1)))) for s in (1.0, scale))


def affine(found: np.ndarray, truth: np.ndarray) -> float:
    predicted = LinearRegression().fit(found, truth).predict(found)
    return float(np.sqrt(np.mean(np.sum((predicted - truth) ** 2, axis=1))))


def isomaps(points: np.ndarray, rank: int, counts: tuple[int, ...] = NEIGHBOURS) -> list[np.ndarray]:
    return [Isomap(n_neighbors=n, n_components=rank).fit_transform(points) for n in counts]


def isomap_errors(points: np.ndarray, truth: np.ndarray, counts: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
    """Best errors, raw and with a free scale, and the counts that they came from."""
    errors = np.array([rigid(z, truth) for z in isomaps(points, truth.shape[1], counts)])
    return errors.min(axis=0), tuple(sorted({counts[i] for i in errors.argmin(axis=0)}))


def sheet_row(make: Callable[[int], Sheet], umap: object) -> tuple[list[float], dict[str, float]]:
    """Medians over the seeds: floor, atlas, Isomap raw and free, principal components and Isomap, LTSA, UMAP."""
    seen: dict[str, list[float]] = {}
    counts = pca_counts = NEIGHBOURS
    for seed in range(SEEDS):
        sheet = make(seed)
        rank, raw = sheet.coordinates.shape[1], sheet.points
        found = {"floor": sheet.floor}
        model = sb.AtlasEmbedding(rank).fit(raw)
        found["atlas"] = rigid(model.embedding_, sheet.coordinates)[0]
        found["unfolded"] = float(found["atlas"] < FOLDED * sheet.floor)
        (found["isomap"], found["isomap free"]), counts = isomap_errors(raw, sheet.coordinates, counts)
        if raw.shape[1] > 3:
            kept = PCA(model.axes_.shape[1]).fit_transform(raw)
            best, pca_counts = isomap_errors(kept, sheet.coordinates, pca_counts)
            found["pca isomap"], found["pca isomap free"] = best
        if seed == 0:
            ltsa = LocallyLinearEmbedding(n_neighbors=20, n_components=rank, method="ltsa", eigen_solver="dense")
            found["ltsa"] = affine(ltsa.fit_transform(raw), sheet.coordinates)
            found["umap"] = affine(
                umap.UMAP(n_components=rank, random_state=0, n_jobs=1).fit_transform(raw), sheet.coordinates
            )
        for name, value in found.items():
            seen.setdefault(name, []).append(value)
    medians = {name: float(np.median(values)) for name, values in seen.items()}
    medians["unfolded"] = float(np.sum(seen["unfolded"]))
    columns = ("floor", "atlas", "isomap", "isomap free", "pca isomap", "pca isomap free", "ltsa", "umap")
    return [medians.get(name, "") for name in columns], medians


def curved_row(make: Callable[[int], Curved]) -> tuple[list[float], dict[str, float]]:
    """Relative errors of distances, root-mean-square over pairs, and stresses; medians over the seeds."""
    seen: dict[str, list[float]] = {}
    for seed in range(SEEDS):
        data = make(seed)
        first, second = np.random.default_rng(100 + seed).integers(0, len(data.points), (2, PAIRS))
        true = data.distance(first, second)
        kept = true > 0.2
        first, second, true = first[kept], second[kept], true[kept]
        model = sb.AtlasEmbedding(2, metric="stress").fit(data.points)
        graphs = []
        sources, which = np.unique(first, return_inverse=True)
        reduced = data.points @ model.axes_
        for n in NEIGHBOURS:
            graph = kneighbors_graph(reduced, n, mode="distance")
            graphs.append(dijkstra(graph, directed=False, indices=sources)[which, second])
        found = {
            "atlas": _relative(_atlas_pairs(model, data.points, first, second), true),
            "graph": min(_relative(d, true) for d in graphs),
            "graph free": min(_relative(d * np.sum(d * true) / np.sum(d * d), true) for d in graphs),
            "stress": _stress(model.embedding_, first, second, true),
            "isomap stress": min(_stress(z, first, second, true) for z in isomaps(reduced, 2)),
        }
        for name, value in found.items():
            seen.setdefault(name, []).append(value)
    medians = {name: float(np.median(values)) for name, values in seen.items()}
    return [medians[name] for name in ("atlas", "graph", "graph free", "stress", "isomap stress")], medians


def _atlas_pairs(model: sb.AtlasEmbedding, points: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.asarray(model.paired_distance(points[first], points[second]))


def _relative(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found / true - 1.0) ** 2)))


def _stress(z: np.ndarray, first: np.ndarray, second: np.ndarray, true: np.ndarray) -> float:
    apart = np.linalg.norm(z[first] - z[second], axis=1)
    return float(np.sqrt(np.sum((apart - true) ** 2) / np.sum(true**2)))


def outside_figures() -> dict[str, float]:
    """Out of sample, inverse and round trip on the S-surface, medians over the seeds."""
    seen: dict[str, list[float]] = {"new": [], "inverse": [], "round": []}
    for seed in range(SEEDS):
        data = sb.datasets.s_surface(3000, noise=0.025, seed=seed)
        old, new = slice(0, 1500), slice(1500, 3000)
        model = sb.AtlasEmbedding(2).fit(data.points[old])
        z = model.transform(data.points)
        centre = z[old].mean(axis=0), data.coordinates[old].mean(axis=0)
        left, _, right = np.linalg.svd((z[old] - centre[0]).T @ (data.coordinates[old] - centre[1]))
        off = np.linalg.norm((z - centre[0]) @ (left @ right) - data.coordinates + centre[1], axis=1)
        seen["new"].append(float(np.sqrt(np.mean(off[new] ** 2) / np.mean(off[old] ** 2))))
        back = model.inverse_transform(z[new])
        observed, landed = (np.sqrt(np.mean(data.distance(x) ** 2)) for x in (data.points[new], back))
        seen["inverse"].append(float(observed / landed))
        seen["round"].append(float(np.abs(model.transform(back) - z[new]).max() / np.ptp(z, axis=0).max()))
    return {name: float(np.median(values)) for name, values in seen.items()}


def real_rows(umap: object) -> list[list[object]]:
    """Trustworthiness, continuity, and how well a straight line in the coordinates predicts what is known."""
    rows: list[list[object]] = []
    digits = load_digits()
    sets = {f"digit {d}": (digits.data[digits.target == d], None) for d in (0, 3, 8)}
    sets |= {"photograph turned and zoomed": turned_photographs()}
    for name, (points, known) in sets.items():
        peers: dict[str, np.ndarray] = {}
        peers["atlas"] = sb.AtlasEmbedding(2).fit(points).embedding_
        best = max(isomaps(points, 2), key=lambda z: trustworthiness(points, z, n_neighbors=10))
        peers["Isomap"] = best
        peers["LTSA"] = LocallyLinearEmbedding(
            n_neighbors=20, n_components=2, method="ltsa", eigen_solver="dense"
        ).fit_transform(points)
        peers["UMAP"] = umap.UMAP(n_components=2, random_state=0, n_jobs=1).fit_transform(points)
        for peer, z in peers.items():
            line: object = ""
            if known is not None:
                line = ", ".join(f"{LinearRegression().fit(z, k).score(z, k):.2f}" for k in known.T)
            rows.append(
                [
                    name,
                    peer,
                    trustworthiness(points, z, n_neighbors=10),
                    trustworthiness(z, points, n_neighbors=10),
                    line,
                ]
            )
    return rows


def turned_photographs(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """A flower, blurred, turned by up to 200° and zoomed by up to 2, seen through a round window."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    picture = gaussian_filter(load_sample_image("flower.jpg").mean(axis=2) / 255.0, 10.0)
    rng = np.random.default_rng(0)
    angle, zoom = rng.uniform(0.0, np.radians(200.0), n), rng.uniform(0.7, 1.4, n)
    y, x = np.mgrid[-1:1:20j, -1:1:20j]
    inside = np.hypot(x, y) < 1.0
    y, x = y[inside], x[inside]
    rows = []
    for a, z in zip(angle, zoom, strict=True):
        across, along = np.cos(a) * y - np.sin(a) * x, np.sin(a) * y + np.cos(a) * x
        rows.append(map_coordinates(picture, [213 + 150 * z * across, 320 + 150 * z * along], order=1))
    return np.array(rows) + 0.01 * rng.standard_normal((n, int(inside.sum()))), np.column_stack([angle, zoom])


def speed_rows() -> tuple[list[list[object]], list[Bar]]:
    small = sb.datasets.s_surface(3000, noise=0.025, seed=0).points
    sb.AtlasEmbedding(2).fit(small)
    times = {}
    for name, work in (("atlas", sb.AtlasEmbedding(2)), ("Isomap", Isomap(n_neighbors=12))):
        start = time.perf_counter()
        work.fit(small)
        times[name] = time.perf_counter() - start
    rows: list[list[object]] = [[f"{name}, N = 3000", seconds, "", ""] for name, seconds in times.items()]
    bars = [Bar("N = 3000: seconds / Isomap's", times["atlas"] / times["Isomap"], 1.0)]
    if os.environ.get("ATLAS_BENCHMARK_LARGE"):
        for n, bound in ((100_000, 20.0), (1_000_000, 300.0)):
            data = sb.datasets.s_surface(n, noise=0.025, seed=0)
            start = time.perf_counter()
            model = sb.AtlasEmbedding(2).fit(data.points)
            seconds = time.perf_counter() - start
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            rows.append([f"atlas, N = {n}", seconds, memory, rigid(model.embedding_, data.coordinates)[0]])
            bars.append(Bar(f"N = {n}", seconds, bound, unit="s"))
    return rows, bars


def run() -> Result:
    umap = require("umap")
    warnings.simplefilter("ignore")
    rows, bars = [], []
    for name, make in SHEETS.items():
        row, seen = sheet_row(make, umap)
        rows.append([name, *row])
        print("  ".join(str(cell) if isinstance(cell, str) else f"{cell:.4f}" for cell in rows[-1]), flush=True)
        bars.append(Bar(f"{name}: atlas / floor", seen["atlas"] / seen["floor"], 1.1))
        best = min(seen["isomap free"], seen.get("pca isomap free", np.inf))
        bars.append(Bar(f"{name}: atlas / best Isomap with a free scale", seen["atlas"] / best, 0.8))
        if "0.05" in name:
            bars.append(Bar(f"{name}: seeds without folding over", seen["unfolded"], SEEDS, at_least=True))
    curved = []
    for name, make in CURVED.items():
        row, seen = curved_row(make)
        curved.append([name, *row])
        print("  ".join(str(cell) if isinstance(cell, str) else f"{cell:.4f}" for cell in curved[-1]), flush=True)
        bars.append(Bar(f"{name}: error of distances / best neighbour graph", seen["atlas"] / seen["graph"], 0.9))
        bars.append(Bar(f"{name}: stress / best Isomap", seen["stress"] / seen["isomap stress"], 1.0))
    outside = outside_figures()
    bars += [
        Bar("S-surface: error of new points / old points", outside["new"], 1.1),
        Bar("S-surface: observations / inverse, distance to the true surface", outside["inverse"], 2.0, at_least=True),
        Bar("S-surface: round trip, part of the size", outside["round"], 1e-3),
    ]
    speed, speed_bars = speed_rows()
    return Result(
        title="Embedding whole manifolds: an atlas of small charts",
        method=__doc__.split("\n\n")[1].replace("\n", " ") + f" Medians of {SEEDS} seeds; LTSA and UMAP on the first.",
        tables=[
            Table(
                SHEET_COLUMNS,
                rows, "Error of the coordinates, σ = 0.025 unless said",
            ),
            Table(
                ["", "atlas", "best graph", "graph, free scale", "stress: atlas", "stress: best Isomap"], curved,
                "Curved shapes: relative error of geodesic distances, and stress of the coordinates",
            ),
            Table(
                ["", "", "trustworthiness", "continuity", "R² of what is known"], real_rows(umap),
                "Real data, 10 neighbours; known for the photograph: angle and zoom",
            ),
            Table(["", "seconds", "GB", "error"], speed, "S-surface R³"),
        ],
        bars=bars + speed_bars,
    )  # fmt: skip
