"""Subbundles, charts, atlases, submanifolds and fitted estimators as scenes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from subbundle._types import FloatArray, SubbundleWarning
from subbundle.bundles.ridge_project import ridge_project
from subbundle.bundles.surroundings import FLAT, surroundings_of
from subbundle.viewer.gathering import (
    Extras,
    Gathered,
    add_curves,
    add_mesh,
    add_points,
    add_report,
    add_table,
    grey_images,
)
from subbundle.viewer.measuring import BundleMeasure, ModelMeasure, Paths, is_about
from subbundle.viewer.packing import INNER
from subbundle.viewer.rows import CURVE_POINTS, ENOUGH, MOST_POINTS, letters, statuses
from subbundle.viewer.scene import CoordinatePath, Quantity, in_space

# Geodesics of a chart that are drawn, steps along each, and steps of a path along a coordinate.
_RAYS, _STEPS, _WALK_STEPS = 32, 60, 61


def add_bundle(gathered: Gathered, name: str, bundle: Any, extras: Extras) -> None:
    """The cloud of a subbundle, with estimates of its local models; geodesics are exact."""
    points = bundle.rows
    # On a manifold there is no search tree: each row looks at all others.
    pairs = len(points) ** (1 if surroundings_of(bundle) is FLAT else 2)
    quantities: list[Quantity | None] = []
    if not bundle.is_costly and len(points) <= ENOUGH and pairs <= MOST_POINTS:
        ridge = ridge_project(bundle, points)
        columns = {"curvature": ridge.curvature, "noise": ridge.noise, "distance to the ridge": ridge.shifts}
        columns["density"] = ridge.density
        quantities += [*(Quantity(key, values) for key, values in columns.items()), statuses(ridge.status)]
    present = tuple(quantity for quantity in quantities if quantity is not None)
    key = gathered.new_key()
    panel = gathered.draw_table(name, add_table(gathered, name, points, extras, present, rank=bundle.rank))
    gathered.measures[key] = BundleMeasure(bundle, points, lambda path: {panel: gathered.spaces.place(path)})


def add_chart(gathered: Gathered, name: str, chart: Any, extras: Extras) -> None:
    """The domain of a chart and its image, with its geodesics."""
    points = chart.sample()
    found = chart.locate(points, outside="nearest").coordinates
    _add_linked(gathered, name, points, found, extras, np.linalg.norm(found, axis=1))
    reach = chart.extents
    some = np.linspace(0, len(reach), min(_RAYS, len(reach)), endpoint=False).astype(int)
    steps = np.linspace(0.0, 1.0 - 1e-6, _STEPS)
    rays = chart.directions[some, None, :] * (reach[some, None] * steps)[:, :, None]
    curves = chart.inverse_transform(rays.reshape(-1, chart.rank)).reshape(len(some), _STEPS, -1)
    add_curves(gathered, f"{name}: geodesics", curves, "#767676")


def add_submanifold(gathered: Gathered, name: str, sub: Any, extras: Extras) -> None:
    """The points of Algorithm 1, their coordinates, and the geodesics they lie on."""
    valid = sub.valid
    _add_linked(gathered, name, sub.points[valid], sub.coordinates[valid], extras, sub.distances[valid])
    add_curves(gathered, f"{name}: geodesics", sub.geodesics.points, "#767676")


def add_atlas(gathered: Gathered, name: str, atlas: Any, extras: Extras) -> None:
    """The points of all charts by chart, the base points, and the blended surface where there is one."""
    points, owner = atlas.nodes
    add_points(gathered, f"{name}: charts", points, replace(extras, columns={"chart": owner, **extras.columns}))
    add_points(gathered, f"{name}: base points", atlas.base_points, Extras())
    gathered.scene.layers[-1] = replace(gathered.scene.layers[-1], size=9.0, colour="#d55e00")
    if atlas.charts[0].rank == 2:
        add_mesh(gathered, f"{name}: surface", atlas.mesh(), Extras())


def add_reconstructor(gathered: Gathered, name: str, model: Any, extras: Extras) -> None:
    """The mesh of a fitted `SurfaceReconstructor`, and its points if they are given."""
    check_fitted(model, "mesh_")
    add_mesh(gathered, name, model.mesh_, Extras())
    if extras.rows is not None:
        add_points(gathered, f"{name}: points", extras.rows, replace(extras, rows=None))


def _add_linked(
    gathered: Gathered, name: str, points: FloatArray, found: FloatArray, extras: Extras, distances: FloatArray
) -> None:
    """``points`` beside their coordinates ``found`` and ``distances`` from the base point, one table for both."""
    quantities = (Quantity("distance from the base point", distances),)
    shown = add_table(gathered, name, points, extras, quantities, along=points, rank=found.shape[1])
    rows = gathered.scene.tables[-1].rows
    gathered.draw_table(name, shown, in_space(found[rows][:, :3]), found.shape[1])


def add_fitted(gathered: Gathered, name: str, model: Any, extras: Extras) -> None:
    """The coordinates of a fitted `PrincipalSubmanifold` or `AtlasEmbedding`, linked to the rows of the data.

    Without the data (``extras.rows``) their projections to the shape are shown.
    """
    check_fitted(model, "embedding_")
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
        flat = _drawn(coordinates, quantities)[table.rows]
        gathered.draw_table(name, shown, np.nan_to_num(flat), coordinates.shape[1])
        gathered.scene.coordinate_paths += _coordinate_paths(gathered, model, coordinates[known], extras, rows)
    gathered.measures[key] = _measure(gathered, model, rows, along, coordinates)


def add_fitted_metric(gathered: Gathered, name: str, model: Any, extras: Extras) -> None:
    """The rows of a fitted `GeodesicDistance`; the lengths are its own."""
    check_fitted(model, "points_")
    in_middle = model.points_ @ model.axes_.T + model.mean_
    rows = in_middle if extras.rows is None else np.asarray(extras.rows, dtype=np.float64)
    key = gathered.new_key()
    same = len(in_middle) == len(rows)
    shown = add_table(gathered, name, rows, extras, along=in_middle if same else None, rank=model.rank_)
    panel = gathered.draw_table(name, shown)
    if same:
        bundle, place = (model.estimator_ if model.method == "atlas" else model).bundle_, gathered.spaces.place
        paths = BundleMeasure(bundle, model.points_, lambda path: {panel: place(path @ model.axes_.T + model.mean_)})
        gathered.measures[key] = ModelMeasure(rows, model, [paths.paths])


def check_fitted(model: Any, attribute: str) -> None:
    """Raise when ``model`` lacks the ``attribute`` that fitting sets."""
    if not hasattr(model, attribute):
        raise ValueError(f"{type(model).__name__} must be fitted before it is viewed; this one is not. Call fit first.")


def _rows_of(model: Any, extras: Extras) -> tuple[FloatArray, FloatArray, tuple[Quantity, ...]]:
    """The data, its coordinates, and the quantities of every row."""
    if extras.rows is None:
        found = model.training_quantities()
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
    lengths = Quantity("distance from the base point", np.linalg.norm(coordinates, axis=1))
    quantities = [lengths] if model.normal_coordinates else []
    shown = [key for key in ("distortion", "residual", "coverage", "disagreement", "novelty") if key in found]
    quantities += [Quantity(key, np.asarray(found[key], dtype=np.float64)) for key in shown]
    if "label" in found and len(np.unique(found["label"])) > 1:
        labels = np.asarray(found["label"])
        quantities.append(Quantity("component", labels, tuple(str(i) for i in range(int(labels.max()) + 1))))
    outcome = statuses(found["status"])
    quantities += [Quantity(f"coordinate {i + 1}", coordinates[:, i]) for i in range(coordinates.shape[1])]
    return rows, coordinates, (*quantities, *([outcome] if outcome is not None else []))


def _drawn(coordinates: FloatArray, quantities: tuple[Quantity, ...]) -> FloatArray:
    """Positions [n, 3] at which coordinates [n, k] are drawn; a single one is drawn over the residual."""
    if coordinates.shape[1] == 1:
        off = next(quantity.values for quantity in quantities if quantity.name == "residual")
        return in_space(np.column_stack([coordinates[:, 0], off]))
    return in_space(coordinates[:, :3])


def _coordinate_paths(
    gathered: Gathered, model: Any, known: FloatArray, extras: Extras, rows: FloatArray
) -> list[CoordinatePath]:
    """`inverse_transform` along each coordinate, the others at their median."""
    if not len(known):
        return []
    found = []
    middle = np.median(known, axis=0)
    for i in range(known.shape[1]):
        ends = np.quantile(known[:, i], INNER)
        way = np.tile(middle, (_WALK_STEPS, 1))
        way[:, i] = np.linspace(ends[0], ends[1], _WALK_STEPS)
        points = model.inverse_transform(way)
        drawn = in_space(way[:, :3]) if way.shape[1] > 1 else in_space(np.column_stack([way[:, 0], np.zeros(len(way))]))
        images = None
        if extras.image_shape is not None:
            images = grey_images(points, extras.image_shape, float(rows.min()), float(rows.max()))
        paths = {"coordinates": drawn, f"space{rows.shape[1]}": gathered.spaces.place(points)}
        found.append(CoordinatePath(f"coordinate {i + 1}", way[:, i], paths, images))
    return found


def _measure(
    gathered: Gathered, model: Any, rows: FloatArray, along: FloatArray, coordinates: FloatArray
) -> BundleMeasure | ModelMeasure:
    """The `Measure` of lengths along the shape between the rows."""
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
    if model.normal_coordinates:
        return paths
    return ModelMeasure(rows, lambda x, y: model.paired_distance(x[None], y[None])[0], [straight_line, paths.paths])


ADDERS: dict[str, Callable[[Gathered, str, Any, Extras], None]] = {
    "Atlas": add_atlas,
    "AtlasEmbedding": add_fitted,
    "Chart": add_chart,
    "Cloud": lambda gathered, name, cloud, extras: add_points(gathered, name, cloud.points, extras),
    "GeodesicDistance": add_fitted_metric,
    "Geodesics": lambda gathered, name, fan, extras: add_curves(gathered, name, fan.points),
    "Mesh": add_mesh,
    "PrincipalSubbundle": add_bundle,
    "PrincipalSubmanifold": add_fitted,
    "Report": add_report,
    "RiemannianSubbundle": add_bundle,
    "Submanifold": add_submanifold,
    "SurfaceReconstructor": add_reconstructor,
}
