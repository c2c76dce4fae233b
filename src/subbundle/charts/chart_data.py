"""The data of a chart as plain arrays, saved without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._numbers import LARGEST
from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, IntArray, StatusArray
from subbundle.bundles.base import Subbundle, completed
from subbundle.charts._scattered import Scattered
from subbundle.charts._search import Model, Searched
from subbundle.charts.fan_domain import Ending
from subbundle.charts.interpolant import Interpolant

_AXES = {
    "base_point": "d", "frame": "dk", "directions": "lk", "extents": "l", "endings": "l", "points": "lmp",
    "velocities": "lmp", "counts": "l", "border": "l2",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ChartData:
    """The fan of a chart and its numbers.

    Attributes
    ----------
    base_point : [dim]
    frame : [dim, k]
    directions : [L, k]
        Unit coordinates of the geodesics.
    extents : [L]
        ρ along each.
    endings : [L]
        Why it ends there; `Status` or `Ending`.
    points, velocities : [L, m, dim']
        Images of the nodes under a local map around the base point, continued beyond the ends.
    counts : [L]
        Nodes that the geodesic itself reached.
    border : [L, 2]
        ρ at both sides of the cell after each geodesic; the extents themselves for k ≠ 2.
    step, tol, length_scale, injectivity_radius, interpolation_error, max_residual : float
        Distance between nodes; tolerance of searches, 0 if there are none; see `Chart` for the others.
    """

    base_point: FloatArray
    frame: FloatArray
    directions: FloatArray
    extents: FloatArray
    endings: StatusArray
    points: FloatArray
    velocities: FloatArray
    counts: IntArray
    border: FloatArray
    step: float
    tol: float
    length_scale: float
    injectivity_radius: float
    interpolation_error: float
    max_residual: float

    @property
    def rank(self) -> int:
        """k."""
        return int(self.frame.shape[1])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Every field as an array."""
        return {field.name: np.array(getattr(self, field.name)) for field in fields(self)}

    def model(self, bundle: Subbundle | None) -> Model:
        """The map v ↦ exp(v). Searches need the bundle."""
        jobs = resolve_jobs(completed(bundle).n_jobs)
        if self.rank <= 2:
            return Interpolant(
                self.points, self.velocities, self.counts, self.border, self.step, self.length_scale, self.rank, jobs
            )
        cut = np.asarray(self.endings >= min(Ending))
        coarse = Scattered(
            self.directions, self.points, self.velocities, self.counts, self.extents, cut,
            self.step, self.length_scale, jobs,
        )  # fmt: skip
        if self.tol == 0.0:
            return coarse
        if bundle is None:
            raise ValueError(
                f"a chart of rank {self.rank} with a tolerance follows geodesics at every use and needs its bundle; "
                "got None. Pass Chart.from_arrays(arrays, bundle) with the bundle the chart was made from."
            )
        return Searched(bundle, self.base_point, self.frame, coarse, self.tol)


def from_arrays(arrays: Mapping[str, Any]) -> ChartData:
    """The inverse of `ChartData.to_arrays`; raises when something is missing or does not fit."""
    names = [field.name for field in fields(ChartData)]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"arrays must come from Chart.to_arrays(); {', '.join(missing)} missing.")
    sizes: dict[str, int] = {"2": 2}
    values: dict[str, Any] = {}
    for name in names:
        value = np.asarray(arrays[name])
        axes = _AXES.get(name, "")
        if value.dtype.kind not in "fiu" or value.ndim != len(axes):
            raise ValueError(
                f"arrays[{name!r}] must hold numbers along {len(axes)} axes; got shape {value.shape} and dtype "
                f"{value.dtype}. The arrays are damaged, or not those of Chart.to_arrays()."
            )
        for axis, size in zip(axes, value.shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise ValueError(
                    f"arrays[{name!r}] must fit the others, with {sizes[axis]} entries along one axis; got shape "
                    f"{value.shape}. The arrays are damaged, or not those of one chart."
                )
        kind = {"endings": np.int8, "counts": np.int64}.get(name, np.float64)
        values[name] = np.ascontiguousarray(value, dtype=kind) if axes else float(value)
    data = ChartData(**values)
    _check_numbers(data)
    return data


def _check_numbers(data: ChartData) -> None:
    """Raise for numbers that no chart has: the kernels index by the counts unchecked, and divide by the steps."""
    nodes = data.points.shape[1]
    if data.counts.size == 0 or data.counts.min() < 0 or data.counts.max() > nodes:
        raise ValueError(f"arrays['counts'] must lie in 0..{nodes}, the number of nodes. The arrays are damaged.")
    for name in ("step", "length_scale"):
        if not 0.0 < getattr(data, name) < np.inf:
            raise ValueError(f"arrays[{name!r}] must be positive; got {getattr(data, name)}. The arrays are damaged.")
    reached = np.arange(nodes) < data.counts[:, None]
    parts = [data.base_point, data.frame, data.directions, data.extents, data.border]
    if not all((np.abs(part) < LARGEST).all() for part in (*parts, data.points[reached], data.velocities[reached])):
        raise ValueError(f"arrays must hold numbers below {LARGEST:g} wherever rays reached. The arrays are damaged.")
