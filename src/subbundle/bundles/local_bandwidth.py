"""A bandwidth that depends on the point: a smooth positive function a(p), given by its values at landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_points, as_positive, as_real
from subbundle.local.settings import Widths, widths_batch


@dataclass(frozen=True, slots=True, eq=False, init=False)
class LocalBandwidth:
    """a(p) with log a(p) = Σ v_j(p) log a_j, where v_j(p) ∝ exp(−|p − l_j|²/(2h²)) and Σ v_j = 1.

    Infinitely often differentiable everywhere, and between the smallest and the largest a_j. Its gradient enters the
    force of a `PrincipalSubbundle` in closed form, so that H stays constant along geodesics. Let h be a few distances
    between landmarks, and not below the bandwidths: a(p) should hardly change within one of them.

    Parameters
    ----------
    points : array-like [m, d]
        Landmarks l_j, on the cloud.
    values : array-like [m]
        Bandwidths a_j there, in the units of the data.
    smoothing : float
        h, the standard deviation of the Gaussian that averages them.

    Examples
    --------
    >>> import subbundle as sb
    >>> width = sb.LocalBandwidth([[0.0, 0.0], [1.0, 0.0]], [0.1, 0.4], smoothing=0.3)
    >>> width([[0.0, 0.0], [0.5, 3.0], [1.0, 0.0]]).round(3).tolist()
    [0.101, 0.2, 0.398]
    """

    points: FloatArray
    values: FloatArray
    smoothing: float

    def __init__(self, points: Any, values: Any, smoothing: float) -> None:
        places = as_points(points, "points")
        widths = as_real(values, "values")
        if widths.shape != places.shape[:1] or not len(widths):
            raise ValueError(
                f"values must hold one bandwidth per landmark, and there must be at least one; got points "
                f"{places.shape} and values {widths.shape}."
            )
        if not (np.isfinite(widths).all() and (widths > 0.0).all()):
            raise ValueError(f"values must be finite bandwidths above 0; the smallest is {widths.min():g}.")
        object.__setattr__(self, "points", np.array(places, dtype=np.float64))
        object.__setattr__(self, "values", np.array(widths, dtype=np.float64))
        object.__setattr__(self, "smoothing", as_positive(smoothing, "smoothing", hint="It is a length."))

    def __call__(self, points: Any) -> FloatArray:
        """a(p) [batch] at ``points`` [batch, d]."""
        return self.with_gradient(points)[0]

    def with_gradient(self, points: Any) -> tuple[FloatArray, FloatArray]:
        """a(p) [batch] and ∇a [batch, d] at ``points`` [batch, d]."""
        rows = np.require(as_points(points, "points", dim=self.points.shape[1]), requirements=["C", "W"])
        values, masses = np.empty(len(rows)), np.empty(len(rows))
        gradients = np.empty_like(rows)
        widths_batch(self.widths(self.points, np.zeros(len(self.values))), rows, values, gradients, masses)
        return values, gradients

    def scaled(self, factor: float) -> LocalBandwidth:
        """The same times ``factor``."""
        return LocalBandwidth(self.points, self.values * as_positive(factor, "factor"), self.smoothing)

    def widths(self, points: FloatArray, log_masses: FloatArray) -> Widths:
        """The argument ``widths`` of kernels, with the landmarks at ``points`` [m, w] in their coordinates, where the
        typical log kernel masses are ``log_masses`` [m]."""
        logs = np.column_stack([np.log(self.values), log_masses])
        return 0.0, 0.0, np.require(points, requirements=["C", "W"]), logs, 1.0 / self.smoothing**2

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        return f"LocalBandwidth({low:.3g} to {high:.3g} at {len(self.values)} landmarks)"
