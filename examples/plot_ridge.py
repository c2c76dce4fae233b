"""
The middle of a cloud
=====================

Left: 1500 noisy observations of a curve with a tight bend. The ridge of order 1, where the local mean has no part
across the bundle, cuts the bend short; the ridge of order 2, where a parabola fitted to the neighbours passes through
the point, follows it. Both are drawn at the same, deliberately wide, bandwidth.

Right: the same curve with 60 outliers. Each observation is coloured by its outlier score: how many noise levels it was
moved.

Run it with ``python examples/plot_ridge.py [folder]``; it needs ``pip install "subbundle[plot]"``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import subbundle as sb
from subbundle import plot

NOISE, BANDWIDTH = 0.05, 0.2


def curve(t: np.ndarray) -> np.ndarray:
    """A parabola with a radius of curvature of 0.25 at its tip."""
    return np.column_stack([t, 2.0 * t**2])


def main(folder: Path) -> Path:
    """Draw both pictures into ``folder``."""
    rng = np.random.default_rng(0)
    clean = curve(rng.uniform(-1.0, 1.0, size=1500))
    noisy = clean + NOISE * rng.normal(size=clean.shape)
    bundle = sb.PrincipalSubbundle(noisy, rank=1, bandwidth=BANDWIDTH)
    figure, (left, right) = plot.new_figure(2)
    truth = curve(np.linspace(-1.0, 1.0, 400))
    left.scatter(*noisy.T, s=5, color="#c3cad4", linewidths=0)
    left.plot(*truth.T, color="black", linewidth=1.0, linestyle="--", label="truth")
    for order, color in ((1, "#e69f00"), (2, "#0072b2")):
        ridge = sb.ridge_project(bundle, curve(np.linspace(-0.95, 0.95, 300)), order=order)
        off = np.linalg.norm(ridge.points[:, None] - truth, axis=2).min(axis=1)
        label = f"order {order}, off by {off.mean():.3f} on average"
        left.plot(*ridge.points.T, color=color, linewidth=2.0, label=label)
    left.legend(loc="upper center", fontsize=8, frameon=False)
    left.set_title(f"noise {NOISE:g}, bandwidth {BANDWIDTH:g}", fontsize=11)

    dirty = np.vstack([noisy, rng.uniform([-1.3, -0.4], [1.3, 2.3], size=(60, 2))])
    scores = sb.ridge_project(sb.PrincipalSubbundle(dirty, rank=1, bandwidth=0.12), dirty).outlier_scores
    order = np.argsort(scores)
    colors = plot.colours_of(np.minimum(scores, 6.0), low=0.0, high=6.0, name="cividis")
    right.scatter(*dirty[order].T, s=9, color=colors[order], linewidths=0)
    right.set_title("60 outliers: score by score", fontsize=11)
    plot.add_scale(figure, right, 0.0, 6.0, "outlier score, 6 and more", name="cividis")
    folder.mkdir(parents=True, exist_ok=True)
    planted, others = np.sum(scores[-60:] > 3.5), np.sum(scores[:-60] > 3.5)
    print(f"of the 60 outliers {planted} score above 3.5 (some fell on the curve), of the 1500 others {others}")
    return plot.save_png(figure, folder / "ridge.png")


if __name__ == "__main__":
    print("wrote", main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
