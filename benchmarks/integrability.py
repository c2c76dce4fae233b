"""Classification of clouds along horizontal curves of the Heisenberg group against surfaces, sheets and fragments."""

from __future__ import annotations

import numpy as np

from benchmarks._horizontal import curves, negatives, positives
from benchmarks._report import Bar, Result, Table
from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.diagnostics.integrability import Twist, cloud_twist
from subbundle.diagnostics.tuning import NOT_A_SURFACE
from subbundle.selection.ladder import mean_gaps


def run() -> Result:
    rows: list[list[object]] = []
    found: dict[str, list[float]] = {"no": [], "yes": []}
    for seeds, first in (("set on", 0), ("other", 100)):
        for surface, clouds in (("no", positives(first)), ("yes", negatives(first))):
            for name, points, rank in clouds:
                measured = _measure(points, rank)
                wrong = (measured.angle > NOT_A_SURFACE) == (surface == "yes")
                words = "**wrong**" if wrong else ""
                rows.append([name, seeds, surface, measured.angle, measured.squared, measured.error, words])
                if seeds == "other":
                    found[surface].append(measured.angle)
    fan = _measure(curves(np.zeros((1, 3)), 300, 25, 1.2, 2.0, 6.0, 0), 2)
    rows.append(
        ["a bare fan of turning curves from one place", "", "shows no planes", fan.angle, fan.squared, fan.error, ""]
    )
    right = sum(v > NOT_A_SURFACE for v in found["no"]) + sum(v <= NOT_A_SURFACE for v in found["yes"])
    return Result(
        title="Is there a surface at all?",
        method=(
            "The angle by which the subspaces fail to close up, at the scale where they are most distinct, with twice "
            f"its standard error taken off; above {NOT_A_SURFACE:g} there is no surface. Clouds along horizontal "
            "curves of the Heisenberg group, from random places, lattices and one place; surfaces with and without "
            "noise, sparse, parallel, in fragments at random heights. A bare fan of curves from one place never shows "
            "a plane and is not counted. Threshold and scales were set on the first 50 clouds; the figures are those "
            "of the same shapes with other seeds."
        ),
        tables=[Table(["cloud", "seeds", "a surface?", "angle", "J²", "standard error", ""], rows)],
        bars=[
            Bar("least of the clouds along horizontal curves", min(found["no"]), NOT_A_SURFACE, at_least=True),
            Bar("largest of the surfaces", max(found["yes"]), NOT_A_SURFACE),
            Bar("least of the former over largest of the latter", min(found["no"]) / max(*found["yes"], 1e-3), 2.0,
                at_least=True),
            Bar("clouds on the right side", right / (len(found["no"]) + len(found["yes"])), 0.95, at_least=True),
        ],
    )  # fmt: skip


def _measure(points: FloatArray, rank: int) -> Twist:
    cloud = Cloud(points)
    return cloud_twist(cloud, rank, *mean_gaps(cloud, rank, None))
