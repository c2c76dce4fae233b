"""A `Scene` as a description in JSON and one block of bytes.

Positions and quantities become 16-bit codes between their limits: an error of 1/130,000 of the extent, a tenth of a
pixel on any screen. The numbers of faces are kept as differences, which compress well. Nothing of a scene is code.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray
from subbundle.viewer.scene import CoordinatePath, Layer, Quantity, Scene, Table

# Codes of 16 bits: the last stands for a missing number, the one before for the largest.
_MISSING, _MOST = 65535, 65534
_TYPES = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "f32": np.float32}
# Quantiles between which numbers are coloured, so that outliers do not determine the range.
INNER = (0.01, 0.99)


class Packer:
    """Collects arrays into one block; `put` returns the reference to an array for the description."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def put(self, kind: str, array: NDArray[Any], *, delta: bool = False) -> dict[str, Any]:
        """Append ``array`` as ``kind`` (u8, u16, u32 or f32), flat."""
        flat = np.ascontiguousarray(array, dtype=_TYPES[kind]).ravel()
        if delta:
            flat = np.diff(flat, prepend=np.zeros(1, flat.dtype))
        data = flat.tobytes()
        reference: dict[str, Any] = {"buffer": [kind, self._length, len(flat)]}
        if delta:
            reference["delta"] = True
        padding = -len(data) % 4
        self._pieces.append(data + bytes(padding))
        self._length += len(data) + padding
        return reference

    def block(self) -> bytes:
        """All arrays, concatenated."""
        return b"".join(self._pieces)


def pack(scene: Scene) -> tuple[dict[str, Any], bytes]:
    """Description and gzipped block of ``scene``."""
    packer = Packer()
    description = {
        "title": scene.title,
        "subtitle": subtitle(scene),
        "panels": [
            {"key": p.key, "title": p.title, "dim": p.dim, "axes": list(p.axes), "real": p.real}
            | ({"choices": list(p.choices)} if p.choices else {})
            for p in scene.panels
        ],
        "tables": {table.key: _table(packer, table) for table in scene.tables},
        "layers": [_layer(packer, layer, i) for i, layer in enumerate(scene.layers)],
        "walks": [_coordinate_path(packer, path) for path in scene.coordinate_paths],
        "figures": [
            {"title": f.title, "source": "data:image/png;base64," + base64.b64encode(f.png).decode("ascii")}
            for f in scene.figures
        ],
        "facts": [list(fact) for fact in scene.facts],
        "warnings": list(scene.warnings),
        "notes": list(scene.notes),
        "spreading": scene.spreading,
        "measures": any(t.graph is not None for t in scene.tables) or any(y.kind == "mesh" for y in scene.layers),
        "exact": [],
        "address": None,
        "maps": {name: packer.put("u8", colours) for name, colours in colour_maps().items()},
    }
    return description, gzip.compress(packer.block(), compresslevel=6, mtime=0)


def colour_maps() -> dict[str, NDArray[np.uint8]]:
    """256 colours of each map that the page offers, and those of categories."""
    from subbundle.plot import require_matplotlib

    require_matplotlib()
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    from subbundle.plot.palette import PALETTE

    steps = np.linspace(0.0, 1.0, 256)
    maps = {
        name: np.round(255.0 * colormaps[name](steps)[:, :3]).astype(np.uint8)
        for name in ("viridis", "cividis", "magma", "coolwarm", "twilight")
    }
    return maps | {"categories": np.round(255.0 * np.array([to_rgb(colour) for colour in PALETTE])).astype(np.uint8)}


def codes_of(values: FloatArray) -> tuple[NDArray[np.uint16], float, float]:
    """``values`` [n] as codes 0..65534 between their limits, 65535 where not finite; and the limits."""
    finite = np.isfinite(values)
    low, high = (float(values[finite].min()), float(values[finite].max())) if finite.any() else (0.0, 0.0)
    span = high - low or 1.0
    codes = np.full(values.shape, _MISSING, np.uint16)
    codes[finite] = np.round((values[finite] - low) / span * _MOST).astype(np.uint16)
    return codes, low, high


