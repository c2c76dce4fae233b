"""The paper's curves on the sphere: 20 data sets from each of five seeds, the first of which is that of the command."""

from __future__ import annotations

import time

import numpy as np

from benchmarks._report import Bar, Result, Table
from subbundle.experiments import sphere_curves

SEEDS = range(5)


def run() -> Result:
    sphere_curves.measure(seed=99, n_datasets=1)  # compiles
    rows, per_seed, seconds, ended = [], [], [], []
    for seed in SEEDS:
        start = time.perf_counter()
        _, fits = sphere_curves.measure(seed=seed)
        seconds.append(time.perf_counter() - start)
        per_seed.append(sphere_curves.errors_of(fits))
        ended.append(all(np.isfinite(curve.points).all() for fit in fits for curve in fit.curves.values()))
    for name in sphere_curves.METHODS:
        medians = [float(np.median(errors[name])) for errors in per_seed]
        pooled = np.concatenate([errors[name] for errors in per_seed])
        rows.append([name, *(f"{value:.3f}" for value in medians), f"{np.median(pooled):.3f}", f"{pooled.max():.2f}"])
    ratios = {
        other: [float(np.median(errors["centred"]) / np.median(errors[other])) for errors in per_seed]
        for other in ("true curve", "tangent PCA", "uncentred")
    }
    carried = [
        float(np.median(errors["centred, from the ridge"]) / np.median(errors["true curve"])) for errors in per_seed
    ]
    bars = [
        Bar("median SSE, centred / true curve, seed 0", ratios["true curve"][0], 2.5),
        Bar("median SSE, centred / tangent PCA, seed 0", ratios["tangent PCA"][0], 0.1),
        Bar("median SSE, centred / uncentred, seed 0", ratios["uncentred"][0], 0.5),
        Bar("median SSE, centred / true curve, median of five seeds", float(np.median(ratios["true curve"])), 2.5),
        Bar("median SSE, centred / tangent PCA, worst of five seeds", max(ratios["tangent PCA"]), 0.1),
        Bar("median SSE, centred / uncentred, worst of five seeds", max(ratios["uncentred"]), 0.5),
        Bar("median SSE, centred from the ridge / true curve, worst of five seeds", max(carried), 2.5),
        Bar("curves that hold NaN", float(ended.count(False)), 0.0),
        Bar("20 data sets, all curves of each", float(np.median(seconds)), 60.0, unit="s"),
    ]
    columns = ["curve", *(f"seed {seed}" for seed in SEEDS), "all 100", "largest"]
    return Result(
        title="curves through 100 noisy observations on the sphere",
        method=(
            "Sum of squared geodesic distances (SSE) of the observations to each curve; medians over 20 data sets a "
            "seed. The first four rows are the paper's: the base point is the within-sample Fréchet mean, an "
            "observation with its own noise, and the centred curve keeps its offset. The last two start from the ridge."
        ),
        tables=[Table(columns, rows)],
        bars=bars,
    )
