"""What an atlas embedding says about itself, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import Status, StatusArray

# Residual of the alignment above which charts contradict each other, in chart radii.
_CONTRADICTION = 0.03
# Part of the points that may lie beyond all charts before it is worth a warning.
_FEW = 0.02

_REMEDY = {"rigid": "metric='stress' spreads the error, ", "stress": ""}


def fit_warnings(model: Any) -> list[str]:
    """Sentences about a fitted `AtlasEmbedding` that its user should read; none when all is well."""
    words = []
    if model.n_neighbors_ and model.charts == "auto":
        words.append(
            f"charts are flat and hold {model.n_neighbors_} neighbours each: {model.reason_}. Nothing is denoised. "
            "More data, or a bandwidth, gives charts that know the curvature."
        )
    if model.cut_ > 0.0:
        done = "shared out into regions" if model.closed == "regions" else "cut open"
        words.append(
            f"the shape closes up on itself (like a cylinder, sphere, torus or Möbius strip) and was {done}: "
            f"neighbours across the {'borders' if model.closed == 'regions' else 'cut'} are far apart in the "
            "coordinates. distance(X) does not mind; closed='raise' refuses instead."
        )
    if model.n_parts_ > 1 and not (model.cut_ and model.closed == "regions"):
        words.append(
            f"the data falls into {model.n_parts_} parts that no chart joins; each has coordinates of its own, laid "
            "side by side, and labels_ says which is which. A larger bandwidth may join them."
        )
    if model.alignment_residual_ > _CONTRADICTION:
        words.append(
            f"charts contradict each other by {model.alignment_residual_:.1%} of their radius: the shape is curved in "
            "a way that cannot be flattened, or the bandwidth joins sheets that lie close together. distortion_ and "
            f"disagreement_ say where; {_REMEDY[model.metric]}a smaller bandwidth parts sheets."
        )
    outside = outside_warning(model.status_, model.outside)
    if outside:
        words.append(outside)
    return words


def outside_warning(status: StatusArray, outside: str) -> str:
    """A sentence when too many points lie beyond all charts, else nothing."""
    beyond = int(np.count_nonzero(status != Status.OK))
    if beyond <= (_FEW if outside == "nearest" else 0.0) * status.size:
        return ""
    given = "the coordinates of the nearest chart, continued" if outside == "nearest" else "NaN"
    return (
        f"{beyond} of {status.size} points lie beyond all charts and get {given}. locate(X) says which. Where that "
        "happens to training points, the bandwidth is too large for the gap between sheets, or too small for the "
        "density of the data."
    )
