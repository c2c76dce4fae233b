"""A figure of the automatic bandwidth compared with other rules: every cloud a dot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from subbundle import plot

# Told apart by colour-blind readers too.
COLOURS = {"ours": "#0072b2", "largest gap": "#d55e00", "kernel sum": "#009e73", "normal reference": "#8d6a9f"}
# Errors that are infinite, or further off than this, are drawn here.
MOST = 30.0


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Error over the oracle's for every cloud, rule and purpose, on a logarithmic scale, medians as bars."""
    purposes = list(dict.fromkeys(row["purpose"] for row in rows))
    figure, panels = plot.new_figure(len(purposes), size=3.6)
    rng = np.random.default_rng(0)
    for at, (panel, purpose) in enumerate(zip(panels, purposes, strict=True)):
        panel.set_axis_on()
        panel.set_aspect("auto")
        panel.set_position((0.07 + 0.315 * at, 0.14, 0.28, 0.74))
        for place, (rule, colour) in enumerate(COLOURS.items()):
            values = np.array([row["ratios"][rule] for row in rows if row["purpose"] == purpose])
            shown = np.minimum(values, MOST)
            panel.scatter(place + rng.uniform(-0.28, 0.28, len(shown)), shown, s=9, color=colour, alpha=0.75)
            panel.plot([place - 0.36, place + 0.36], [np.median(shown)] * 2, color="black", linewidth=1.4)
        panel.axhline(1.15, color="#666666", linewidth=0.8, linestyle="--")
        panel.axhline(1.5, color="#666666", linewidth=0.8, linestyle=":")
        panel.set_yscale("log")
        panel.set_ylim(0.97, 1.1 * MOST)
        panel.set_yticks([1, 1.15, 1.5, 2, 5, 10, 30], ["1", "1.15", "1.5", "2", "5", "10", "≥ 30"], fontsize=8)
        panel.set_yticks([], minor=True)
        panel.set_xticks(range(len(COLOURS)), [rule.replace(" ", "\n") for rule in COLOURS], fontsize=8)
        panel.set_title(purpose, fontsize=10)
    panels[0].set_ylabel("error over that of the best bandwidth", fontsize=9)
    plot.save_png(figure, path)
