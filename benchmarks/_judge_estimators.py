"""Errors of estimators with a truth, for `benchmarks.sensitivity`."""

from __future__ import annotations

import warnings

import numpy as np

import subbundle as sb
from benchmarks._sheets import s_sheet, strip_sheet
from benchmarks._tables import rigid_error


def figures() -> dict[str, float]:
    """Rigid errors of one chart, in 3 and in 100 dimensions, errors of distances, and of entries filled in."""
    found: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, sheet in {"S": s_sheet(700, 0), "strip in R^100": strip_sheet(500, 0)}.items():
            model = sb.PrincipalSubmanifold(2, n_jobs=1).fit(sheet.points)
            found[f"{name}: rigid error"] = rigid_error(sheet.coordinates, model.embedding_)["rigid error"]
            found[f"{name}: outside"] = float(np.mean(model.status_ != 0))
        sheet = s_sheet(700, 1)
        metric = sb.GeodesicDistance(2, n_jobs=1).fit(sheet.points)
        some = slice(0, 700, 40)
        apart = np.linalg.norm(sheet.coordinates[some][:, None] - sheet.coordinates[some][None], axis=2)
        found["distances"] = float(np.sqrt(np.mean((metric.pairwise(sheet.points[some]) - apart) ** 2)))
        holes = sheet.points.copy()
        holes[::20, 1] = np.nan
        model = sb.AtlasEmbedding(2, missing="local", n_jobs=1).fit(holes)
        off = rigid_error(sheet.coordinates, model.embedding_)["rigid error"]
        found["missing entries: rigid error"] = off
    return found
