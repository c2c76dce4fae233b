"""What a fitted `AtlasEmbedding` knows, set once; as plain values and arrays, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle.embedding.laid_out_atlas import ARRAYS, LaidOutAtlas
from subbundle.embedding.quality import Quality, quality
from subbundle.estimators._atlas_fit import Learned, as_shown, completed, place_rows
from subbundle.estimators._atlas_input import DistanceCoordinates
from subbundle.estimators.state import State, check_components
from subbundle.selection.components import Components

_VALUES = (
    "n_neighbors_", "n_denoising_neighbors_", "bandwidth_", "alignment_residual_", "cut_", "metric_",
    "n_connected_components_", "noise_",
)  # fmt: skip
# Arrays of the training points, and the base point where there is one.
_OWN = ("embedding_", "residuals_", "coverage_", "disagreement_", "distortion_", "labels_", "status_", "base_point_")
_ATLAS, _DISTANCES = "atlas.", "distances."
# Names in files of the arrays of the atlas: lengths stand beside it.
_NAMES = {name: name if name.startswith("length") else _ATLAS + name for name in ARRAYS}


def remember(model: Any, learned: Learned) -> None:
    """Everything that `transform` and its inverse need."""
    layout, components = learned.layout, learned.components
    model._components = components
    model.mean_, model.axes_, model.noise_ = components.mean, components.axes, components.noise
    model.atlas_, model.n_components_, model._bundle = layout.atlas, layout.atlas.rank, None
    model._tie = layout.path_tie
    model.n_neighbors_, model.n_denoising_neighbors_ = layout.n_neighbors, layout.denoising.n_neighbors
    model.bandwidth_ = layout.denoising.bandwidth
    model.alignment_residual_, model.cut_ = layout.residual, layout.cut
    model.metric_ = "rigid" if layout.tie < 1.0 else "stress"
    model.n_connected_components_ = int(layout.atlas.atlas.labels.max()) + 1


def describe(model: Any, rows: FloatArray) -> None:
    """Coordinates of the training rows and how far to trust them."""
    rows = completed(rows, model._components, model.atlas_)
    placed = place_rows(rows, model._components, model.atlas_)
    model.embedding_ = as_shown(placed, model.outside).coordinates
    model.status_, model.residuals_ = placed.status, placed.residuals
    model.coverage_, model.disagreement_ = placed.coverage, placed.disagreement
    model.distortion_, model.labels_ = placed.distortion, placed.labels
    # Judged in an order that does not depend on how the rows came.
    order = np.lexsort(placed.coordinates.T)
    inside = model._components.enter(rows[order])
    stress = model._along().stress(inside, placed.coordinates[order])
    model.quality_ = quality(inside, placed.coordinates[order], stress)


def state_of_atlas(model: Any) -> State:
    """Values that JSON can hold, and arrays."""
    values: dict[str, Any] = {name: getattr(model, name) for name in _VALUES}
    values |= {"layout": 2, "tie": min(model._tie, 1e300), "contradiction": model.atlas_.atlas.contradiction}
    values["quality"] = model.quality_.as_dict()
    arrays = {name: getattr(model, name) for name in _OWN if hasattr(model, name)}
    arrays |= {"mean": model.mean_, "axes": model.axes_}
    if model._distances is not None:
        own = model._distances
        arrays |= {_DISTANCES + name: getattr(own, name) for name in ("points", "means", "axes")}
    return values, arrays | {_NAMES[name]: value for name, value in model.atlas_.to_arrays().items()}


def restore_atlas(model: Any, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Give ``model`` what `state_of_atlas` took from another."""
    if values.get("layout") != 2:
        raise ValueError(
            "its embedding was fitted by an earlier version, whose charts are no longer read; fit it again"
        )
    for name in _VALUES:
        setattr(model, name, values[name])
    for name in _OWN:
        if name in arrays:
            setattr(model, name, arrays[name])
    model.mean_, model.axes_ = arrays["mean"], arrays["axes"]
    check_components(model.mean_, model.axes_)
    model._components = Components(model.mean_, model.axes_, float(values["noise_"]))
    atlas = {name: arrays[_NAMES[name]] for name in ARRAYS}
    model.atlas_ = LaidOutAtlas.from_arrays(atlas, float(values["contradiction"]), n_jobs=model.n_jobs)
    model._tie, model._bundle = float(values["tie"]), None
    model._distances = None
    if _DISTANCES + "points" in arrays:
        model._distances = DistanceCoordinates(*(arrays[_DISTANCES + name] for name in ("points", "means", "axes")))
    model.quality_ = Quality.from_dict(values["quality"])
    model.n_components_ = model.atlas_.rank
