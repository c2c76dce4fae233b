"""`AtlasEmbedding` as functions: the atlas of a table laid out in R^k, rows located in it, and its state as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subbundle._numbers import MOST_ROUNDS
from subbundle._parallel import one_library_thread
from subbundle._types import FloatArray, Status, evenly
from subbundle._validation import as_choice, as_integer, as_positive
from subbundle.atlas.base import nearest_frame
from subbundle.atlas.tuning import PATH_SETTLED
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.charts.chart import Located
from subbundle.cloud import Cloud
from subbundle.embedding.components import above_flat_tail, principal_motion
from subbundle.embedding.laid_out_atlas import ARRAYS, LaidOutAtlas
from subbundle.embedding.noise import held_out_residuals
from subbundle.embedding.quality import Quality, quality
from subbundle.embedding.table import TableLayout, lay_out_table
from subbundle.embedding.tuning import DIFFERENCE_RADII
from subbundle.estimators._input import DistanceCoordinates, filled_from
from subbundle.estimators.state import State, check_components
from subbundle.selection.components import Components, chosen_components
from subbundle.selection.ladder import clipped
from subbundle.selection.tuning import PLACES

# Least scale of residuals, as a fraction of the radius of a chart.
_SHARPEST = 1e-3


@dataclass(frozen=True, slots=True)
class Learned:
    """The layout of a table, the principal components it was computed in, and the typical distance of a row from the
    shape learned without it."""

    components: Components
    layout: TableLayout
    residual_scale: float


# With several threads BLAS spends most of its time waiting for them where matrices are small, several times that of the
# work on a busy machine; and with one the coordinates are the same to the bit whatever the number of processors.
@one_library_thread()
def learn(
    points: FloatArray, weights: FloatArray, rank: int, *, bandwidth: Any, n_neighbors: Any, metric: str, closed: str,
    reduce_dim: Any, n_jobs: int | None,
) -> Learned:  # fmt: skip
    """Learn an atlas of dimension ``rank`` from ``points`` [N, d] with ``weights`` [N]; see `AtlasEmbedding`."""
    width = _bandwidth(bandwidth)
    size = None
    if isinstance(n_neighbors, str):
        as_choice(n_neighbors, "n_neighbors", ("auto",))
    else:
        size = as_integer(n_neighbors, "n_neighbors", low=rank + 2, why="or 'auto'")
    rows, weights = _distinct(points, weights)
    if len(rows) < 2:
        raise ValueError(f"X must have rows that differ; all {len(points)} are equal. Pass a table with distinct rows.")
    # Rows in the order of a search tree, so that results do not depend on the input order.
    order = Cloud(rows).order
    points, weights = rows[order], weights[order]
    components = chosen_components(points, rank, reduce_dim, above_flat_tail)
    inside = components.enter(points)
    # Again along the principal axes, so that results do not depend on a rotation of the table.
    turn, centre = principal_motion(inside)
    order = Cloud((inside - centre) @ turn).order
    points, weights, inside = points[order], weights[order], inside[order]
    kind = "auto" if metric == "precomputed" else metric
    layout = lay_out_table(inside, weights, rank, metric=kind, n_neighbors=size, bandwidth=width, n_jobs=n_jobs)
    if layout.cut > 0.0 and closed == "raise":
        raise ValueError(
            "the data must lie on a shape that can be laid out without a cut; this one is closed, as a circle, "
            "cylinder, sphere or Möbius strip is. Write closed='cut' to cut it open."
        )
    held_out = held_out_residuals(inside, weights, rank, layout.denoising)
    outside = points[evenly(len(points), PLACES)] - components.leave(inside[evenly(len(points), PLACES)])
    squares = clipped(held_out**2 + np.einsum("nd,nd->n", outside, outside))
    return Learned(components, layout, float(np.sqrt(squares.mean())))


def _distinct(points: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rows of ``points`` [N, d] without repetitions, with the sums of their weights."""
    rows, which = np.unique(points, axis=0, return_inverse=True)
    return rows, np.asarray(np.bincount(which.ravel(), weights=weights, minlength=len(rows)), np.float64)


