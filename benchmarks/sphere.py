"""The paper's sphere experiment over ten seeds, with the documented bandwidth of each noise level."""

from __future__ import annotations

import numpy as np

from benchmarks._report import Bar, Result, Table
from subbundle.experiments import sphere

SEEDS = range(10)
# Noise: largest |mean norm − 1|, largest standard deviation of the norms.
BOUNDS = {0.0: (0.002, 0.0025), 0.1: (0.01, 0.0162)}


def run() -> Result:
    summary, details, bars = [], [], []
    for noise, (off_bound, sd_bound) in BOUNDS.items():
        results = [sphere.measure(noise, seed=seed) for seed in SEEDS]
        mean, sd = (np.array([getattr(r, name) for r in results]) for name in ("mean_norm", "sd_norm"))
        pooled = np.concatenate([np.linalg.norm(r.geodesics.points, axis=2).ravel() for r in results])
        pooled = pooled[np.isfinite(pooled)]
        reached, total = sum(r.n_reached for r in results), sum(len(r.geodesics.status) for r in results)
        paper = "{:.4f} ± {:.4f}".format(*sphere.PAPER[noise])
        ours = f"{pooled.mean():.4f} ± {pooled.std():.4f}"
        summary.append([noise, sphere.BANDWIDTHS[noise], ours, paper, f"{reached} of {total}"])
        details += [
            [noise, seed, f"{r.mean_norm:.4f} ± {r.sd_norm:.4f}", r.n_reached, f"{r.pole_distance:.3f}"]
            for seed, r in zip(SEEDS, results, strict=True)
        ]
        bars += [
            Bar(
                f"noise {noise:g}: distance of the mean norm from 1, all seeds together",
                abs(float(pooled.mean()) - 1.0),
                off_bound,
            ),
            Bar(
                f"noise {noise:g}: distance of the mean norm from 1, root mean square over seeds",
                float(np.sqrt(np.mean((mean - 1.0) ** 2))),
                off_bound,
            ),
            Bar(
                f"noise {noise:g}: distance of the mean norm from 1, worst seed",
                float(np.abs(mean - 1.0).max()),
                off_bound,
            ),
            Bar(f"noise {noise:g}: sd of the norms, all seeds together", float(pooled.std()), sd_bound),
            Bar(f"noise {noise:g}: sd of the norms, worst seed", float(sd.max()), sd_bound),
        ]
    return Result(
        title="75 geodesics of length π on 2000 points around the unit sphere",
        method=(
            "Norms of 200 points along each geodesic from the base point (0, −1, 0), for ten clouds per noise level. "
            "The bars are held against all seeds together and, more strictly, against the root mean square over seeds "
            "and the worst one, whose offset grows with their number."
        ),
        tables=[
            Table(["noise", "bandwidth", "norms, ours", "norms, paper", "reached length π"], summary),
            Table(["noise", "seed", "norms", "reached of 75", "ends to the pole"], details, "Each seed:"),
        ],
        bars=bars,
    )
