"""Rows of a table on an atlas: complete, in its components, with their distance from it and their status."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.charts.chart import Located
from subbundle.embedding.laid_out_atlas import LaidOutAtlas
from subbundle.estimators._atlas_input import filled_from
from subbundle.selection.components import Components

# Rounds in which missing entries are replaced by those of the nearest point of the shape.
_FILLINGS = 5


def place_rows(rows: FloatArray, components: Components, atlas: LaidOutAtlas) -> Located:
    """Place ``rows`` [n, d] without missing values; ``novelty`` is the distance from where the data covers the shape,
    in the units of the data."""
    located = atlas.locate(components.enter(rows))
    points = components.leave(located.points)
    offsets = rows - points
    residuals = np.sqrt(np.einsum("nd,nd->n", offsets, offsets))
    away = np.hypot(residuals, np.asarray(located.novelty))
    return replace(located, points=points, residuals=residuals, novelty=away)


def as_shown(located: Located, outside: str) -> Located:
    """``located``; rows beyond all charts have NaN for coordinates if ``outside`` is ``"nan"``."""
    if outside != "nan":
        return located
    return replace(located, coordinates=np.where((located.status == Status.OK)[:, None], located.coordinates, np.nan))


def completed(rows: FloatArray, components: Components, atlas: LaidOutAtlas) -> FloatArray:
    """``rows`` [n, d] with missing entries replaced by those of the nearest point of the shape."""
    known = np.isfinite(rows)
    if known.all():
        return rows
    filled = filled_from(rows, components.leave(atlas.bases))
    some = ~known.all(axis=1)
    for _ in range(_FILLINGS):
        projections = components.leave(atlas.locate(components.enter(filled[some])).points)
        filled[some] = np.where(known[some], rows[some], projections)
    return filled
