"""Time of a mesh: 100000 points, compared with Open3D, at three noise levels; a million; SUBBUNDLE_BENCH_MESHING=full
adds ten million. Accuracy is in `meshing` and `scans`.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import subbundle as sb
from benchmarks._extras import MissingExtraError, require
from benchmarks._mesh_truth import truths
from benchmarks._report import Bar, Result, Table
from benchmarks.meshing import EXTENT, NOISES, SEED

POINTS, DEPTH, NEIGHBOURS = 100_000, 8, 30
# A bumpy sphere 0.9 across, and its noise as a fraction of the radius.
RADIUS, NOISE = 0.45, 0.005
COLUMNS = ["surface", "points", "noise", "processor seconds", "Open3D's", "ratio"]
GROWTH = [
    "points",
    "used",
    "vertices",
    "processor seconds",
    "seconds",
    "peak GB",
    "mean distance, 1e-5",
    "Euler (true: 2)",
]
METHOD = (
    "Processor seconds of the whole process, both sides in one run, one after the other. Open3D: normals from 30 "
    "neighbours, their orientation, screened Poisson at depth 8. Growth: a bumpy sphere 0.9 across with noise 0.00225, "
    "all cores; the peak counts the points themselves and all that was there before."
)


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What ``work`` returns, its processor seconds and its seconds."""
    processor, wall = time.process_time(), time.perf_counter()
    found = work()
    return found, time.process_time() - processor, time.perf_counter() - wall


def poisson(points: np.ndarray) -> None:
    o3d = require("open3d")
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    cloud.estimate_normals(o3d.geometry.KDTreeSearchParamKNN(NEIGHBOURS))
    cloud.orient_normals_consistent_tangent_plane(NEIGHBOURS)
    o3d.geometry.TriangleMesh.create_from_point_cloud_poisson(cloud, depth=DEPTH)


def beside_open3d() -> tuple[list[list[Any]], list[Bar]]:
    """Rows and bars of the first true surface at three noise levels."""
    truth, rows, bars = truths()[0], [], []
    for noise in NOISES:
        points = truth.sample(2000 if EXTENT == "small" else POINTS, noise, SEED)
        ours = measured(lambda points=points: sb.reconstruct(points, n_jobs=1))[1]
        theirs = measured(lambda points=points: poisson(points))[1]
        rows.append([truth.name, len(points), noise, ours, theirs, ours / theirs])
        bars.append(Bar(f"noise {noise:g}: processor seconds / Open3D's", ours / theirs, 1.0 / 3.0))
    return rows, bars


def growth() -> tuple[list[list[Any]], list[Bar]]:
    """Rows and bars of more and more points."""
    counts = {"small": (3000,), "full": (10**5, 10**6, 10**7)}.get(EXTENT, (10**5, 10**6))
    rows, bars = [], []
    for n in counts:
        data = sb.datasets.bumpy_sphere(n, noise=NOISE, seed=1)
        with warnings.catch_warnings():
            # That the grid is coarser than a million points would allow is no news here.
            warnings.simplefilter("ignore", sb.SubbundleWarning)
            mesh, processor, wall = measured(lambda data=data: sb.reconstruct(RADIUS * data.points))
        off = RADIUS * np.abs(data.distance(mesh.vertices[::10] / RADIUS)).mean()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        rows.append([
            n, mesh.summary.n_used, len(mesh.vertices), processor, wall, peak, f"{1e5 * off:.2f}",
            mesh.euler_characteristic,
        ])  # fmt: skip
        if n == 10**6:
            bars.append(Bar("a million points: processor seconds", processor, 15.0))
        if n == 10**7:
            bars.append(Bar("ten million points: seconds", wall, 60.0))
    return rows, bars


def run() -> Result:
    sb.reconstruct(sb.datasets.torus(2000, noise=0.02, seed=0).points, n_jobs=1)  # compiles
    tables, bars = [], []
    try:
        rows, bars = beside_open3d()
        tables.append(Table(COLUMNS, rows))
    except MissingExtraError as missing:
        print(f"left out: {missing}")
    rows, more = growth()
    return Result("What a mesh costs", METHOD, [*tables, Table(GROWTH, rows, caption="Growth.")], [*bars, *more])
