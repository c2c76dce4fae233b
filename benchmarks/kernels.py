"""The compact kernel compared with the Gaussian, each at its own best bandwidth: ridge, tangents and geodesics.

Bandwidths are on a grid; the least error is that of the parabola through the best three in log–log coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np

import subbundle as sb
from benchmarks._report import Bar, Result, Table

WIDTHS = np.geomspace(0.06, 0.42, 9)
KERNELS = ("gaussian", "compact")
QUERIES = 400
# Of the noise. At the best bandwidth on a sphere the bias of the window and that of the noise cancel: the error of one
# draw, and with it a ratio, varies by a sixth.
DRAWS = 4
GEODESICS, LENGTH = 24, 1.5
# A bandwidth at which more than this part of the queries has no answer is none.
LOST = 0.05


@dataclass(frozen=True, slots=True)
class Shape:
    """A surface in R³ with its unit normals and distances, and whether its geodesics are great circles."""

    name: str
    clean: np.ndarray
    normals: np.ndarray
    distance: Callable[[np.ndarray], np.ndarray]
    round: bool


def shapes(n: int) -> list[Shape]:
    torus, sphere = sb.datasets.torus(n, seed=5), sb.datasets.sphere(n, seed=5)
    ring = torus.points * [1.0, 1.0, 0.0]
    tube = torus.points - ring / np.linalg.norm(ring, axis=1, keepdims=True)
    tube /= np.linalg.norm(tube, axis=1, keepdims=True)
    return [
        Shape("torus", torus.points, tube, torus.distance, False),
        Shape("sphere", sphere.points, sphere.points, sphere.distance, True),
    ]


def errors(shape: Shape, cloud: sb.Cloud, noisy: np.ndarray, width: float, kernel: str) -> dict[str, float]:
    """Root mean squares: distance of the ridge, sine of the tangents' angle, and how far geodesics end off."""
    every = max(1, len(noisy) // QUERIES)
    extra = noisy.shape[1] - 3
    bundle = sb.PrincipalSubbundle(cloud, 2, width, kernel=kernel)
    ridge = sb.ridge_project(bundle, noisy[::every])
    off = np.hypot(shape.distance(ridge.points[:, :3]), np.linalg.norm(ridge.points[:, 3:], axis=1))
    frame = bundle.frame(np.pad(shape.clean[::every], ((0, 0), (0, extra))))
    normals = np.pad(shape.normals[::every], ((0, 0), (0, extra)))
    across = np.einsum("nd,ndk->nk", normals, frame.vectors) ** 2
    tilt = np.sqrt(across.sum(axis=1) + (frame.vectors[:, 3:] ** 2).sum(axis=(1, 2)))
    found = {"ridge": _rms(off, ridge.status), "tangents": _rms(tilt, frame.status)}
    if shape.round and not extra:
        fan = sb.geodesic(bundle, np.array([1.0, 0.0, 0.0]), sb.geodesics.directions(2, GEODESICS), length=LENGTH)
        start = fan.covectors[:, 0] / np.linalg.norm(fan.covectors[:, 0], axis=1, keepdims=True)
        start[:, 0] = 0.0
        start /= np.linalg.norm(start, axis=1, keepdims=True)
        ends = np.cos(LENGTH) * np.array([1.0, 0.0, 0.0]) + np.sin(LENGTH) * start
        found["geodesics"] = _rms(np.linalg.norm(fan.points[:, -1] - ends, axis=1), fan.status)
    return found


def _rms(values: np.ndarray, status: np.ndarray) -> float:
    known = (status == sb.Status.OK) & np.isfinite(values)
    return float(np.sqrt(np.mean(values[known] ** 2))) if known.mean() >= 1.0 - LOST else np.inf


def least(values: np.ndarray) -> tuple[float, float]:
    """The least error and its bandwidth."""
    best = int(np.argmin(values))
    if not 0 < best < len(values) - 1 or not np.isfinite(values[best - 1 : best + 2]).all():
        return float(values[best]), float(WIDTHS[best])
    low, middle, high = np.log(values[best - 1 : best + 2])
    place = 0.5 * (low - high) / (low - 2.0 * middle + high)
    ratio = WIDTHS[1] / WIDTHS[0]
    return float(np.exp(middle - 0.25 * (low - high) * place)), float(WIDTHS[best] * ratio**place)


def run() -> Result:
    rows, ratios = [], []
    for n, noise, dim in ((3000, 0.02, 3), (3000, 0.05, 3), (3000, 0.08, 3), (10_000, 0.04, 3), (2000, 0.04, 10)):
        for shape in shapes(n):
            clean = np.pad(shape.clean, ((0, 0), (0, dim - 3)))
            found = {(k, a): [] for k in KERNELS for a in WIDTHS}
            for draw in range(DRAWS):
                noisy = clean + noise * np.random.default_rng(7 + draw).standard_normal(clean.shape)
                cloud = sb.Cloud(noisy)
                for (k, a), each in found.items():
                    each.append(errors(shape, cloud, noisy, a, k))
            for what in found["gaussian", WIDTHS[0]][0]:
                mean = {at: np.sqrt(np.mean([one[what] ** 2 for one in each])) for at, each in found.items()}
                (theirs, their_width), (ours, our_width) = (
                    least(np.array([mean[k, a] for a in WIDTHS])) for k in KERNELS
                )
                ratios.append(ours / theirs)
                label = f"{shape.name}, {n} points in R^{dim}, noise {noise:g}"
                rows.append([label, what, theirs, ours, ours / theirs, our_width / their_width])
    return Result(
        title="kernels: compact beside Gaussian, each at its own best bandwidth",
        method=(
            "Root mean square errors of the ridge (order 2), of the tangents (sine of the angle) and, on the sphere, "
            f"of where {GEODESICS} geodesics of length {LENGTH:g} end; {QUERIES} queries on each of {DRAWS} draws of "
            f"the noise; bandwidths {WIDTHS[0]:g} to {WIDTHS[-1]:g}."
        ),
        tables=[Table(["cloud", "", "Gaussian", "compact", "ratio", "ratio of best bandwidths"], rows)],
        bars=[
            Bar("compact / Gaussian, median", median(ratios), 1.0),
            Bar("compact / Gaussian, worst", max(ratios), 1.1),
        ],
    )
