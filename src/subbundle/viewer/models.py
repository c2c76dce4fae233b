"""Learned things as scenes: subbundles, charts, atlases, submanifolds and fitted estimators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle.viewer.gathering import (
    Extras,
    Gathered,
    add_curves,
    add_mesh,
    add_points,
    add_report,
    add_table,
)
from subbundle.viewer.measuring import BundleMeasure
from subbundle.viewer.quantities import statuses
from subbundle.viewer.rows import ENOUGH
from subbundle.viewer.scene import Layer, Panel, Quantity, in_space, point_size

# Geodesics of a chart that are drawn, and steps along each.
_RAYS, _STEPS = 32, 60


def add_bundle(gathered: Gathered, name: str, bundle: Any, extras: Extras) -> None:
    """The cloud of a subbundle, with what its local models say; geodesics are exact."""
    from subbundle.bundles.ridge_project import ridge_project

    points = (
        bundle.cloud.points if hasattr(bundle, "cloud") else bundle.observations.reshape(len(bundle.observations), -1)
    )
    quantities: list[Quantity | None] = []
    if hasattr(bundle, "cloud") and len(points) <= ENOUGH:
        ridge = ridge_project(bundle, points)
        columns = {"curvature": ridge.curvature, "noise": ridge.noise, "distance to the ridge": ridge.shifts}
        quantities += [Quantity(key, values) for key, values in columns.items()]
        quantities += [Quantity("density", ridge.density), statuses(ridge.status)]
    key = gathered.new_key()
    shown = add_table(gathered, name, points, extras, _present(quantities), rank=bundle.rank)
    panel = f"space{points.shape[1]}"
    gathered.scene.layers.append(
        Layer(name, "points", panel, gathered.spaces.place(shown), table=key, colour=gathered.scene.next_colour(),
              size=point_size(len(shown)))
    )  # fmt: skip
    gathered.measures[key] = BundleMeasure(bundle, points, lambda path: {panel: gathered.spaces.place(path)})


def add_chart(gathered: Gathered, name: str, chart: Any, extras: Extras) -> None:
    """The domain of a chart beside the piece of the shape it describes, with its geodesics."""
    points = chart.sample()
    found = chart.locate(points, outside="nearest").coordinates
    _add_linked(gathered, name, points, found, extras, (Quantity("distance from the base point", _norms(found)),))
    reach = chart.extents
    some = np.linspace(0, len(reach), min(_RAYS, len(reach)), endpoint=False).astype(int)
    steps = np.linspace(0.0, 1.0 - 1e-6, _STEPS)
    rays = chart.directions[some, None, :] * (reach[some, None] * steps)[:, :, None]
    curves = chart.inverse_transform(rays.reshape(-1, chart.rank)).reshape(len(some), _STEPS, -1)
    add_curves(gathered, f"{name}: geodesics", curves, "#767676")


def add_submanifold(gathered: Gathered, name: str, sub: Any, extras: Extras) -> None:
    """The points of Algorithm 1, their coordinates, and the geodesics they lie on."""
    valid = sub.valid
    distances = Quantity("distance from the base point", sub.distances[valid])
    _add_linked(gathered, name, sub.points[valid], sub.coordinates[valid], extras, (distances,))
    add_curves(gathered, f"{name}: geodesics", sub.geodesics.points, "#767676")


def add_geodesics(gathered: Gathered, name: str, geodesics: Any, extras: Extras) -> None:
    """Curves."""
    add_curves(gathered, name, geodesics.points)


def add_atlas(gathered: Gathered, name: str, atlas: Any, extras: Extras) -> None:
    """The points of all charts by chart, the base points, and the blended surface where there is one."""
    points, owner = atlas.nodes
    add_points(gathered, f"{name}: charts", points, replace(extras, columns={"chart": owner, **extras.columns}))
    add_points(gathered, f"{name}: base points", atlas.base_points, Extras())
    gathered.scene.layers[-1] = replace(gathered.scene.layers[-1], size=9.0, colour="#d55e00")
    if atlas.charts[0].rank == 2:
        add_mesh(gathered, f"{name}: surface", atlas.mesh(), Extras())


def add_embedding(gathered: Gathered, name: str, model: Any, extras: Extras) -> None:
    """Coordinates of a fitted estimator beside the data; see `embedding`."""
    from subbundle.viewer.embedding import add_fitted

    add_fitted(gathered, name, model, extras)


def add_metric(gathered: Gathered, name: str, model: Any, extras: Extras) -> None:
    """The points of a fitted `GeodesicDistance`; lengths are its own."""
    from subbundle.viewer.embedding import add_fitted_metric

    add_fitted_metric(gathered, name, model, extras)


def add_reconstructor(gathered: Gathered, name: str, model: Any, extras: Extras) -> None:
    """The mesh of a fitted `SurfaceReconstructor`, and the points it came from if they are given."""
    _check_fitted(model, "mesh_")
    add_mesh(gathered, name, model.mesh_, Extras())
    if extras.rows is not None:
        add_points(gathered, f"{name}: points", extras.rows, replace(extras, rows=None))


def add_cloud(gathered: Gathered, name: str, cloud: Any, extras: Extras) -> None:
    """The points of a `Cloud`."""
    add_points(gathered, name, cloud.points, extras)


def _add_linked(
    gathered: Gathered, name: str, points: FloatArray, found: FloatArray, extras: Extras,
    quantities: tuple[Quantity, ...],
) -> None:  # fmt: skip
    """Points beside their coordinates, one table for both."""
    key = gathered.new_key()
    shown = add_table(gathered, name, points, extras, quantities, along=points, rank=found.shape[1])
    rows = gathered.scene.tables[-1].rows
    colour, size = gathered.scene.next_colour(), point_size(len(shown))
    space, panel = f"space{points.shape[1]}", add_coordinates_panel(gathered, found.shape[1])
    for where, positions in ((panel, in_space(found[rows][:, :3])), (space, gathered.spaces.place(shown))):
        title = f"{name} in coordinates" if where == panel else f"{name} in space"
        gathered.scene.layers.append(Layer(title, "points", where, positions, table=key, colour=colour, size=size))
    gathered.scene.spreading = True


def add_coordinates_panel(gathered: Gathered, dim: int) -> str:
    """The panel of ``dim`` learned coordinates, before those of space."""
    names = tuple(f"coordinate {i + 1}" for i in range(min(max(dim, 2), 3)))
    panel = Panel("coordinates", "Coordinates", min(max(dim, 2), 3), names, real=False)
    if all(other.key != panel.key for other in gathered.scene.panels):
        gathered.scene.panels.insert(0, panel)
    return panel.key


def _norms(rows: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(rows, axis=1))


def _present(quantities: list[Quantity | None]) -> tuple[Quantity, ...]:
    return tuple(quantity for quantity in quantities if quantity is not None)


def _check_fitted(model: Any, attribute: str) -> None:
    if not hasattr(model, attribute):
        raise ValueError(f"{type(model).__name__} must be fitted before it is viewed; this one is not. Call fit first.")


ADDERS: dict[str, Callable[[Gathered, str, Any, Extras], None]] = {
    "Atlas": add_atlas,
    "AtlasEmbedding": add_embedding,
    "Chart": add_chart,
    "Cloud": add_cloud,
    "GeodesicDistance": add_metric,
    "Geodesics": add_geodesics,
    "Mesh": add_mesh,
    "PrincipalSubbundle": add_bundle,
    "PrincipalSubmanifold": add_embedding,
    "Report": add_report,
    "RiemannianSubbundle": add_bundle,
    "Submanifold": add_submanifold,
    "SurfaceReconstructor": add_reconstructor,
}
