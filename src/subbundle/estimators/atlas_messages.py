"""Messages about a fitted atlas embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import Status, StatusArray
from subbundle.atlas.tuning import EVEN_CONTRADICTION
from subbundle.embedding.tuning import EVEN_RESIDUAL
from subbundle.estimators._input import FEW
from subbundle.estimators.tuning import UNPREDICTED


def has_shape(model: Any) -> bool:
    """Whether the rows of a fitted `AtlasEmbedding` lie around a shape of its dimension."""
    agree = model.metric_ != "linear" and model.alignment_residual_ <= EVEN_RESIDUAL
    return bool(agree or model.quality_.prediction_error <= UNPREDICTED)


def fit_message(model: Any) -> str:
    """Warnings about a fitted `AtlasEmbedding`; empty where there are none."""
    found = []
    quality, rank = model.quality_, model.n_components_
    if not has_shape(model) and model.metric_ == "linear":
        found.append(
            f"the rows show no {rank}-dimensional shape: their coordinates are principal components (PCA), which keep "
            "neighbourhoods and predict rows better than a curved layout. Interpret neighbourhoods with care, or try "
            "more n_components; UMAP is the better tool for clusters."
        )
    elif not has_shape(model):
        found.append(
            f"the rows show no {rank}-dimensional shape: coordinates leave {quality.prediction_error:.0%} of the "
            f"variance unpredicted (principal components {quality.pca_prediction_error:.0%}). Interpret the "
            "coordinates as a plot of neighbourhoods only, or try more n_components; PCA is the better tool for "
            "scales, UMAP for clusters."
        )
    elif model.cut_ > 0.0:
        found.append(
            "the shape is closed (like a circle, cylinder, sphere or Möbius strip) and was cut open: "
            "neighbours across the cut are far apart in the coordinates. distance(X) is unaffected; "
            "closed='raise' refuses instead."
        )
    elif 1 < rank < model.axes_.shape[0] and model.alignment_residual_ > EVEN_CONTRADICTION:
        how = "distances along the shape" if model.metric_ == "stress" else "rigid charts"
        why = "the shape cannot be flattened"
        if model._tie > 1.0:
            why = f"the rows scatter about a {rank}-dimensional shape, or have more dimensions (try more n_components)"
        found.append(
            f"{why}: the alignment residual of the charts is {model.alignment_residual_:.0%} of their size. "
            f"Coordinates fit {how}; distortion_ has the distortion at each row, and distance(X) is unaffected."
        )
    if model.n_connected_components_ > 1:
        found.append(
            f"the rows form {model.n_connected_components_} connected components, with gaps much larger than their "
            "spacing; each has its own coordinates, side by side, and labels_ numbers them."
        )
    beyond = outside_message(model.status_, model.outside)
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in (*found, beyond) if sentence)


def outside_message(status: StatusArray, outside: str) -> str:
    """A sentence when too many points lie beyond all charts, else nothing."""
    beyond = int(np.count_nonzero(status != Status.OK))
    if beyond <= (FEW if outside == "nearest" else 0.0) * status.size:
        return ""
    given = "the coordinates of the nearest chart, extrapolated" if outside == "nearest" else "NaN"
    return f"{beyond} of {status.size} points lie beyond all charts and get {given}; locate(X) reports which."
