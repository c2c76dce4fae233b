"""What a fitted `AtlasEmbedding` knows, as plain values and arrays, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from subbundle.embedding.developed_atlas import DevelopedAtlas
from subbundle.estimators._state import State, check_components
from subbundle.selection.components import Components

_VALUES = ("bandwidth_", "n_neighbors_", "reason_", "alignment_residual_", "cut_", "n_parts_", "noise_")
# Arrays of the training points, and the base point where there is one.
_OWN = (
    "embedding_", "residuals_", "coverage_", "disagreement_", "distortion_", "labels_", "status_", "base_point_"
)  # fmt: skip
_ATLAS = "atlas."


def state_of_atlas(model: Any) -> State:
    """Values that JSON can hold, and arrays."""
    values: dict[str, Any] = {name: getattr(model, name) for name in _VALUES}
    if np.isnan(model.bandwidth_):
        values["bandwidth_"] = None
    arrays = {name: getattr(model, name) for name in _OWN if hasattr(model, name)}
    arrays |= {"mean": model.mean_, "axes": model.axes_, "cloud": model._cloud, "joined": model._joined}
    return values, arrays | {_ATLAS + name: value for name, value in model.atlas_.to_arrays().items()}


def restore_atlas(model: Any, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Give ``model`` what `state_of_atlas` took from another."""
    for name in _VALUES:
        setattr(model, name, values[name])
    model.bandwidth_ = float("nan") if values["bandwidth_"] is None else float(values["bandwidth_"])
    for name in _OWN:
        if name in arrays:
            setattr(model, name, arrays[name])
    model.mean_, model.axes_ = arrays["mean"], arrays["axes"]
    joined, count = arrays["joined"], len(arrays["cloud"])
    if joined.dtype != np.int64 or joined.ndim != 2 or (joined.size and not 0 <= joined.min() <= joined.max() < count):
        raise ValueError(f"joined must hold pairs of the {count} training points")
    check_components(arrays["mean"], arrays["axes"])
    if not np.isfinite(arrays["cloud"]).all():
        raise ValueError("cloud must be finite")
    model._components = Components(model.mean_, model.axes_, float(values["noise_"]))
    model._cloud, model._joined, model._bundle = arrays["cloud"], arrays["joined"], None
    atlas = {name[len(_ATLAS) :]: value for name, value in arrays.items() if name.startswith(_ATLAS)}
    model.atlas_ = DevelopedAtlas.from_arrays(atlas, n_jobs=model.n_jobs)
    model.n_components_ = model.atlas_.rank
