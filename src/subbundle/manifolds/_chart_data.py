"""What a chart knows, as plain arrays: enough to compute with (k ≤ 2) and to save without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, IntArray, StatusArray
from subbundle.bundles.base import Subbundle
from subbundle.manifolds._fan_domain import Ending
from subbundle.manifolds._fan_search import Search
from subbundle.manifolds._interpolant import Interpolant

_AXES = {
    "base_point": "d", "frame": "dk", "directions": "lk", "extents": "l", "endings": "l", "points": "lmd",
    "velocities": "lmd", "counts": "l", "border": "l2",
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
        How far the domain reaches along each.
    endings : [L]
        Why; `Status` or `Ending`.
    points, velocities : [L, m, dim]
        Nodes relative to the base point; for k ≤ 2 continued beyond the ends.
    counts : [L]
        Nodes that the geodesic itself reached.
    border : [L, 2]
        ρ at both sides of the cell after each geodesic; the extents themselves for k ≠ 2.
    step, tol, length_scale, injectivity_radius, interpolation_error, max_residual : float
        Distance between nodes; tolerance of searches; see `Chart` for the others.
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

    def model(self, bundle: Subbundle | None) -> Interpolant | Search:
        """The map itself. Searches (k ≥ 3) need the bundle."""
        if self.rank <= 2:
            jobs = resolve_jobs(getattr(bundle, "n_jobs", None))
            return Interpolant(
                self.points, self.velocities, self.counts, self.border, self.step, self.length_scale, self.rank, jobs
            )
        if bundle is None:
            raise ValueError(
                f"a chart of rank {self.rank} follows geodesics at every use and needs its bundle; got None. Pass "
                "Chart.from_arrays(arrays, bundle) with the bundle the chart was made from."
            )
        return Search(
            bundle, self.base_point, self.frame, self.directions, self.points, self.extents,
            np.asarray(self.endings >= min(Ending)), self.step, self.tol,
        )  # fmt: skip


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
    return ChartData(**values)