def _bandwidth(bandwidth: Any) -> float | str | None:
    if bandwidth is None:
        return None
    if isinstance(bandwidth, str):
        as_choice(bandwidth, "bandwidth", ("auto",))
        return bandwidth
    return as_positive(bandwidth, "bandwidth", hint="Or pass 'auto', or None to take rows as they are.")


def centred_at(atlas: LaidOutAtlas, base: FloatArray, bundle: PrincipalSubbundle) -> tuple[LaidOutAtlas, FloatArray]:
    """``atlas`` with coordinates zero at the projection of ``base`` [D] and axes along the frame of ``bundle`` there;
    and that projection."""
    point = atlas.locate(base[None]).points
    frame = bundle.frame(point).vectors[0]
    if not np.isfinite(frame).all():
        raise ValueError("base_point must lie near the data; there is no tangent frame at the given one. Pass None.")
    width = DIFFERENCE_RADII * float(np.median(atlas.radii))
    ahead, behind = (atlas.locate(point + sign * width * frame.T).coordinates for sign in (1.0, -1.0))
    turn = nearest_frame((ahead - behind) / (2.0 * width))
    # The projection of a projection differs from it a little where charts disagree.
    return atlas.moved(turn.T, atlas.locate(point).coordinates[0]), point[0]


def place_rows(rows: FloatArray, components: Components, atlas: LaidOutAtlas, residual_scale: float) -> Located:
    """Locate ``rows`` [n, d] without missing values; novelty is in units of ``residual_scale``."""
    located = atlas.locate(components.enter(rows))
    points = components.leave(located.points)
    offsets = rows - points
    residuals = np.sqrt(np.einsum("nd,nd->n", offsets, offsets))
    scale = max(residual_scale, _SHARPEST * float(np.median(atlas.radii)))
    return replace(
        located, points=points, residuals=residuals, novelty=np.hypot(residuals, np.asarray(located.beyond)) / scale
    )


def as_shown(located: Located, outside: str) -> Located:
    """``located``; rows beyond all charts have NaN for coordinates if ``outside`` is ``"nan"``."""
    if outside != "nan":
        return located
    return replace(located, coordinates=np.where((located.status == Status.OK)[:, None], located.coordinates, np.nan))


def completed(rows: FloatArray, components: Components, atlas: LaidOutAtlas) -> FloatArray:
    """``rows`` [n, d] with missing entries imputed from their projection to the shape, iterated to the tolerance of
    paths."""
    known = np.isfinite(rows)
    if known.all():
        return rows
    filled = filled_from(rows, components.leave(atlas.bases))
    moving, tolerance = np.flatnonzero(~known.all(axis=1)), PATH_SETTLED * float(np.median(atlas.radii))
    for _ in range(MOST_ROUNDS):
        projections = components.leave(atlas.locate(components.enter(filled[moving])).points)
        found = np.where(known[moving], rows[moving], projections)
        moves = np.linalg.norm(found - filled[moving], axis=1)
        filled[moving] = found
        moving = moving[moves > tolerance]
        if moving.size == 0:
            break
    return filled


_VALUES = (
    "n_neighbors_", "n_denoising_neighbors_", "bandwidth_", "alignment_residual_", "cut_", "metric_",
    "n_connected_components_", "noise_",
)  # fmt: skip
# Arrays of the training points, and the base point where there is one.
_OWN = ("embedding_", "residuals_", "coverage_", "disagreement_", "distortion_", "labels_", "status_", "base_point_")
_ATLAS, _DISTANCES = "atlas.", "distances."
# Names in files of the arrays of the atlas; lengths have no prefix.
_NAMES = {name: name if name.startswith("length") else _ATLAS + name for name in ARRAYS}


