"""The record that every `locate` returns: points projected to a chart, to an atlas, or by a fitted estimator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from subbundle._html import card, dots, endings
from subbundle._types import FloatArray, IntArray, Status, StatusArray

# What the columns of tables are called, where it is not the attribute's name.
_COLUMNS = {"residual": "residuals", "label": "labels"}


@dataclass(frozen=True, slots=True)
class Located:
    """Points projected to a chart, an atlas, or the shape that an estimator has learned.

    A single point given to a chart or an atlas has no batch axis. What follows ``status`` is None where it is not
    known: a single chart has neither coverage nor connected components.

    Attributes
    ----------
    coordinates : [batch, rank]
        Coordinates of the projection: normal coordinates in the chart (of an atlas: in that of ``charts``), or those
        that the estimator gives.
    points : [batch, dim]
        The projection: the nearest point, on the sheet that passes nearest.
    residuals : [batch]
        Distance from each point to its projection.
    status : [batch]
        OK; LEFT_SUPPORT: the point lies beyond the border of the chart or of all charts, or further than
        ``chart.max_residual`` from it; NOT_CONVERGED: the search did not converge.
    coverage : [batch]
        Charts that hold the point, about 1 inside, 0 beyond all.
    disagreement : [batch]
        Root mean square deviation among the charts that hold it: of their projections in an `Atlas`, of the coordinates
        they give in an `AtlasEmbedding`.
    distortion : [batch]
        Largest |log| of the factor by which lengths change from the shape to the coordinates.
    labels : [batch]
        Connected component.
    novelty : [batch]
        Distance from where the data covers the shape, in typical residuals of the training points.
    charts : [batch]
        The nearest chart of an atlas; −1 where there is none.

    Notes
    -----
    ``coordinates, residuals, status = model.locate(X)`` and ``model.locate(X)["residual"]`` work, too.
    """

    coordinates: FloatArray
    points: FloatArray
    residuals: FloatArray
    status: StatusArray
    coverage: FloatArray | None = None
    disagreement: FloatArray | None = None
    distortion: FloatArray | None = None
    labels: IntArray | None = None
    novelty: FloatArray | None = None
    charts: IntArray | None = None

    def __iter__(self) -> Iterator[Any]:
        """Coordinates, residuals and status."""
        return iter((self.coordinates, self.residuals, self.status))

    def __getitem__(self, name: str) -> Any:
        """The quantity of this name, as in `as_dict`."""
        return self.as_dict()[name]

    def keys(self) -> list[str]:
        """Names of the quantities that are known."""
        return list(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The quantities that are known of each row, by the names that tables give them, without ``points``."""
        names = ("coordinates", "residual", "coverage", "disagreement", "distortion", "label", "novelty", "status")
        found = {name: getattr(self, _COLUMNS.get(name, name)) for name in names}
        return {name: values for name, values in found.items() if values is not None}

    def _repr_html_(self) -> str:
        facts = [("residual, median", float(np.nanmedian(self.residuals)))] if np.isfinite(self.residuals).any() else []
        return card("Located", [*facts, *endings(self.status)], picture=dots(np.atleast_2d(self.coordinates)))

    @classmethod
    def joined(cls, parts: list[Located]) -> Located:
        """The rows of all ``parts``, of which there is at least one, which know the same quantities."""
        names = [each.name for each in fields(cls) if getattr(parts[0], each.name) is not None]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def first(self) -> Located:
        """The record of the first row alone."""
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        rows: dict[str, Any] = {name: values[0] for name, values in known.items() if values is not None}
        return replace(self, **rows | {"status": Status(int(self.status[0]))})
