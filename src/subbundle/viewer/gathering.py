"""From objects to a `Scene`: one function for every kind of object, chosen by its type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.viewer.measuring import LearnedMeasure, Measure
from subbundle.viewer.rows import COMPONENTS, Spaces, feature_quantities, letters, page_graph, quantities_of, shown_rows
from subbundle.viewer.scene import Figure, Layer, Panel, Quantity, Scene, Table, joined_curves, point_size

# Bytes of images in one page.
_MOST_IMAGE_BYTES = 8_000_000


@dataclass(slots=True)
class Gathered:
    """A scene under construction, and for each table its `Measure`."""

    scene: Scene = field(default_factory=Scene)
    spaces: Spaces = field(default_factory=Spaces)
    measures: dict[str, Measure] = field(default_factory=dict)

    def new_key(self) -> str:
        """A key for the next table."""
        return f"table{len(self.scene.tables)}"

    def draw_table(self, name: str, shown: FloatArray, coordinates: FloatArray | None = None, rank: int = 2) -> str:
        """Draw the last table, whose rows are ``shown`` [n, d], in space; return the key of that panel.

        With ``coordinates`` [n, 3] of a shape of dimension ``rank`` the same rows are drawn in a panel of these too.
        """
        space, table = f"space{shown.shape[1]}", self.scene.tables[-1].key
        colour, size = self.scene.next_colour(), point_size(len(shown))
        places = [(name, space, self.spaces.place(shown))]
        if coordinates is not None:
            places = [
                (f"{name} in coordinates", self._coordinates(rank), coordinates),
                (f"{name} in space", *places[0][1:]),
            ]
            self.scene.spreading = True
        for title, panel, positions in places:
            self.scene.layers.append(Layer(title, "points", panel, positions, table=table, colour=colour, size=size))
        return space

    def _coordinates(self, rank: int) -> str:
        """The key of the panel of ``rank`` learned coordinates, which comes before those of space."""
        names = tuple(f"coordinate {i + 1}" for i in range(min(max(rank, 2), 3)))
        panel = Panel("coordinates", "Coordinates", len(names), names, real=False)
        if all(other.key != panel.key for other in self.scene.panels):
            self.scene.panels.insert(0, panel)
        return panel.key


@dataclass(frozen=True, slots=True)
class Extras:
    """Optional arguments of `view`: rows of a model, columns to colour by, the shape of images."""

    rows: Any = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    color: str | None = None
    image_shape: tuple[int, int] | None = None


def gather(named: Mapping[str, Any], extras: Extras, hidden: Collection[str] = ()) -> Gathered:
    """Everything in ``named``; layers in ``hidden`` are not shown at first. ``extras`` belong to the first points."""
    gathered = Gathered()
    layers = gathered.scene.layers
    for name, thing in named.items():
        add, before = _adder(thing), len(layers)
        add(gathered, str(name), thing, extras)
        if name in hidden:
            layers[before:] = [replace(layer, visible=False) for layer in layers[before:]]
        if gathered.scene.tables:
            extras = Extras(color=extras.color)
    _choose_colours(gathered.scene, extras.color)
    return gathered


def _adder(thing: Any) -> Callable[[Gathered, str, Any, Extras], None]:
    """The function that adds objects like ``thing``."""
    from subbundle.viewer import models

    kind = next((base.__name__ for base in type(thing).__mro__ if base.__name__ in models.ADDERS), None)
    if kind is not None and type(thing).__module__.startswith("subbundle."):
        return models.ADDERS[kind]
    if hasattr(thing, "columns") and hasattr(thing, "to_numpy"):
        return _add_frame
    if hasattr(thing, "vertices") and hasattr(thing, "faces"):
        return add_mesh
    if hasattr(thing, "points") and np.ndim(thing.points) == 2:
        return lambda gathered, name, thing, extras: add_points(
            gathered, name, thing.points, extras, tuple(getattr(thing, "names", ()))
        )
    if hasattr(thing, "get_params") and hasattr(thing, "fit"):
        raise ValueError(f"{type(thing).__name__} is not supported by the viewer. View its coordinates instead.")
    if isinstance(thing, np.ndarray | list | tuple) or hasattr(thing, "__array__"):
        return add_points
    raise TypeError(
        "view takes arrays of points, Mesh, Atlas, Chart, Submanifold, Geodesics, Report, subbundles, fitted "
        f"estimators or a dict of such; got {type(thing).__name__}."
    )


def add_points(gathered: Gathered, name: str, points: Any, extras: Extras, names: tuple[str, ...] = ()) -> None:
    """A plain cloud [n, d], with ``names`` of its columns; exact geodesics are learned from it at the first request."""
    key = gathered.new_key()
    gathered.draw_table(name, add_table(gathered, name, points, extras, names=names or None))
    gathered.measures[key] = LearnedMeasure(points, gathered.spaces.place)


def add_table(
    gathered: Gathered, name: str, points: Any, extras: Extras, quantities: tuple[Quantity, ...] = (),
    names: tuple[str, ...] | None = None, along: FloatArray | None = None,
    rank: int = 2,
) -> FloatArray:  # fmt: skip
    """Add the table of ``points`` [n, d]; return the rows shown. ``quantities`` have an entry for every row given.

    ``along`` [n, m]: other positions of the rows, by which the page measures along the shape, of dimension ``rank``.
    """
    shown = shown_rows(points, name)
    dim = shown.points.shape[1]
    names = letters(dim) if names is None else names
    gathered.spaces.panel(gathered.scene, shown.points, names, choose=extras.image_shape is None)
    gathered.scene.notes.extend(shown.notes)
    own = [replace(quantity, values=quantity.values[shown.rows]) for quantity in quantities]
    own += quantities_of(extras.columns, shown.rows, shown.n_total)
    images = None
    if extras.image_shape is not None:
        images = _images(gathered.scene, shown.points, extras.image_shape)
    else:
        own += feature_quantities(shown.points, gathered.spaces.place(shown.points), names)
    gathered.scene.tables.append(
        Table(
            gathered.new_key(), name, shown.n_total, shown.rows, tuple(own),
            features=names if dim > 3 else None, images=images,
            graph=page_graph(shown.points if along is None else along[shown.rows], min(rank, max(dim - 1, 1))),
        )
    )  # fmt: skip
    return shown.points


def add_mesh(gathered: Gathered, name: str, mesh: Any, extras: Extras) -> None:
    """A triangle mesh; its attributes can colour it."""
    from subbundle.triangles.topology import border_edges

    vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
    if not len(faces):
        raise ValueError(f"{name} must have at least one face; it has none. View its vertices as points instead.")
    if not np.isfinite(vertices).all():
        raise ValueError(f"{name} must have finite vertices; some are NaN or infinite. Remove their faces first.")
    key = gathered.new_key()
    rows: IntArray = np.arange(len(vertices))
    attributes = getattr(mesh, "attributes", {})
    quantities = quantities_of({**attributes, **extras.columns}, rows, len(vertices))
    place = gathered.spaces.place
    panel = gathered.spaces.panel(gathered.scene, vertices, letters(vertices.shape[1]), choose=False)
    gathered.scene.tables.append(Table(key, name, len(vertices), rows, tuple(quantities)))
    gathered.scene.layers.append(
        Layer(
            name, "mesh", panel, place(vertices), table=key, faces=faces, border=border_edges(faces), colour="#aebfd4"
        )
    )
    if hasattr(mesh, "report"):
        gathered.scene.facts += [(name if i == 0 else "", line) for i, line in enumerate(mesh.report())]


def add_curves(gathered: Gathered, name: str, curves: NDArray[Any], colour: str | None = None) -> None:
    """Curves [batch, times, d] or [times, d]; NaN after their end."""
    curves = np.asarray(curves, dtype=np.float64)
    curves = curves[None] if curves.ndim == 2 else curves
    flat = curves.reshape(-1, curves.shape[-1])
    finite = flat[np.isfinite(flat).all(axis=1)]
    if len(finite) < 2:
        raise ValueError(f"{name} must have at least two finite points; it has fewer.")
    panel = gathered.spaces.panel(gathered.scene, finite, letters(curves.shape[-1]), choose=False)
    placed = [gathered.spaces.place(curve) for curve in curves]
    points, offsets = joined_curves(placed)
    colour = gathered.scene.next_colour() if colour is None else colour
    gathered.scene.layers.append(Layer(name, "lines", panel, points, offsets=offsets, colour=colour, size=1.5))


def add_report(gathered: Gathered, name: str, report: Any, extras: Extras) -> None:
    """The results of `diagnose`: figures, numbers and warnings beside the views."""
    from subbundle.diagnostics.messages import summary
    from subbundle.plot import png_of

    gathered.scene.facts += summary(report)
    gathered.scene.warnings += list(report.warnings)
    gathered.scene.figures.append(Figure("Gap, error, directions and distances to the ridge", png_of(report.figure())))


def _add_frame(gathered: Gathered, name: str, frame: Any, extras: Extras) -> None:
    """A data frame: columns of numbers are coordinates, the others can colour."""
    numbers = frame.select_dtypes("number")
    if not numbers.shape[1]:
        raise ValueError(f"{name} must have columns of numbers; it has none among {list(frame.columns)}.")
    others = {str(column): frame[column].to_numpy() for column in frame.columns if column not in numbers.columns}
    extras = replace(extras, columns={**others, **extras.columns})
    add_points(gathered, name, numbers.to_numpy(), extras, tuple(map(str, numbers.columns)))


def _images(scene: Scene, points: FloatArray, shape: tuple[int, int]) -> NDArray[np.uint8] | None:
    """Rows [n, height·width] as images; None, with a note, when they are too many for one page."""
    height, width = shape
    if points.shape[1] != height * width:
        raise ValueError(
            f"image_shape must have as many pixels as there are features, {points.shape[1]}; got {height} × {width}."
        )
    if points.size > _MOST_IMAGE_BYTES:
        scene.notes.append(f"images of {len(points):,} rows are too many for one page and are left out")
        return None
    return grey_images(points, shape, float(points.min()), float(points.max()))


def grey_images(points: FloatArray, shape: tuple[int, int], low: float, high: float) -> NDArray[np.uint8]:
    """Rows [n, height·width] as grey images between ``low`` and ``high``."""
    scaled = np.clip((points - low) / (high - low or 1.0), 0.0, 1.0)
    return np.round(255.0 * np.nan_to_num(scaled)).astype(np.uint8).reshape(len(points), *shape)


def _choose_colours(scene: Scene, wanted: str | None) -> None:
    """The quantity that colours each table first: the requested one, else its first that is no coordinate."""
    names = {quantity.name for table in scene.tables for quantity in table.quantities}
    coordinates = {axis for panel in scene.panels for axis in panel.axes}
    if wanted is not None and wanted not in names | coordinates:
        raise ValueError(
            f"color must be one of {', '.join(sorted(names | coordinates)) or 'no quantity'}; got {wanted!r}."
        )
    solid = any(layer.kind == "mesh" for layer in scene.layers)
    for i, table in enumerate(scene.tables):
        own = [quantity.name for quantity in table.quantities]
        bare = {*(table.features or ()), *COMPONENTS}
        varying = [quantity.name for quantity in table.quantities if np.ptp(quantity.values, axis=0).any()]
        first = next((name for name in varying if name not in bare), None)
        # Points alone are coloured by height; surfaces are shaded, and points on one need no colours.
        drawn = next(layer for layer in scene.layers if layer.table == table.key)
        height = next(panel.axes[-1] for panel in scene.panels if panel.key == drawn.panel)
        bare_points = drawn.kind == "points" and table.graph is not None and not solid
        first = height if first is None and bare_points else first
        chosen = wanted if wanted in own or wanted in coordinates else first
        scene.tables[i] = replace(table, default=chosen)
