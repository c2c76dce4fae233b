"""The record that `locate` returns: points projected to a chart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._html import card, dots, endings
from subbundle._types import FloatArray, Status, StatusArray


@dataclass(frozen=True, slots=True)
class Located:
    """Points projected to a chart. A single point has no batch axis.

    Attributes
    ----------
    coordinates : [batch, rank]
        Normal coordinates of the projection.
    points : [batch, dim]
        The projection: the point of the chart that is nearest, on the sheet that passes nearest.
    residuals : [batch]
        Distance from each point to its projection.
    status : [batch]
        OK; LEFT_SUPPORT: the point lies beyond the border of the chart, or further than ``chart.max_residual`` from it;
        NOT_CONVERGED: the search did not converge.
    """

    coordinates: FloatArray
    points: FloatArray
    residuals: FloatArray
    status: StatusArray

    def _repr_html_(self) -> str:
        facts = [("residual, median", float(np.nanmedian(self.residuals)))] if np.isfinite(self.residuals).any() else []
        return card("Located", [*facts, *endings(self.status)], picture=dots(np.atleast_2d(self.coordinates)))

    def first(self) -> Located:
        """The record of the first row alone."""
        status = Status(int(self.status[0]))
        return Located(self.coordinates[0], self.points[0], self.residuals[0], status)  # type: ignore[arg-type]
