"""The paper's illustration of the logarithm: the geodesic between two points of the S-surface, from noisy observations.

The base point x (blue) lies near one end of the S and the target y (pink), an observation, near the other. Red is
the geodesic t ↦ exp_x(t log_x(y)); its length is the estimate of their distance, and it passes near y, not through
it, since y is noisy.

Also shown is the minimiser of |exp_x(η) − y|² + H(x, η), as the paper writes it. Taken literally it is biased: on a
flat space it is ⅔ of the logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subbundle import datasets, plot
from subbundle._types import FloatArray
from subbundle.bundles import PrincipalSubbundle
from subbundle.bundles.ridge import carry_to_ridge
from subbundle.experiments._running import begin
from subbundle.geodesics import geodesic
from subbundle.geodesics.log import Log, log

N, NOISE, BANDWIDTH = 3000, 0.05, 0.25
# Unrolled positions near which x and y are taken: arc length from the centre of the S, and position across it.
START, END = (-2.2, 0.5), (2.0, 1.5)
# name: search, method, penalty
VARIANTS = {
    "dual subspace": ("dual", "lm", 0.0),
    "whole cotangent space": ("full", "lm", 0.0),
    "dual subspace, by BFGS": ("dual", "bfgs", 0.0),
    "|exp − y|² + H, as written": ("dual", "lm", 1.0),
}


@dataclass(frozen=True, slots=True)
class Illustration:
    """A cloud, two of its points and the logarithms between them.

    Attributes
    ----------
    cloud : [n, 3]
    base_point, target : [3]
    truth : float
        Distance along the S between the two points without noise.
    logs : dict
        The variants of `VARIANTS`.
    way : [m, 3]
        The geodesic of the first of them.
    short : [m, 3]
        The geodesic of the last.
    """

    cloud: FloatArray
    base_point: FloatArray
    target: FloatArray
    truth: float
    logs: dict[str, Log]
    way: FloatArray
    short: FloatArray


def illustrate(*, seed: int = 0, n: int = N) -> Illustration:
    """Estimate the bundle and compute the logarithms."""
    sheet = datasets.s_surface(n, noise=NOISE, seed=seed)
    assert sheet.coordinates is not None
    unrolled = sheet.coordinates
    start, end = (int(np.argmin(np.sum((unrolled - place) ** 2, axis=1))) for place in (START, END))
    bundle = PrincipalSubbundle(sheet.points, rank=2, bandwidth=BANDWIDTH, kernel="gaussian")
    base, target = carry_to_ridge(bundle, sheet.points[start]).points, sheet.points[end]
    logs = {
        name: log(bundle, base, target, search=search, method=method, penalty=penalty)
        for name, (search, method, penalty) in VARIANTS.items()
    }
    times = np.linspace(0.0, 1.0, 121)
    names = list(VARIANTS)
    way, short = (geodesic(bundle, base, logs[name].covectors, times=times).points for name in (names[0], names[-1]))
    truth = float(np.linalg.norm(unrolled[end] - unrolled[start]))
    return Illustration(sheet.points, base, target, truth, logs, way, short)


def draw(picture: Illustration) -> Any:
    """The cloud in blue-grey, the geodesic in red, the literal minimiser's in grey."""
    figure, (panel,) = plot.new_figure(1)
    scene = plot.Scene(plot.View(azimuth=-64.0, elevation=20.0), fog=0.75)
    scene.add_points(picture.cloud, color="#7f92ad", size=3.5)
    scene.add_curves(picture.short[None], color="#555555", width=4.5, lift=0.25)
    scene.add_curves(picture.way[None], color="#d1341f", width=2.2, lift=0.3)
    scene.add_points(picture.base_point[None], color="#2457b3", size=60.0, lift=0.4)
    scene.add_points(picture.target[None], color="#e0559b", size=60.0, lift=0.4)
    scene.draw(panel)
    panel.set_title("log from the blue point to the pink one; grey: with + H as written", fontsize=10)
    return figure


def run(*, seed: int, out: Path) -> list[Path]:
    """Compute the logarithms, print them with the true distance, write the figure."""
    progress = begin(out)
    progress.stage(f"logarithms on {N} observations around the S-surface")
    picture = illustrate(seed=seed)
    progress.stage("drawing")
    path = plot.save_png(draw(picture), out / "log-illustration.png")
    print(f"{report(picture)}\n\nwrote {path}")
    return [path]


def report(picture: Illustration) -> str:
    """Lengths and residuals of every variant."""
    lines = [
        f"Distance between two points of the S-surface; along the true surface {picture.truth:.4f}",
        "",
        "search                       length  residual  geodesics",
    ]
    for name, found in picture.logs.items():
        lines.append(f"{name:<27}  {found.lengths:.4f}  {found.residuals:.4f}    {found.iterations}")
    return "\n".join(lines)
