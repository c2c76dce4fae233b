"""Errors of small tables with a truth, for `benchmarks.sensitivity`, with every stage of the embedding."""

from __future__ import annotations

import warnings

import numpy as np

import subbundle as sb
from benchmarks import _tables as made
from benchmarks._sheets import roll_sheet, s_sheet


def figures() -> dict[str, float]:
    """Fractions of the neighbours lost, and rigid errors; smaller is better."""
    tables = {
        "S, noisy": made._sheet(s_sheet, 400, 0),
        "S, clean, with a hole": made._sheet(s_sheet, 300, 0, noise=0.0, hole=True),
        "Swiss roll, noisy": made._sheet(roll_sheet, 700, 1),
        "smooth, k = 3, noisy": made._smooth(250, 3, 1, noise=0.05),
        "loop": made._loop(80, 1, 0),
        "sphere": made._closed(200, 0, ring=False),
        "blob": made._blob(60, 0),
        "clusters": made._clusters(160, 0),
    }
    found: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, table in tables.items():
            model = sb.AtlasEmbedding(table.rank, n_jobs=1).fit(table.points)
            for figure, value in table.measure(model.embedding_).items():
                found[f"{name}: {figure}"] = value if "error" in figure else 1.0 - value
            back = model.inverse_transform(model.embedding_[::10])
            found[f"{name}: there and back"] = float(np.sqrt(np.mean((back - table.points[::10]) ** 2)))
    return found
