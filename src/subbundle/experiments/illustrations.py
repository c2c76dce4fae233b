"""The paper's two illustrations of a principal subbundle: rank 1 in the plane, rank 2 in space.

Blue strokes or arrows span the subspaces. One geodesic starts inside the cloud (red) and one outside (magenta): because
the second moment is centred at the local mean, the subspaces outside remain tangential to the cloud, and the outer
geodesic is parallel to it. Observations with a normalised weight above 1e-5 in the local PCA at the red point are
drawn darker; the weight of the others is negligible.

In space the cloud lies around the unit sphere; the geodesics have the lengths of the great circles through their
starts, 2π at radius 1 and 2.3π at radius 1.15, so both should close.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subbundle import datasets, plot
from subbundle._closest import spiral_directions
from subbundle._types import FloatArray, Status
from subbundle.bundles import PrincipalSubbundle
from subbundle.experiments._running import begin
from subbundle.geodesics import Geodesics, geodesic

PALE, DARK, BLUE, INSIDE, OUTSIDE = "#c3d3bd", "#3f7d3a", "#3b6fb6", "#d1341f", "#c2479f"
WEIGHT = 1e-5


@dataclass(frozen=True, slots=True)
class Illustration:
    """A cloud, its bundle at some points, and a geodesic from inside and one from outside.

    Attributes
    ----------
    cloud : [n, dim]
    heavy : [n] of bool
        Observations with a normalised weight above 1e-5 at the inner start.
    bundle_points : [m, dim]
    vectors : [m, dim, rank]
    inside, outside : Geodesics
    """

    cloud: FloatArray
    heavy: Any
    bundle_points: FloatArray
    vectors: FloatArray
    inside: Geodesics
    outside: Geodesics


def in_plane(*, seed: int = 0, n: int = 500, n_grid: int = 25) -> Illustration:
    """k = 1: a noisy spiral arm; the geodesics run both ways from their starts."""
    cloud = datasets.curve_in_plane(n, noise=0.08, seed=seed).points
    bundle = PrincipalSubbundle(cloud, rank=1, bandwidth=0.22, kernel="gaussian")
    x, y = np.meshgrid(np.linspace(-2.3, 1.5, n_grid), np.linspace(-2.4, 1.8, n_grid))
    both_ways = np.array([[1.0], [-1.0]])
    starts = np.array([[-0.72, 1.22], [-0.9, 1.54]])
    return _illustrate(bundle, cloud, 0.22, np.column_stack([x.ravel(), y.ravel()]), starts, both_ways, (1.9, 1.9))


def in_space(*, seed: int = 0, n: int = 2000, n_frames: int = 130) -> Illustration:
    """k = 2: a noisy sphere; one closed geodesic on it and one around it."""
    cloud = datasets.sphere(n, noise=0.04, seed=seed).points
    bundle = PrincipalSubbundle(cloud, rank=2, bandwidth=0.25, kernel="gaussian")
    starts = np.array([[0.0, -1.0, 0.0], [0.0, -1.15, 0.0]])
    lengths = (2.0 * np.pi, 2.3 * np.pi)
    directions = np.array([[1.0, 0.35], [1.0, -0.6]])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return _illustrate(bundle, cloud, 0.25, spiral_directions(n_frames), starts, directions, lengths)


def _illustrate(
    bundle: PrincipalSubbundle,
    cloud: FloatArray,
    bandwidth: float,
    bundle_points: FloatArray,
    starts: FloatArray,
    directions: FloatArray,
    lengths: tuple[float, float],
) -> Illustration:
    squared = np.sum((cloud - starts[0]) ** 2, axis=1) / bandwidth**2
    weights = np.exp(-0.5 * (squared - squared.min()))
    frame = bundle.frame(bundle_points)
    defined = frame.status == Status.OK
    # In the plane two geodesics from each start, in both directions; in space one.
    chosen = [directions, directions] if bundle.rank == 1 else [directions[:1], directions[1:]]
    curves = [
        geodesic(bundle, start, covectors, length=length, n_points=400)
        for start, covectors, length in zip(starts, chosen, lengths, strict=True)
    ]
    heavy = weights / weights.sum() > WEIGHT
    return Illustration(cloud, heavy, bundle_points[defined], frame.vectors[defined], *curves)


def draw(plane: Illustration, space: Illustration) -> Any:
    """Two panels: the plane on the left, space on the right."""
    figure, (left, right) = plot.new_figure(2)
    _draw_plane(left, plane)
    _draw_space(right, space)
    return figure


def _draw_plane(panel: Any, picture: Illustration) -> None:
    cloud, heavy = picture.cloud, picture.heavy
    for rows, color in ((~heavy, PALE), (heavy, DARK)):
        panel.scatter(*cloud[rows].T, s=9, color=color, linewidths=0, zorder=1)
    plot.draw_lines_of_bundle(panel, picture.bundle_points, picture.vectors[:, :, 0], length=0.13, color=BLUE)
    for fan, color in ((picture.inside, INSIDE), (picture.outside, OUTSIDE)):
        panel.plot(*fan.points.transpose(2, 1, 0), color=color, linewidth=2.2, zorder=3, solid_capstyle="round")
        panel.scatter(*fan.points[0, 0], s=42, color=color, edgecolors="white", linewidths=0.8, zorder=4)
    plot.fit(panel, np.concatenate([cloud, picture.bundle_points]))
    panel.set_title("rank 1 in the plane", fontsize=11)


def _draw_space(panel: Any, picture: Illustration) -> None:
    scene = plot.Scene(plot.View(azimuth=-62.0, elevation=20.0))
    for rows, color in ((~picture.heavy, PALE), (picture.heavy, DARK)):
        scene.add_points(picture.cloud[rows], color=color, size=4.0)
    for i in range(picture.vectors.shape[2]):
        scene.add_arrows(picture.bundle_points, 0.13 * picture.vectors[:, :, i], color=BLUE, width=0.9)
    for fan, color in ((picture.inside, INSIDE), (picture.outside, OUTSIDE)):
        scene.add_curves(fan.points, color=color, width=2.4, lift=0.02)
        scene.add_points(fan.points[:, 0], color=color, size=40.0, lift=0.1)
    scene.draw(panel, margin=0.1)
    panel.set_title("rank 2 in space", fontsize=11)


def run(*, seed: int, out: Path) -> list[Path]:
    """Compute both illustrations, print the deviations of the curves, write the figure; return the files."""
    progress = begin(out)
    progress.stage("rank 1 in the plane")
    plane = in_plane(seed=seed)
    progress.stage("rank 2 in space")
    space = in_space(seed=seed)
    progress.stage("drawing")
    path = plot.save_png(draw(plane, space), out / "bundle.png")
    print(report(space))
    print(f"\nwrote {path}")
    return [path]


def report(space: Illustration) -> str:
    """Closing errors and radii of the two closed geodesics in space."""
    lines = ["Geodesics around a noisy unit sphere", "", "start   norm  length  norm along it       gap when closing"]
    for name, fan in (("inside", space.inside), ("outside", space.outside)):
        norms = np.linalg.norm(fan.points[0], axis=1)
        norms = norms[np.isfinite(norms)]
        gap = np.linalg.norm(fan.points[0, -1] - fan.points[0, 0])
        status = Status(int(np.asarray(fan.status)[0]))
        closing = f"{gap:.3f}" if status == Status.OK else status.message
        length = f"{fan.times[-1] / np.pi:.1f} π"
        lines.append(f"{name:<7} {norms[0]:.2f}  {length:<6}  {norms.mean():.3f} ± {norms.std():.3f}       {closing}")
    return "\n".join(lines)
