"""Rows of a table on an atlas: complete, in its components, with their distance from it and their status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._types import FloatArray, Status, StatusArray
from subbundle.embedding.laid_out_atlas import LaidOutAtlas, Placement
from subbundle.estimators._atlas_input import filled_from
from subbundle.selection.components import Components

# Rounds in which missing entries are replaced by those of the nearest point of the shape.
_FILLINGS = 5


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows placed: their placement on the atlas, distances from it [n], coordinates [n, k] as shown, and status [n]."""

    placement: Placement
    residuals: FloatArray
    coordinates: FloatArray
    status: StatusArray

    def novelty(self, scale: float) -> FloatArray:
        """Distance [n] from where the data covers the shape, in units of ``scale``."""
        return np.asarray(np.hypot(self.residuals, self.placement.outside) / scale)

    def as_dict(self, scale: float) -> dict[str, Any]:
        """Everything that is known of each row, by name."""
        found = self.placement
        return {
            "coordinates": self.coordinates, "residual": self.residuals, "coverage": found.coverage,
            "disagreement": found.disagreement, "distortion": found.distortion, "label": found.labels,
            "novelty": self.novelty(scale), "status": self.status,
        }  # fmt: skip


def place_rows(rows: FloatArray, components: Components, atlas: LaidOutAtlas, outside: str) -> Placed:
    """Place ``rows`` [n, d] without missing values; beyond all charts they get NaN if ``outside`` is ``"nan"``."""
    placed = atlas.place(components.enter(rows))
    offsets = rows - components.leave(placed.projections)
    residuals = np.sqrt(np.einsum("nd,nd->n", offsets, offsets))
    status = np.where(placed.coverage > 0.0, Status.OK, Status.LEFT_SUPPORT).astype(np.int8)
    shown = placed.coordinates
    if outside == "nan":
        shown = np.where((status == Status.OK)[:, None], shown, np.nan)
    return Placed(placed, residuals, shown, status)


def completed(rows: FloatArray, components: Components, atlas: LaidOutAtlas) -> FloatArray:
    """``rows`` [n, d] with missing entries replaced by those of the nearest point of the shape."""
    known = np.isfinite(rows)
    if known.all():
        return rows
    filled = filled_from(rows, components.leave(atlas.bases))
    some = ~known.all(axis=1)
    for _ in range(_FILLINGS):
        projections = components.leave(atlas.place(components.enter(filled[some])).projections)
        filled[some] = np.where(known[some], rows[some], projections)
    return filled
