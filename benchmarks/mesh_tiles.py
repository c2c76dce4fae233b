"""Scenes meshed tile by tile: cost per point and memory compared with all points in memory, accuracy, and whether the
mesh depends on the tiles; measurements, and extrapolations to larger scenes by a stated model.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import subbundle as sb
from benchmarks._report import Bar, Result, Table
from benchmarks.scale_out import MEMORY, ON_ONE, WORKERS, hills, watched

POINTS = 2_000_000
# Points of the scene that is meshed with tiles of two sizes, and these sizes.
COMPARED, SIZES = 100_000, (100_000, 30_000)


def off(vertices: np.ndarray) -> float:
    """Root mean square distance of ``vertices`` [n, 3] from the hills, along their normals."""
    x, y, z = vertices.T
    above = z - 2.0 * np.sin(0.31 * x) * np.cos(0.23 * y) - 0.7 * np.sin(0.9 * y + 0.5 * x)
    slope_x = 0.62 * np.cos(0.31 * x) * np.cos(0.23 * y) + 0.35 * np.cos(0.9 * y + 0.5 * x)
    slope_y = -0.46 * np.sin(0.31 * x) * np.sin(0.23 * y) + 0.63 * np.cos(0.9 * y + 0.5 * x)
    return float(np.sqrt(np.mean(above**2 / (1.0 + slope_x**2 + slope_y**2))))


def of_two_sizes(folder: Path) -> tuple[int, float]:
    """Vertices that differ between tiles of two sizes, and the error beside that of `subbundle.reconstruct`."""
    points = hills(COMPARED, 0)
    found = []
    for size in SIZES:
        made = sb.distributed.reconstruct(points, folder / f"{size}.ply", points_per_tile=size)
        vertices = sb.io.read_points(made.paths[0])
        found.append(vertices[np.lexsort(vertices.T)])
    same = found[0].shape == found[1].shape
    differ = int((found[0] != found[1]).any(axis=1).sum()) if same else max(map(len, found))
    return differ, off(found[0]) / off(sb.reconstruct(points, n_jobs=1).vertices)


def in_tiles(folder: Path, points: int, client: Any) -> tuple[Any, Any]:
    """A scene in files of a million points, from files to one mesh, by workers."""
    (folder / "many").mkdir()
    for first in range(0, points, ON_ONE):
        np.save(folder / "many" / f"{first:012d}.npy", hills(min(ON_ONE, points - first), first))
    options = {"client": client, "workers": WORKERS, "memory": MEMORY}
    # What is loaded and compiled once a process is no cost of a point.
    sb.distributed.reconstruct(hills(20_000, 0), folder / "warm.ply", points_per_tile=10_000, **options)
    with watched() as found:
        made = sb.distributed.reconstruct(folder / "many", folder / "scene.ply", **options)
    return found, made


def run(points: int = POINTS) -> Result:
    folder = Path(tempfile.mkdtemp())
    warnings.simplefilter("ignore", sb.SubbundleWarning)
    try:
        differ, ratio = of_two_sizes(folder)
        scene = hills(ON_ONE, 0)
        with watched() as alone:
            mesh = sb.reconstruct(scene, n_jobs=1)
        with sb.distributed.cluster(workers=WORKERS, memory=MEMORY) as client:
            many, made = in_tiles(folder, points, client)
    finally:
        shutil.rmtree(folder)
    one, each = alone.seconds / ON_ONE, many.seconds / points
    measured = Table(
        ["job", "points", "µs of processor each", "GB, all processes", "tiles", "components", "Euler characteristic"],
        [
            ["one process with all", ON_ONE, 1e6 * one, alone.peak / 1e9, "", mesh.n_components,
             mesh.euler_characteristic],
            ["in tiles", points, 1e6 * each, many.peak / 1e9, made.n_tiles, made.n_components,
             made.euler_characteristic],
        ],
        caption="Measured",
    )  # fmt: skip
    model = Table(
        ["points", "tiles", "hours on 2 cores", "GB of disk for the work"],
        [[f"{n:.0e}", int(n * made.n_tiles / points), n * each / 7200.0, 250.0 * n / 1e9] for n in (3e7, 1e8, 1e9)],
        caption="Extrapolated, not measured: the cost a point times the points. Tiles have as many points and as much "
        "halo in a larger scene. What is done once grows little: the first look not at all, the graph of clusters by "
        "one cluster for about 400 points and 600 bytes each, the names on seams by some thousand a tile.",
    )
    return Result(
        title="scenes meshed in tiles",
        method=(
            "The hills of `scale_out`, from .npy files of a million points to one .ply file, with "
            f"{WORKERS} worker processes and a limit of {MEMORY}; `subbundle.reconstruct` with one thread beside it. "
            f"Accuracy and bits: {COMPARED} points, tiles of at most {SIZES[0]} and {SIZES[1]} of them."
        ),
        tables=[measured, model],
        bars=[
            Bar(f"cost a point at {points:.0e} in tiles / at {ON_ONE:.0e} on one machine", each / one, 1.3),
            Bar("memory of all processes", many.peak / 1e9, 4.0, unit="GB"),
            Bar("vertices that differ between two sizes of tiles", differ, 0),
            Bar("error / that of one machine", ratio, 1.3),
        ],
    )
