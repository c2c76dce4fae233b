"""The charts of an atlas from the local model alone: one fit per base point, no geodesics."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.base import Subbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.bundles.surroundings import FLAT, surroundings_of
from subbundle.charts.base import InvertibleChart
from subbundle.charts.quadratic_chart import QuadraticChart

# Largest radius, in length scales: as far as the observations of one local model reach.
QUADRATIC_REACH = 3.0
# Largest radius times curvature: at 1/2 the fourth order, which the graph of a quadric leaves out, lifts the border by
# κ³ρ⁴/8 = ρ/64.
_BEND = 0.5


def quadratic_radii(radii: FloatArray, curvature: FloatArray, length_scale: float) -> FloatArray:
    """The largest radii [m] up to ``radii`` [m] at which quadrics of this ``curvature`` [m] hold."""
    return np.asarray(
        np.minimum(np.minimum(radii, QUADRATIC_REACH * length_scale), _BEND / np.maximum(curvature, 1e-300))
    )


def quadratic_charts_at(
    bundle: Subbundle, base_points: FloatArray, radii: FloatArray, max_residual: float
) -> list[InvertibleChart]:
    """A quadratic chart of radius at most ``radii[j]`` at the projection of each of ``base_points`` [m, dim]."""
    if surroundings_of(bundle) is not FLAT:
        raise ValueError(
            "charts='quadratic' needs a bundle on R^d; this one lives on another manifold. Write charts='geodesic'."
        )
    ridge = ridge_project(bundle, base_points)
    reach = quadratic_radii(radii, ridge.curvature, float(bundle.length_scale))
    return [
        QuadraticChart(ridge.points[j], ridge.tangents[j], ridge.second_form[j], float(reach[j]), max_residual)
        for j in np.flatnonzero(ridge.status == Status.OK)
    ]
