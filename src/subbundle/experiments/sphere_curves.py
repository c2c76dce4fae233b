"""The paper's experiment on the sphere: noisy points around random curves, and four ways to fit them.

On the tangent plane at the north pole, t ↦ (t, f(t)) with f(t) = (t − a_1)(t − a_2)(t − a_3)(t − a_4), a_1 and a_2
uniform on (−1, 0), a_3 and a_4 on (0, 1), is mapped to S² by the exponential. At 100 even values of t in [−1, 1]
isotropic noise of variance 5e-4 per direction is added, again by the exponential. The base point is the
within-sample Fréchet mean, the kernel has the standard deviation 0.045. Curves are compared by the sum of squared
geodesic distances (SSE) of the 100 observations to them, over 20 data sets.

The base point is an observation, off the ridge by its own noise, and a geodesic keeps the offset of its start. Curves
from the base point projected to the ridge are therefore added to the paper's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subbundle import plot
from subbundle._types import FloatArray, count_statuses
from subbundle._validation import as_integer
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.comparisons import (
    Curve,
    central_observation,
    curves_through,
    distances_to_curve,
    principal_geodesic,
    ridge_point,
)
from subbundle.experiments._running import begin
from subbundle.spaces import Sphere

SPACE = Sphere(2)
NORTH = np.array([0.0, 0.0, 1.0])
VARIANCE, BANDWIDTH = 5e-4, 0.045
# Largest length of the curves on either side of the base point; they may pass the antipode of the pole.
LENGTH, N_POINTS = 6.5, 1301
METHODS = ("true curve", "centred", "uncentred", "tangent PCA", "centred, from the ridge", "uncentred, from the ridge")
# Colours that colour-blind readers can distinguish.
COLOURS = dict(zip(METHODS, ("#444444", "#d55e00", "#0072b2", "#009e73", "#eda56b", "#74b3d8"), strict=True))


@dataclass(frozen=True, slots=True)
class Dataset:
    """Observations around a random curve.

    Attributes
    ----------
    points : [n, 3]
    curve : [m, 3]
        The curve itself, finely sampled.
    """

    points: FloatArray
    curve: FloatArray


@dataclass(frozen=True, slots=True)
class Fits:
    """The fitted curves of one data set, and their errors.

    Attributes
    ----------
    curves : dict
        `Curve` by method.
    errors : dict
        SSE by method, the true curve included.
    """

    curves: dict[str, Curve]
    errors: dict[str, float]


def make_dataset(rng: np.random.Generator, *, n: int = 100, variance: float = VARIANCE) -> Dataset:
    """Draw a curve and ``n`` observations around it."""
    roots = np.concatenate([rng.uniform(-1.0, 0.0, 2), rng.uniform(0.0, 1.0, 2)])

    def curve(t: FloatArray) -> FloatArray:
        height = np.prod(t[:, None] - roots, axis=1)
        return SPACE.exp(np.column_stack([t, height, np.zeros_like(t)]), NORTH)

    centres = curve(np.linspace(-1.0, 1.0, n))
    noise = np.sqrt(variance) * rng.standard_normal((n, 2))
    vectors = np.einsum("na,nad->nd", noise, SPACE.tangent_basis(centres))
    return Dataset(SPACE.exp(vectors, centres), curve(np.linspace(-1.0, 1.0, 4001)))


def fit(data: Dataset, *, bandwidth: float = BANDWIDTH) -> Fits:
    """Fit all curves to one data set."""
    points = data.points
    base = points[central_observation(points, space=SPACE)]
    centred, uncentred = (
        RiemannianSubbundle(points, 1, bandwidth, space=SPACE, centering=centering)
        for centering in ("recentred", "none")
    )
    starts = np.stack([base, ridge_point(centred, base)])
    curves = {"tangent PCA": principal_geodesic(points, space=SPACE, base_point=base)}
    for name, bundle in (("centred", centred), ("uncentred", uncentred)):
        both = curves_through(bundle, starts, length=LENGTH, n_points=N_POINTS)
        curves[name], curves[f"{name}, from the ridge"] = both
    errors = {"true curve": sum_of_squares(points, data.curve)}
    errors |= {name: sum_of_squares(points, curve.points) for name, curve in curves.items()}
    return Fits(curves, {name: errors[name] for name in METHODS})


def sum_of_squares(points: FloatArray, curve: FloatArray) -> float:
    """SSE of ``points`` [n, 3] to a curve [m, 3]."""
    return float(np.sum(distances_to_curve(points, curve, space=SPACE) ** 2))


def measure(*, seed: int = 0, n_datasets: int = 20) -> tuple[list[Dataset], list[Fits]]:
    """Draw ``n_datasets`` data sets, the i-th from the seed (``seed``, i), and fit them."""
    count = as_integer(n_datasets, "n_datasets", low=1)
    data = [make_dataset(np.random.default_rng([seed, i])) for i in range(count)]
    return data, [fit(each) for each in data]


def errors_of(fits: list[Fits]) -> dict[str, FloatArray]:
    """SSE of all data sets, [n_datasets], by method."""
    return {name: np.array([each.errors[name] for each in fits]) for name in METHODS}


def run(*, seed: int, out: Path, n_datasets: int = 20) -> list[Path]:
    """Run the experiment, print the table, write the box plot and an example on the sphere; return the files."""
    progress = begin(out)
    progress.stage(f"{n_datasets} random curves on the sphere, five fits each")
    start = time.perf_counter()
    data, fits = measure(seed=seed, n_datasets=n_datasets)
    seconds = time.perf_counter() - start
    progress.stage("drawing")
    example = most_typical(fits)
    paths = [
        plot.save_png(draw_errors(errors_of(fits)), out / "sphere-curves-errors.png"),
        plot.save_png(draw_example(data[example], fits[example]), out / "sphere-curves.png"),
    ]
    print(report(fits, seed))
    print(f"\n{seconds:.1f} s. The example on the sphere is data set {example}.\n")
    print("\n".join(f"wrote {path}" for path in paths))
    return paths


def report(fits: list[Fits], seed: int) -> str:
    """Quartiles of the SSE by method, their ratios to the true curve, and statuses of the curves."""
    errors = errors_of(fits)
    truth = float(np.median(errors["true curve"]))
    lines = [
        f"Sum of squared geodesic errors of 100 observations, {len(fits)} data sets (seed {seed})",
        "",
        "method                     quartile  median  quartile  largest  median / true curve's",
    ]
    for name, values in errors.items():
        low, middle, high = np.percentile(values, [25, 50, 75])
        row = f"{name:<26} {low:<9.3f} {middle:<7.3f} {high:<9.3f} {values.max():<8.3f} {middle / truth:.2f}"
        lines.append(row)
    ends = np.concatenate([each.curves["centred"].status for each in fits])
    words = ", ".join(f"{count} {reason}" for reason, count in count_statuses(ends).items())
    return "\n".join([*lines, "", f"Ends of the centred curves: {words}"])


def most_typical(fits: list[Fits]) -> int:
    """The data set whose SSEs are nearest to the medians of the paper's four, on a logarithmic scale."""
    logs = np.log(np.column_stack([errors_of(fits)[name] for name in METHODS[:4]]))
    return int(np.argmin(np.abs(logs - np.median(logs, axis=0)).max(axis=1)))