def set_learned(model: Any, learned: Learned) -> None:
    """Set the attributes that `transform` and its inverse read."""
    layout, components = learned.layout, learned.components
    model._components = components
    model.mean_, model.axes_, model.noise_ = components.mean, components.axes, components.noise
    model.atlas_, model.n_components_, model._bundle = layout.atlas, layout.atlas.rank, None
    model._tie, model._residual_scale = layout.path_weight, learned.residual_scale
    model.n_neighbors_, model.n_denoising_neighbors_ = layout.n_neighbors, layout.denoising.n_neighbors
    model.bandwidth_ = layout.denoising.bandwidth
    model.alignment_residual_, model.cut_ = layout.residual, layout.cut
    model.metric_ = "rigid" if layout.distance_weight < 1.0 else "stress"
    if layout.denoising.is_linear:
        model.metric_ = "linear"
    model.n_connected_components_ = int(layout.atlas.atlas.labels.max()) + 1


@one_library_thread()
def set_training(model: Any, rows: FloatArray) -> None:
    """Set the coordinates of the training rows, their diagnostics and the quality of the embedding."""
    rows = completed(rows, model._components, model.atlas_)
    placed = model._placed(rows)
    model.embedding_ = as_shown(placed, model.outside).coordinates
    model.status_, model.residuals_ = placed.status, placed.residuals
    model.coverage_, model.disagreement_ = placed.coverage, placed.disagreement
    model.distortion_, model.labels_ = placed.distortion, placed.labels
    # Evaluated in an order that does not depend on the input order, each distinct row once: repeated rows would predict
    # one another.
    order = np.lexsort(placed.coordinates.T)
    order = order[np.append(True, (rows[order[1:]] != rows[order[:-1]]).any(axis=1))]
    inside = model._components.enter(rows[order])
    stress = model._along().stress(inside, placed.coordinates[order])
    model.quality_ = quality(inside, placed.coordinates[order], stress)


def state_of_atlas(model: Any) -> State:
    """Values that JSON can hold, and arrays."""
    values: dict[str, Any] = {name: getattr(model, name) for name in _VALUES}
    values |= {"layout": 2, "tie": min(model._tie, 1e300), "contradiction": model.atlas_.atlas.contradiction}
    values["residual_scale"], values["quality"] = model._residual_scale, model.quality_.as_dict()
    arrays = {name: getattr(model, name) for name in _OWN if hasattr(model, name)}
    arrays |= {"mean": model.mean_, "axes": model.axes_}
    if model._distances is not None:
        own = model._distances
        arrays |= {_DISTANCES + name: getattr(own, name) for name in ("points", "means", "axes")}
    return values, arrays | {_NAMES[name]: value for name, value in model.atlas_.to_arrays().items()}


def restore_atlas(model: Any, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Set the attributes of ``model`` to the output of `state_of_atlas`."""
    if values.get("layout") != 2:
        raise ValueError(
            "its embedding was fitted by an earlier version, whose charts are no longer read; fit it again"
        )
    for name in _VALUES:
        setattr(model, name, values[name])
    for name in set(_OWN).intersection(arrays):
        setattr(model, name, arrays[name])
    model.mean_, model.axes_ = arrays["mean"], arrays["axes"]
    check_components(model.mean_, model.axes_)
    model._components = Components(model.mean_, model.axes_, float(values["noise_"]))
    atlas = {name: arrays[_NAMES[name]] for name in ARRAYS}
    model.atlas_ = LaidOutAtlas.from_arrays(atlas, float(values["contradiction"]), n_jobs=model.n_jobs)
    model._tie, model._bundle = float(values["tie"]), None
    # Earlier files have training residuals only.
    model._residual_scale = float(values.get("residual_scale", np.sqrt(np.mean(model.residuals_**2))))
    model._distances = None
    if _DISTANCES + "points" in arrays:
        model._distances = DistanceCoordinates(*(arrays[_DISTANCES + name] for name in ("points", "means", "axes")))
    model.quality_ = Quality.from_dict(values["quality"])
    model.n_components_ = model.atlas_.rank
