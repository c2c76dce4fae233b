"""
Two electrodes on a forearm
===========================

Electrodes on the skin record muscle activity; gestures are distinguished by the covariance of the signals rather than
by the signals themselves. Here (geomstats ships the recording) one person makes five signs with the hand, for 25
seconds each, and does so six times. Of two neighbouring electrodes, every window of 500 samples (2 s) gives a 2 × 2
covariance matrix: 330 points of the manifold of symmetric positive definite matrices with its affine-invariant metric.

They lie along an arch. A geodesic of the manifold, which is what tangent PCA fits, cuts through it; the principal curve
follows it. And the position along the curve shows what happened: in the first four repeats the first electrode is the
louder one, in the last two the second, as if the band had been turned on the arm. Each group is one leg of the arch,
with rest at its foot and the working muscle towards the top.

Run it with ``python examples/plot_muscle_covariances.py [folder]``; it needs
``pip install "subbundle[geomstats,plot]"``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from subbundle import plot
from subbundle.comparisons import (
    Curve,
    distances_to_curve,
    principal_curve,
    principal_flow,
    principal_geodesic,
    tangent_pca,
)
from subbundle.spaces import SPD

SPACE = SPD(2)
ELECTRODES, WINDOW, BANDWIDTH = ["c3", "c4"], 500, 0.4
COLOURS = {"rest": "#009e73", "rock": "#d55e00", "paper": "#e6b400", "scissors": "#8b5fa8", "ok": "#0072b2"}


def load_windows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariance matrices [n, 2, 2], the signs made [n], and the number of the repeat [n], 1 to 6."""
    from geomstats.datasets.utils import load_emg

    table = load_emg()
    table = table[table["exp"] == "mg_s1"]
    sign = table["label"].to_numpy()
    signal = table[ELECTRODES].to_numpy(dtype=float)
    starts = np.flatnonzero(np.r_[True, sign[1:] != sign[:-1]])
    matrices, signs, repeats = [], [], []
    for number, (start, stop) in enumerate(zip(starts, np.r_[starts[1:], len(sign)], strict=True)):
        # The first and the last window of a sign still hold some of its neighbours.
        for first in range(start + WINDOW, stop - WINDOW, WINDOW):
            matrices.append(np.cov(signal[first : first + WINDOW].T))
            signs.append(sign[start])
            repeats.append(1 + number // 5)
    return np.array(matrices), np.array(signs), np.array(repeats)


def main(folder: Path) -> None:
    """Fit, print what was found, draw."""
    matrices, signs, repeats = load_windows()
    seen = np.arange(len(matrices)) % 2 == 0
    fits = {
        "principal curve": principal_curve(matrices[seen], BANDWIDTH, space=SPACE, n_points=801, length=8.0),
        "principal flow": principal_flow(matrices[seen], BANDWIDTH, space=SPACE, n_points=801, length=8.0),
        "principal geodesic": principal_geodesic(matrices[seen], space=SPACE, n_points=801),
    }
    print(f"{len(matrices)} windows; curves fitted to every second one, distances of the others to them (RMS):")
    for name, curve in fits.items():
        off = distances_to_curve(matrices[~seen], curve.points, space=SPACE)
        print(f"  {name:<19} {np.sqrt(np.mean(off**2)):.2f}")
    curve = fits["principal curve"]
    position = positions(matrices, curve)
    if np.median(position[repeats <= 4]) > np.median(position[repeats > 4]):
        position, curve = -position, Curve(curve.points[::-1], -curve.positions[::-1], curve.base_point, curve.status)
    border = 0.5 * (position[repeats <= 4].max() + position[repeats > 4].min())
    wrong = np.count_nonzero((position > border) != (repeats > 4))
    print(f"position along the curve: {wrong} of {len(matrices)} windows on the wrong side between repeats 1-4 and 5-6")
    print("repeat  loudness at rest (standard deviations)  median position of rest, and of the four signs")
    for repeat in range(1, 7):
        inside = repeats == repeat
        loud = np.sqrt(np.median(matrices[inside & (signs == "rest")][:, [0, 1], [0, 1]], axis=0))
        medians = {name: np.median(position[inside & (signs == name)]) for name in COLOURS}
        rest = medians.pop("rest")
        row = ", ".join(f"{value:+.1f}" for value in sorted(medians.values()))
        print(f"{repeat}       {loud[0]:.1f} and {loud[1]:.1f}                             {rest:+.1f};  {row}")
    path = plot.save_png(draw(matrices, signs, curve, fits["principal geodesic"]), folder / "muscle_covariances.png")
    print(f"wrote {path}")


def positions(matrices: np.ndarray, curve: Curve) -> np.ndarray:
    """Arc length along the curve of the point nearest to each matrix."""
    nearest = [int(np.argmin(SPACE.dist(curve.points, matrix))) for matrix in matrices]
    return curve.positions[nearest]


def draw(matrices: np.ndarray, signs: np.ndarray, curve: Curve, geodesic: Curve) -> object:
    """The windows in the two leading directions of tangent PCA, and the matrices along the curve as ellipses."""
    figure, (top, bottom) = plot.new_figure(2)
    figure.set_size_inches(8.6, 5.0)
    for panel, box in ((top, (0.08, 0.34, 0.90, 0.64)), (bottom, (0.08, 0.0, 0.90, 0.24))):
        panel.set_position(box)
    found = tangent_pca(matrices, space=SPACE, n_components=2)

    def scores(points: np.ndarray) -> np.ndarray:
        logs = SPACE.log(points, found.base_point)
        return np.stack([SPACE.inner_product(logs, e, found.base_point) for e in found.components], axis=1)

    top.set_axis_on()
    for name, colour in COLOURS.items():
        top.scatter(*scores(matrices[signs == name]).T, s=13, color=colour, label=name, zorder=2)
    top.plot(*scores(geodesic.points).T, color="#888888", linewidth=1.6, label="principal geodesic")
    top.plot(*scores(curve.points).T, color="black", linewidth=2.2, label="principal curve", zorder=3)
    marks = np.linspace(0, len(curve.points) - 1, 9).astype(int)
    top.scatter(*scores(curve.points[marks]).T, s=34, facecolors="white", edgecolors="black", zorder=4)
    top.set_aspect("equal")
    top.set_xlabel("first direction of tangent PCA")
    top.set_ylabel("second direction")
    top.legend(fontsize=8, ncols=2, frameon=False)
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    for place, mark in enumerate(marks):
        root = np.linalg.cholesky(curve.points[mark])
        ellipse = root @ np.stack([np.cos(angle), np.sin(angle)])
        bottom.fill(
            *(ellipse + np.array([[14.0 * place], [0.0]])), facecolor="#dfe5ee", edgecolor="black", linewidth=1.2
        )
        bottom.text(14.0 * place, -8.3, f"{curve.positions[mark]:+.1f}", ha="center", fontsize=8)
    bottom.text(
        56.0, 8.2, "covariance of the two electrodes at the white dots, from left to right", ha="center", fontsize=9
    )
    bottom.set_xlim(-8.0, 120.0)
    bottom.set_ylim(-10.0, 10.0)
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