def draw_errors(errors: dict[str, FloatArray]) -> Any:
    """A box plot of the SSEs on a logarithmic scale, one dot per data set."""
    figure, (panel,) = plot.new_figure(1)
    figure.set_size_inches(8.0, 4.4)
    panel.set_axis_on()
    panel.set_aspect("auto")
    panel.set_position((0.09, 0.13, 0.9, 0.79))
    rng = np.random.default_rng(0)
    for place, (name, values) in enumerate(errors.items()):
        boxes = panel.boxplot([values], positions=[place], widths=0.55, patch_artist=True, showfliers=False)
        boxes["boxes"][0].set(facecolor=COLOURS[name], alpha=0.55)
        boxes["medians"][0].set(color="black", linewidth=1.6)
        panel.scatter(place + rng.uniform(-0.16, 0.16, len(values)), values, s=11, color=COLOURS[name], zorder=3)
    panel.set_yscale("log")
    panel.set_xticks(range(len(errors)), [name.replace(", ", ",\n") for name in errors], fontsize=9)
    panel.set_ylabel("sum of squared geodesic errors")
    panel.grid(axis="y", alpha=0.3)
    panel.set_title(f"100 observations around a random curve, {len(errors['centred'])} data sets", fontsize=11)
    return figure


def draw_example(data: Dataset, fits: Fits) -> Any:
    """One data set on the sphere with the paper's three curves, and with those from the ridge."""
    figure, panels = plot.new_figure(2)
    toward = SPACE.projection(0.5 * (data.points.max(axis=0) + data.points.min(axis=0)))
    azimuth, elevation = np.degrees([np.arctan2(toward[1], toward[0]), np.arcsin(toward[2])])
    view = plot.View(float(azimuth), float(elevation))
    curves = np.concatenate([curve.points for curve in fits.curves.values()])
    window = np.concatenate([data.points, curves]) @ view.axes[:2].T
    for panel, suffix in zip(panels, ("", ", from the ridge"), strict=True):
        scene = plot.Scene(view, fog=0.5)
        scene.add_curves(_globe(view), color="#c9ced6", width=0.6)
        scene.add_points(data.points, color="#8d93a0", size=13.0, lift=0.02)
        scene.add_curves(data.curve[None], color="black", width=0.9, lift=0.025)
        names = {"tangent PCA": "tangent PCA", "uncentred": f"uncentred{suffix}", "centred": f"centred{suffix}"}
        for row, (short, name) in enumerate(names.items()):
            scene.add_curves(fits.curves[name].points[None], color=COLOURS[short], width=2.0, lift=0.03 + 0.01 * row)
            text = f"{short}: SSE {fits.errors[name]:.3f}"
            panel.text(0.03, 0.085 + 0.05 * row, text, color=COLOURS[short], fontsize=9, transform=panel.transAxes)
        text = f"true curve: SSE {fits.errors['true curve']:.3f}"
        panel.text(0.03, 0.035, text, color="black", fontsize=9, transform=panel.transAxes)
        scene.add_points(fits.curves[f"centred{suffix}"].base_point[None], color="black", size=30.0, lift=0.08)
        scene.draw(panel)
        plot.fit(panel, window, margin=0.08)
        panel.set_title("from the ridge" if suffix else "from the central observation", fontsize=11)
    return figure


def _globe(view: Any) -> FloatArray:
    """Meridians, parallels and outline of the visible hemisphere, [curves, 181, 3]."""
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    cosine, sine = np.cos(angle), np.sin(angle)
    latitudes, longitudes = np.radians(np.arange(-75, 90, 15)), np.radians(np.arange(0, 180, 15))
    parallels = [[np.cos(b) * cosine, np.cos(b) * sine, np.full(181, np.sin(b))] for b in latitudes]
    meridians = [[cosine * np.cos(c), cosine * np.sin(c), sine] for c in longitudes]
    grid = np.swapaxes(np.array(parallels + meridians), 1, 2)
    grid[grid @ view.axes[2] < 0.0] = np.nan
    outline = cosine[:, None] * view.axes[0] + sine[:, None] * view.axes[1]
    return np.concatenate([grid, outline[None]])
