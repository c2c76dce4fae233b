"""One chart of the S-surface in R^100 compared with scikit-learn's and UMAP's embeddings."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks._extras import require
from benchmarks._report import Bar, Result, Table
from subbundle._types import FloatArray, Status
from subbundle.estimators import PrincipalSubmanifold
from subbundle.experiments import s_surface

SEEDS = range(5)
NEIGHBOURS = (5, 8, 10, 12, 15, 20)
LARGE = 10000


def run() -> Result:
    require("umap")
    s_surface.measure(100, n=600)  # compiles
    table: dict[str, list[tuple[float, float, float]]] = {}
    coverage = []
    for seed in SEEDS:
        sheet = s_surface.sample(seed)
        for name, embed in _candidates().items():
            start = time.perf_counter()
            found = embed(sheet.points)
            seconds = time.perf_counter() - start
            table.setdefault(name, []).append((*_errors(found, sheet.unrolled), seconds))
        coverage.append(_coverage(sheet.points))
    median = {name: np.nanmedian(values, axis=0) for name, values in table.items()}
    best = min((name for name in median if name.startswith("Isomap")), key=lambda name: median[name][1])
    rows = [[name, *(f"{value:.4f}" for value in row[:2]), f"{row[2]:.1f}"] for name, row in median.items()]
    errors = np.array([row[0] for row in table["one chart"]])
    times = _large()
    return Result(
        title="Normal coordinates of the S-surface in R^100",
        method=(
            "3000 observations of the S in the unit cube, noise 0.025 in all 100 coordinates, five seeds; the raw "
            "observations go in, our bandwidth is automatic. The error is the root mean square distance from the exact "
            "unrolling over all observations, after a rigid motion, and after a rigid motion with a free scale. "
            "Medians over the seeds. Isomap is shown at six neighbour counts; PCA+Isomap gets the three components "
            "that carry the S."
        ),
        tables=[
            Table(["method", "RMS, rigid motion", "RMS, free scale", "seconds"], rows),
            Table(["observations", "one chart, s", "Isomap, s"], times, "Fit and transform:"),
        ],
        bars=[
            Bar("RMS of one chart, mean of the seeds", float(errors.mean()), 0.10),
            Bar("RMS of one chart, worst seed", float(errors.max()), 0.10),
            Bar("part of the observations covered, mean", float(np.mean(coverage)), 0.98, at_least=True),
            Bar(f"time over that of {best}, N = 3000", float(median["one chart"][2] / median[best][2]), 1.0),
            Bar(f"time over that of Isomap, N = {LARGE}", float(times[-1][1] / times[-1][2]), 1.0),
        ],
    )


def _candidates() -> dict[str, Callable[[FloatArray], FloatArray]]:
    from sklearn.decomposition import PCA
    from sklearn.manifold import Isomap, LocallyLinearEmbedding

    umap = require("umap")

    def reduced(points: FloatArray) -> FloatArray:
        return np.asarray(Isomap(n_neighbors=10).fit_transform(PCA(3).fit_transform(points)))

    isomaps = {f"Isomap, {k} neighbours": _quiet(Isomap(n_neighbors=k).fit_transform) for k in NEIGHBOURS}
    return {
        "one chart": _quiet(PrincipalSubmanifold(2).fit_transform),
        **isomaps,
        "LTSA, 12 neighbours": _quiet(LocallyLinearEmbedding(n_neighbors=12, method="ltsa").fit_transform),
        "UMAP": _quiet(umap.UMAP(random_state=0, n_jobs=1).fit_transform),
        "PCA to 3, then Isomap": _quiet(reduced),
    }


def _quiet(embed: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
    def run(points: FloatArray) -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return np.asarray(embed(points))
            except ValueError:
                # LTSA's eigenproblem is singular for some clouds; no answer is no error to compare.
                return np.full((len(points), 2), np.nan)

    return run


def _errors(found: FloatArray, truth: FloatArray) -> tuple[float, float]:
    if not np.isfinite(found).all():
        return float("nan"), float("nan")
    rigid, scaled = (s_surface.moved_onto(found, truth, scaled=scaled) for scaled in (False, True))
    return s_surface.root_mean_square(rigid - truth), s_surface.root_mean_square(scaled - truth)


def _coverage(points: FloatArray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.mean(PrincipalSubmanifold(2).fit(points).status_ == Status.OK))


def _large() -> list[list[float]]:
    """Seconds of fit and transform at both sizes."""
    from sklearn.manifold import Isomap

    rows: list[list[float]] = []
    for n in (s_surface.N, LARGE):
        points = s_surface.sample(0, n=n).points
        seconds = []
        for embed in (PrincipalSubmanifold(2).fit_transform, Isomap(n_neighbors=10).fit_transform):
            start = time.perf_counter()
            _quiet(embed)(points)
            seconds.append(time.perf_counter() - start)
        rows.append([n, *seconds])
    return rows
