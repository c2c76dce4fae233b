"""A fitted embedding on a page: its coordinates beside the data, walks along them, and its own lengths."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from subbundle._types import FloatArray, SubbundleWarning
from subbundle.viewer.gathering import Extras, Gathered, add_table, pictures
from subbundle.viewer.measuring import BundleMeasure, ModelMeasure, Paths, is_about
from subbundle.viewer.packing import INNER
from subbundle.viewer.quantities import statuses
from subbundle.viewer.rows import CURVE_POINTS, MOST_POINTS
from subbundle.viewer.scene import Layer, Quantity, Walk, in_space, point_size
from subbundle.viewer.spaces import letters

# Steps of a walk along a coordinate.
_WALK_STEPS = 61


def add_fitted(gathered: Gathered, name: str, model: Any, extras: Extras) -> None:
    """The coordinates of a fitted `PrincipalSubmanifold` or `AtlasEmbedding`, linked to the rows of the data.

    Without the data (``extras.rows``) the points of the shape at the coordinates stand for it.
    """
    from subbundle.viewer.models import add_coordinates_panel

    if not hasattr(model, "embedding_"):
        raise ValueError(f"{type(model).__name__} must be fitted before it is viewed; this one is not. Call fit first.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SubbundleWarning)
        rows, coordinates, quantities = _rows_of(model, extras)
        on_shape = model.inverse_transform(coordinates)
        known = np.isfinite(coordinates).all(axis=1) & np.isfinite(on_shape).all(axis=1)
        names = tuple(getattr(model, "feature_names_in_", ())) or letters(rows.shape[1])
        key = gathered.new_key()
        along = np.where(known[:, None], on_shape, rows)
        shown = add_table(gathered, name, rows, extras, quantities, names, along=along, rank=coordinates.shape[1])
        table = gathered.scene.tables[-1]
        space, panel = f"space{rows.shape[1]}", add_coordinates_panel(gathered, coordinates.shape[1])
        flat = _drawn(coordinates, quantities)[table.rows]
        colour, size = gathered.scene.next_colour(), point_size(len(shown))
        for where, positions in ((panel, np.nan_to_num(flat)), (space, gathered.spaces.place(shown))):
            title = f"{name} in coordinates" if where == panel else f"{name} in space"
            gathered.scene.layers.append(Layer(title, "points", where, positions, table=key, colour=colour, size=size))
        gathered.scene.walks += _walks(gathered, model, coordinates[known], extras, rows)
    gathered.scene.spreading = True
    gathered.measures[key] = _measure(gathered, model, rows, along, coordinates)


def add_fitted_metric(gathered: Gathered, name: str, model: Any, extras: Extras) -> None:
    """The rows of a fitted `GeodesicDistance`; the lengths are its own."""
    if not hasattr(model, "points_"):
        raise ValueError(f"{type(model).__name__} must be fitted before it is viewed; this one is not. Call fit first.")
    atlas = model.method == "atlas"
    in_middle = model.points_ if atlas else model.points_ @ model.axes_.T + model.mean_
    rows = in_middle if extras.rows is None else np.asarray(extras.rows, dtype=np.float64)
    key = gathered.new_key()
    shown = add_table(
        gathered, name, rows, extras, along=in_middle if len(in_middle) == len(rows) else None, rank=model.rank_
    )
    panel = f"space{rows.shape[1]}"
    gathered.scene.layers.append(
        Layer(name, "points", panel, gathered.spaces.place(shown), table=key, colour=gathered.scene.next_colour(),
              size=point_size(len(shown)))
    )  # fmt: skip
    bundle = model.atlas_.bundle_ if atlas else model.bundle_
    kept = model.points_ if not atlas else (model.points_ - model.mean_) @ model.axes_
    if len(kept) == len(rows):
        paths = BundleMeasure(
            bundle, kept, lambda path: {panel: gathered.spaces.place(path @ model.axes_.T + model.mean_)}
        )
        gathered.measures[key] = ModelMeasure(rows, model, [paths.paths])


def _rows_of(model: Any, extras: Extras) -> tuple[FloatArray, FloatArray, tuple[Quantity, ...]]:
    """The data, its coordinates, and what the model knows of every row."""
    if extras.rows is None:
        found = {"coordinates": model.embedding_, "residual": model.residuals_, "status": model.status_}
        found |= {
            key: getattr(model, f"{key}_")
            for key in ("distortion", "coverage", "disagreement")
            if hasattr(model, f"{key}_")
        }
        if hasattr(model, "labels_"):
            found["label"] = model.labels_
        rows = model.inverse_transform(model.embedding_)
    else:
        rows = np.asarray(extras.rows, dtype=np.float64)
        if len(rows) > MOST_POINTS or not np.isfinite(rows).all():
            raise ValueError(
                f"rows must be finite and at most {MOST_POINTS:,}; got {len(rows):,}, of which "
                f"{np.count_nonzero(~np.isfinite(rows).all(axis=1)):,} are not finite. Leave the others out first."
            )
        found = model.locate(rows).as_dict()
    coordinates = found["coordinates"]
    quantities = []
    if not hasattr(model, "atlas_"):
        quantities.append(Quantity("distance from the base point", np.linalg.norm(coordinates, axis=1)))
    shown = [key for key in ("distortion", "residual", "coverage", "disagreement", "novelty") if key in found]
    quantities += [Quantity(key, np.asarray(found[key], dtype=np.float64)) for key in shown]
    if "label" in found and len(np.unique(found["label"])) > 1:
        labels = np.asarray(found["label"])
        quantities.append(Quantity("component", labels, tuple(str(i) for i in range(int(labels.max()) + 1))))
    outcome = statuses(found["status"])
    quantities += [Quantity(f"coordinate {i + 1}", coordinates[:, i]) for i in range(coordinates.shape[1])]
    return rows, coordinates, (*quantities, *([outcome] if outcome is not None else []))


def _drawn(coordinates: FloatArray, quantities: tuple[Quantity, ...]) -> FloatArray:
    """Where coordinates [n, k] are drawn, [n, 3]; a single one is drawn over the distance off the shape."""
    if coordinates.shape[1] == 1:
        off = next(quantity.values for quantity in quantities if quantity.name == "residual")
        return in_space(np.column_stack([coordinates[:, 0], off]))
    return in_space(coordinates[:, :3])


def _walks(
    gathered: Gathered,
    model: Any,
    known: FloatArray,
    extras: Extras,
    rows: FloatArray,
) -> list[Walk]:
    """`inverse_transform` along each coordinate, the others at their median."""
    if not len(known):
        return []
    walks = []
    middle = np.median(known, axis=0)
    for i in range(known.shape[1]):
        ends = np.quantile(known[:, i], INNER)
        way = np.tile(middle, (_WALK_STEPS, 1))
        way[:, i] = np.linspace(ends[0], ends[1], _WALK_STEPS)
        points = model.inverse_transform(way)
        drawn = in_space(way[:, :3]) if way.shape[1] > 1 else in_space(np.column_stack([way[:, 0], np.zeros(len(way))]))
        images = None
        if extras.image_shape is not None:
            images = pictures(points, extras.image_shape, float(rows.min()), float(rows.max()))
        paths = {"coordinates": drawn, f"space{rows.shape[1]}": gathered.spaces.place(points)}
        walks.append(Walk(f"coordinate {i + 1}", way[:, i], paths, images))
    return walks


def _measure(
    gathered: Gathered, model: Any, rows: FloatArray, along: FloatArray, coordinates: FloatArray
) -> BundleMeasure | ModelMeasure:
    """Lengths along the shape between the rows, measured on the shape."""
    space = f"space{rows.shape[1]}"

    def shown(path: FloatArray) -> Paths:
        points = path @ model.axes_.T + model.mean_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SubbundleWarning)
            return in_panels(points, model.transform(points))

    def in_panels(points: FloatArray, way: FloatArray) -> Paths:
        paths = {space: gathered.spaces.place(points)}
        return paths | ({"coordinates": in_space(way[:, :3])} if way.shape[1] > 1 else {})

    def straight_line(i: int, j: int, length: float) -> Paths:
        """The straight line in the coordinates: the geodesic where the shape was laid out without distortion."""
        way = np.linspace(coordinates[i], coordinates[j], CURVE_POINTS)
        points = model.inverse_transform(way)
        return in_panels(points, way) if is_about(points, length) else {}

    paths = BundleMeasure(model.bundle_, (along - model.mean_) @ model.axes_, shown)
    if not hasattr(model, "atlas_"):
        return paths
    return ModelMeasure(rows, lambda x, y: model.paired_distance(x[None], y[None])[0], [straight_line, paths.paths])