def _positions(packer: Packer, points: FloatArray) -> dict[str, Any]:
    low = points.min(axis=0) if len(points) else np.zeros(3)
    span = (points.max(axis=0) - low) if len(points) else np.zeros(3)
    codes = np.round((points - low) / np.where(span > 0.0, span, 1.0) * _MOST)
    step = span / _MOST
    return {"low": low.tolist(), "step": step.tolist(), "most": _MOST, "codes": packer.put("u16", codes)}


def _quantity(packer: Packer, quantity: Quantity) -> dict[str, Any]:
    record: dict[str, Any] = {"name": quantity.name, "kind": quantity.kind}
    if quantity.kind == "rgb":
        return record | {"codes": packer.put("u8", quantity.values)}
    if quantity.kind == "category":
        codes = np.where(quantity.values < 0, _MISSING, quantity.values)
        return record | {"labels": list(quantity.labels), "codes": packer.put("u16", codes)}
    codes, low, high = codes_of(quantity.values.astype(np.float64))
    known = codes[codes != _MISSING]
    inner = np.quantile(known, INNER) / _MOST if known.size else np.array([0.0, 1.0])
    if inner[1] <= inner[0]:
        inner = np.array([0.0, 1.0])
    return record | {"low": low, "high": high, "inner": inner.tolist(), "codes": packer.put("u16", codes)}


def _table(packer: Packer, table: Table) -> dict[str, Any]:
    record: dict[str, Any] = {
        "title": table.title,
        "default": table.default,
        "map": table.map,
        "total": table.n_total,
        "features": None if table.features is None else list(table.features),
        "quantities": [_quantity(packer, quantity) for quantity in table.quantities],
    }
    if len(table.rows) != table.n_total:
        record["rows"] = packer.put("u32", table.rows, delta=True)
    if table.images is not None:
        record["images"] = _images(packer, table.images)
    if table.graph is not None:
        graph = table.graph
        record["graph"] = {
            "starts": packer.put("u32", graph.starts),
            "ends": packer.put("u32", graph.ends),
            "lengths": packer.put("f32", graph.lengths),
        }
        if graph.nodes is not None and graph.owner is not None:
            record["graph"] |= {"nodes": packer.put("u32", graph.nodes), "owner": packer.put("u16", graph.owner)}
    return record


def _images(packer: Packer, images: NDArray[np.uint8]) -> dict[str, Any]:
    return {"height": images.shape[1], "width": images.shape[2], "pixels": packer.put("u8", images)}


def _layer(packer: Packer, layer: Layer, number: int) -> dict[str, Any]:
    record: dict[str, Any] = {
        "key": f"layer{number}",
        "name": layer.name,
        "kind": layer.kind,
        "panel": layer.panel,
        "table": layer.table,
        "colour": layer.colour,
        "size": layer.size,
        "visible": layer.visible,
        "positions": _positions(packer, layer.positions),
    }
    if layer.faces is not None:
        border = np.zeros(0) if layer.border is None else layer.border
        record |= {"faces": packer.put("u32", layer.faces, delta=True), "border": packer.put("u32", border)}
    if layer.offsets is not None:
        record["offsets"] = packer.put("u32", layer.offsets)
    return record


def _coordinate_path(packer: Packer, path: CoordinatePath) -> dict[str, Any]:
    return {
        "name": path.name,
        "values": path.values.tolist(),
        "paths": {key: packer.put("f32", points) for key, points in path.paths.items()},
        "images": None if path.images is None else _images(packer, path.images),
    }


def subtitle(scene: Scene) -> str:
    """What is shown, in numbers."""
    parts = [f"{len(layer.faces):,} faces" for layer in scene.layers if layer.faces is not None]
    drawn = {layer.table for layer in scene.layers if layer.kind == "points"}
    parts = [f"{len(table.rows):,} points" for table in scene.tables if table.key in drawn] + parts
    return " · ".join(parts)
