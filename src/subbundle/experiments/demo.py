"""Demonstration on synthetic data: a closed surface estimated from a noisy cloud.

20000 points are drawn uniformly from a bumpy sphere, with Gaussian noise. A base point is projected to the ridge of the
cloud, and a fan of geodesics from there forms a principal submanifold: a grid in normal coordinates (direction,
distance). The error is measured against the true surface.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subbundle import datasets, plot
from subbundle._progress import Progress
from subbundle._types import FloatArray, IntArray, count_statuses
from subbundle._validation import as_integer
from subbundle.bundles import PrincipalSubbundle
from subbundle.bundles.ridge import carry_to_ridge
from subbundle.compiling import compiled_beside
from subbundle.experiments._running import begin
from subbundle.geodesics.submanifold import Submanifold, submanifold
from subbundle.io import write_ply
from subbundle.local.walk import iterate_rows

NOISE = 0.03
RADIUS = 1.3
N_GEODESICS = 240
STEP = 0.0125
VIEW = plot.View(azimuth=-55.0, elevation=24.0)


@dataclass(frozen=True, slots=True)
class Demo:
    """The data, the estimate and its error.

    Attributes
    ----------
    data : Dataset
    bandwidth : float
    normals : [n, 3]
        Outward normals at the observations, from the bundle.
    patch : Submanifold
    faces : [m, 3]
        Triangles of the patch, between its valid points.
    errors : [points of the patch]
        Distance of each point to the true surface; NaN where the geodesic had ended.
    cloud_errors : [n]
        The same for the observations.
    """

    data: datasets.Dataset
    bandwidth: float
    normals: FloatArray
    patch: Submanifold
    faces: IntArray
    errors: FloatArray
    cloud_errors: FloatArray


def learn(*, n: int = 20000, seed: int = 0, progress: Progress | None = None) -> Demo:
    """Sample the cloud, estimate the surface around a base point, measure the error."""
    n = as_integer(n, "n", low=1000, why="fewer points do not resolve the bumps")
    progress = Progress() if progress is None else progress
    progress.stage(f"drawing {n} points from a bumpy sphere, noise {NOISE:g}")
    data = datasets.bumpy_sphere(n, noise=NOISE, seed=seed)
    bandwidth = bandwidth_for(n)
    progress.stage(f"principal subbundle of rank 2, bandwidth {bandwidth:.3g}")
    with compiled_beside("ridge", iterate_rows):
        bundle = PrincipalSubbundle(data.points, rank=2, bandwidth=bandwidth)
        normals = outward_normals(bundle, data.points)
        bundle.field(data.points[:1], np.ones((1, 3)))  # needed later; compiled now, while the other core is busy too
    progress.stage("projecting a base point to the ridge")
    # The observation nearest to the line of sight, so that the patch faces the viewer.
    facing = data.points @ VIEW.axes[2] / np.linalg.norm(data.points, axis=1)
    base = carry_to_ridge(bundle, data.points[np.argmax(facing)]).points
    progress.stage(f"{N_GEODESICS} geodesics of length {RADIUS:g}")
    patch = submanifold(bundle, base, RADIUS, n_geodesics=N_GEODESICS, step=STEP)
    progress.stage("measuring distances to the true surface")
    errors = np.full(len(patch.points), np.nan)
    errors[patch.valid] = data.distance(patch.points[patch.valid])
    cloud_errors = data.distance(data.points)
    faces = polar_faces(N_GEODESICS, patch.valid)
    return Demo(data, bandwidth, normals, patch, faces, errors, cloud_errors)


def bandwidth_for(n: int) -> float:
    """0.07 at 20000 points. Bias grows as a² and variance as 1/(n a²), so the balance moves as n^(-1/6).

    Small clouds require a little more than the spacing √(area/n) for enough neighbours; the surface's area is 16.
    """
    return float(max(0.07 * (20000 / n) ** (1 / 6), 1.2 * np.sqrt(16.0 / n)))


def outward_normals(bundle: PrincipalSubbundle, points: FloatArray) -> FloatArray:
    """Unit normals [n, 3] of the subspaces at ``points``, away from the mean of the cloud; 0 where undefined."""
    vectors = bundle.frame(points).vectors
    normals = np.cross(vectors[:, :, 0], vectors[:, :, 1])
    outward = np.sum(normals * (points - points.mean(axis=0)), axis=1, keepdims=True) >= 0.0
    oriented: FloatArray = np.nan_to_num(np.where(outward, normals, -normals))
    return oriented


def polar_faces(n_geodesics: int, valid: Any) -> IntArray:
    """Triangles, [m, 3], of the polar grid: row 0 is the centre, then each geodesic's points from the centre outwards.

    Triangles with a corner that is not ``valid`` [n_geodesics · steps + 1] are left out.
    """
    steps = (len(valid) - 1) // n_geodesics
    ray = 1 + steps * np.arange(n_geodesics)[:, None] + np.arange(steps)
    following = np.roll(ray, -1, axis=0)
    centre = np.column_stack([np.zeros(n_geodesics, dtype=np.int64), ray[:, 0], following[:, 0]])
    inner, outer, inner_next, outer_next = ray[:, :-1], ray[:, 1:], following[:, :-1], following[:, 1:]
    halves = ((inner, outer, outer_next), (inner, outer_next, inner_next))
    faces = np.concatenate([centre, *(np.stack(corners, axis=-1).reshape(-1, 3) for corners in halves)])
    whole: IntArray = faces[np.asarray(valid)[faces].all(axis=1)]
    return whole


def draw(demo: Demo) -> Any:
    """The cloud on the left; on the right the estimated patch, coloured by distance from the base point."""
    figure, (left, right) = plot.new_figure(2)
    cloud = plot.Scene(VIEW, fog=0.15)
    cloud.add_points(demo.data.points, color="#7f92ad", size=7.0, normals=demo.normals)
    cloud.draw(left, margin=0.03)
    left.set_title(f"{len(demo.data.points)} noisy points", fontsize=11)

    points = demo.patch.points
    grid = demo.patch.geodesics.points
    patch = plot.Scene(VIEW, fog=0.15)
    distances = demo.patch.distances[demo.faces].mean(axis=1)
    patch.add_triangles(points, demo.faces, color=plot.colours_of(distances, low=0.0, high=RADIUS))
    patch.add_curves(grid[:: N_GEODESICS // 24], color="white", width=0.6, lift=0.02)
    rings = grid[:, :: round(0.2 / STEP)].transpose(1, 0, 2)
    patch.add_curves(np.concatenate([rings, rings[:, :1]], axis=1), color="white", width=0.6, lift=0.02)
    patch.add_points(points[:1], color="#e8432e", size=36.0, lift=0.1)
    patch.draw(right, layer=1)
    cloud.draw(right, margin=0.03)
    right.set_title("the estimated surface, by geodesics from one point", fontsize=11)
    plot.add_scale(figure, right, 0.0, RADIUS, "distance from the base point")
    return figure


def run(*, n: int, seed: int, out: Path) -> list[Path]:
    """Run the demonstration, print error and noise, write figure and meshes; return the files."""
    progress = begin(out)
    demo = learn(n=n, seed=seed, progress=progress)
    progress.stage("writing")
    colors = plot.colours_of(demo.patch.distances, low=0.0, high=RADIUS)[:, :3]
    used, corners = np.unique(demo.faces, return_inverse=True)
    files = [
        write_ply(out / "cloud.ply", demo.data.points, normals=demo.normals),
        write_ply(out / "surface.ply", demo.patch.points[used], corners.reshape(-1, 3), colors=colors[used]),
        plot.save_png(draw(demo), out / "demo.png"),
    ]
    print(report(demo))
    print(f"\ndone in {progress.seconds:.1f} s; wrote")
    for file in files:
        print(f"  {file}  ({file.stat().st_size / 1e6:.1f} MB)")
    return files


def report(demo: Demo) -> str:
    """Errors against the true surface, in the units of the data (the diameter is about 2.5)."""
    found = demo.errors[np.isfinite(demo.errors)]
    lines = ["Distance to the true surface", "", "                       mean     RMS      largest"]
    for name, errors in (("noisy observations", demo.cloud_errors), ("learned surface", found)):
        rms = np.sqrt(np.mean(errors**2))
        lines.append(f"{name:<22} {errors.mean():.4f}   {rms:.4f}   {errors.max():.4f}")
    lines += [
        "",
        f"noise (standard deviation) {NOISE:g}, bandwidth {demo.bandwidth:.3g}, {len(found)} points on the surface",
    ]
    ends = ", ".join(f"{count} {words}" for words, count in count_statuses(demo.patch.status).items())
    lines.append(f"geodesics: {ends}")
    return "\n".join(lines)
