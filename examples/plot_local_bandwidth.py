"""
A bandwidth for every place
===========================

5000 noisy observations of a cone, as many at each radius: towards the tip it bends more sharply, and observations lie
denser and are less noisy. Left: the bandwidths that `choose_local_bandwidth` finds, and the best single one, found with
the truth. Right: the error of the ridge with each, relative to the radius.

Run it with ``python examples/plot_local_bandwidth.py [folder]``; it needs ``pip install "subbundle[plot]"``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import subbundle as sb
from subbundle import plot

BLUE, ORANGE = "#0072B2", "#D55E00"


def main(folder: Path) -> Path:
    """Choose, project, draw into ``folder``."""
    rng = np.random.default_rng(0)
    radius, angle = rng.uniform(0.1, 1.0, 5000), rng.uniform(0.0, 2.0 * np.pi, 5000)
    cone = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 2.0 * radius])
    noisy = cone + 0.05 * radius[:, None] * rng.standard_normal(cone.shape)
    local = sb.selection.choose_local_bandwidth(noisy, rank=2).bandwidth
    inside = (radius > 0.15) & (radius < 0.9)
    asked, radius = cone[inside], radius[inside]

    def errors(bandwidth: float | sb.LocalBandwidth) -> np.ndarray:
        found = sb.ridge_project(sb.PrincipalSubbundle(noisy, 2, bandwidth, min_density=1e-9), asked).points
        return np.abs(2.0 * np.hypot(found[:, 0], found[:, 1]) - found[:, 2]) / np.sqrt(5.0) / radius

    middle = sb.selection.choose_bandwidth(noisy, rank=2).bandwidth
    constants = {middle * 2.0 ** (step / 4): errors(middle * 2.0 ** (step / 4)) for step in range(-5, 3)}
    best = min(constants, key=lambda width: np.mean(constants[width] ** 2))
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(radius, local(asked), ".", color=BLUE, ms=2, label="for every place")
    left.axhline(best, color=ORANGE, label="best single one")
    left.set(xlabel="radius", ylabel="bandwidth", ylim=(0.0, None))
    edges = np.linspace(0.15, 0.9, 16)
    place = np.digitize(radius, edges) - 1
    centres = 0.5 * (edges[1:] + edges[:-1])
    for width, color, label in ((best, ORANGE, "best single bandwidth"), (local, BLUE, "one for every place")):
        found = constants[best] if width is best else errors(width)
        level = [np.sqrt(np.mean(found[place == i] ** 2)) for i in range(len(centres))]
        right.plot(centres, level, color=color, marker="o", ms=4, label=label)
    right.set(xlabel="radius", ylabel="error of the ridge / radius", ylim=(0.0, None))
    right.set_title("noise / radius: 0.05", fontsize=10)
    for panel in (left, right):
        panel.legend(frameon=False)
        panel.spines[["top", "right"]].set_visible(False)
    folder.mkdir(parents=True, exist_ok=True)
    return plot.save_png(figure, folder / "local_bandwidth.png")


if __name__ == "__main__":
    print("wrote", main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
