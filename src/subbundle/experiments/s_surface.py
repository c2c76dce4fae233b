"""The paper's unfolding of the S-surface in R^100: normal coordinates of 3000 noisy observations.

The S-surface is scaled to height, width and depth 1, padded with zeros to R^100, and every one of the 100
coordinates gets noise of standard deviation 0.025: two observations of the same point are 0.35 apart, more than the
distance between the arms of the S. The surface is developable, so the true coordinates are arc length along the S and
position across it. The error is the root mean square distance to these after a rigid motion, without scaling.

The paper shows the unfolding (its α = 0.01 is a variance, a bandwidth of 0.1) and gives its base point, (0.47, 0.47,
0.49), but no error. Here `PrincipalSubmanifold` is fitted to the observations in R^100, with the bandwidth chosen
from the data.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subbundle import plot
from subbundle._progress import Progress
from subbundle._types import FloatArray, Status, SubbundleWarning
from subbundle.estimators import PrincipalSubmanifold
from subbundle.experiments._running import begin, over_seeds

N, DIM, NOISE = 3000, 100, 0.025
PAPER_BASE_POINT = (0.47, 0.47, 0.49)


@dataclass(frozen=True, slots=True)
class Sheet:
    """Observations around the S-surface and their ground truth.

    Attributes
    ----------
    points, clean : [n, dim]
        Observations, and the points of the surface without noise.
    unrolled : [n, 2]
        Arc length along the S and position across it.
    """

    points: FloatArray
    clean: FloatArray
    unrolled: FloatArray


@dataclass(frozen=True, slots=True)
class Unfolding:
    """One cloud unfolded.

    Attributes
    ----------
    coordinates : [n, 2]
        Estimated, after the rigid motion onto the truth.
    error : float
        Root mean square distance from the truth, all observations included.
    error_inside : float
        The same for the observations that the chart covers, with a rigid motion of these.
    coverage : float
        Fraction of the observations that the chart covers.
    """

    seed: int
    sheet: Sheet
    model: PrincipalSubmanifold
    coordinates: FloatArray
    error: float
    error_inside: float
    coverage: float
    seconds: float


def sample(seed: int, *, n: int = N, dim: int = DIM, noise: float = NOISE) -> Sheet:
    """``n`` observations around the S-surface in R^dim, uniform in the angle of its arcs."""
    rng = np.random.default_rng(seed)
    angle, across = rng.uniform(-1.5 * np.pi, 1.5 * np.pi, n), rng.uniform(0.0, 1.0, n)
    clean = np.zeros((n, dim))
    clean[:, :3] = s_surface(angle, across)
    return Sheet(clean + noise * rng.standard_normal(clean.shape), clean, np.column_stack([arc_length(angle), across]))


def s_surface(angle: FloatArray, across: FloatArray) -> FloatArray:
    """Points [n, 3] of the S-surface in the unit cube; its arcs are those of ellipses with semi-axes 1/2 and 1/4."""
    return np.column_stack([0.5 + 0.5 * np.sin(angle), across, 0.5 + 0.25 * np.sign(angle) * (np.cos(angle) - 1.0)])


def arc_length(angle: FloatArray) -> FloatArray:
    """Arc length [n] along the S from its centre: an elliptic integral, ∫ √(cos²/4 + sin²/16)."""
    from scipy.special import ellipeinc

    length: FloatArray = 0.5 * ellipeinc(angle, 0.75)
    return length


def measure(seed: int, *, bandwidth: float | str = "auto", n: int = N, dim: int = DIM) -> Unfolding:
    """Unfold one cloud and compare with the truth."""
    sheet = sample(seed, n=n, dim=dim)
    progress = Progress()
    with warnings.catch_warnings():
        # The number of points outside is reported as coverage.
        warnings.simplefilter("ignore", SubbundleWarning)
        model = PrincipalSubmanifold(n_components=2, bandwidth=bandwidth, kernel="gaussian").fit(sheet.points)
    seconds = progress.seconds
    coordinates = moved_onto(model.embedding_, sheet.unrolled)
    inside = model.status_ == Status.OK
    own = moved_onto(model.embedding_[inside], sheet.unrolled[inside])
    return Unfolding(
        seed=seed,
        sheet=sheet,
        model=model,
        coordinates=coordinates,
        error=root_mean_square(coordinates - sheet.unrolled),
        error_inside=root_mean_square(own - sheet.unrolled[inside]),
        coverage=float(inside.mean()),
        seconds=seconds,
    )


def moved_onto(
    points: FloatArray, truth: FloatArray, *, scaled: bool = False, others: FloatArray | None = None
) -> FloatArray:
    """``points`` [n, k], or ``others`` [m, k], after the rigid motion (with ``scaled``: the similarity) that brings
    ``points`` nearest to ``truth``."""
    centre, goal = points.mean(axis=0), truth.mean(axis=0)
    left, singular, right = np.linalg.svd((points - centre).T @ (truth - goal))
    scale = singular.sum() / np.sum((points - centre) ** 2) if scaled else 1.0
    moved: FloatArray = scale * ((points if others is None else others) - centre) @ (left @ right) + goal
    return moved


def root_mean_square(vectors: FloatArray) -> float:
    """Root of the mean squared length of ``vectors`` [n, k]."""
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=1))))


def draw(result: Unfolding, *, n_grid: int = 160) -> Any:
    """Left: observations and the learned surface, first three coordinates. Right: the unfolding, the true outline
    around it."""
    figure, (left, right) = plot.new_figure(2)
    low, high = result.sheet.unrolled[:, 0].min(), result.sheet.unrolled[:, 0].max()
    vertices, faces, along = _surface(result, n_grid)
    scene = plot.Scene(plot.View(azimuth=-58.0, elevation=16.0), fog=0.35)
    scene.add_points(result.sheet.points[:, :3], color="#8a93a0", size=2.0)
    colors = plot.colours_of(along[faces].mean(axis=1), low=low, high=high)
    scene.add_triangles(vertices[:, :3], faces, color=colors)
    scene.draw(left)
    left.set_title("observations and principal submanifold", fontsize=11)
    inside = result.model.status_ == Status.OK
    for rows, size in ((inside, 5.0), (~inside, 2.0)):
        colors = plot.colours_of(result.sheet.unrolled[rows, 0], low=low, high=high)
        right.scatter(*result.coordinates[rows].T, s=size, c=colors, linewidths=0)
    half = float(arc_length(np.array([1.5 * np.pi]))[0])
    right.plot(*np.array([[-half, 0], [half, 0], [half, 1], [-half, 1], [-half, 0]]).T, color="black", linewidth=0.8)
    plot.fit(right, np.array([[-half, -half + 0.5], [half, half + 0.5]]), margin=0.08)
    right.set_title("normal coordinates; outline: the truth", fontsize=11)
    plot.add_scale(figure, right, float(low), float(high), "true arc length along the S")
    return figure


def _surface(result: Unfolding, n_grid: int) -> tuple[FloatArray, Any, FloatArray]:
    """A grid over the chart: vertices [m, dim], triangles [f, 3] and the arc length of each vertex."""
    model, raw = result.model, result.model.embedding_
    axes = [np.linspace(low, high, n_grid) for low, high in zip(raw.min(axis=0), raw.max(axis=0), strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    held = model.chart_.inside(grid)
    number = np.full(len(grid), -1)
    number[held] = np.arange(np.count_nonzero(held))
    corner = number.reshape(n_grid, n_grid)
    a, b, c, d = corner[:-1, :-1].ravel(), corner[1:, :-1].ravel(), corner[1:, 1:].ravel(), corner[:-1, 1:].ravel()
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    faces = faces[(faces >= 0).all(axis=1)]
    # The rigid motion of the observations applies to the grid too.
    placed = moved_onto(raw, result.coordinates, others=grid[held])
    return model.inverse_transform(grid[held]), faces, placed[:, 0]


def run(*, seed: int, out: Path, n_seeds: int = 5) -> list[Path]:
    """Unfold the clouds of ``n_seeds`` seeds from ``seed`` on, print the table, write the figure of the first."""
    progress = begin(out)
    results = over_seeds(measure, seed, n_seeds, progress, f"unfolding {N} observations in R^{DIM}")
    progress.stage("drawing")
    path = plot.save_png(draw(results[0]), out / "s-surface.png")
    print(f"{report(results)}\n\nwrote {path}")
    return [path]


def report(results: list[Unfolding]) -> str:
    """Errors and coverage of every cloud."""
    base = "({:.2f}, {:.2f}, {:.2f})"
    lines = [
        f"{N} observations around the S-surface in R^{DIM}, noise {NOISE}; unit cube, rigid motion only",
        "",
        "seed  error   covered only  coverage  bandwidth  base point, first three  seconds",
    ]
    for r in results:
        lines.append(
            f"{r.seed:<4}  {r.error:.4f}  {r.error_inside:.4f}        {r.coverage:.1%}     "
            f"{r.model.bandwidth_:.3f}      "
            f"{base.format(*r.model.base_point_[:3])}       {r.seconds:.1f}"
        )
    mean = [float(np.mean([getattr(r, name) for r in results])) for name in ("error", "error_inside", "coverage")]
    lines.append(f"mean  {mean[0]:.4f}  {mean[1]:.4f}        {mean[2]:.1%}")
    lines.append(f"The paper gives no error; its base point: {base.format(*PAPER_BASE_POINT)}.")
    return "\n".join(lines)
