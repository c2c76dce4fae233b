"""Drift of H for each integrator on the noisy sphere, at equal steps.

The paper compares Euler and semi-implicit Euler. Neither is symplectic here, because H is not separable.
"""

from __future__ import annotations

import numpy as np

from benchmarks._report import Result, Table
from subbundle import PrincipalSubbundle, datasets
from subbundle.experiments import sphere

NOISE = 0.1
SEEDS = range(2)
N_STEPS = (25, 50, 100, 200)


def run() -> Result:
    found: dict[tuple[str, int], list[sphere.MethodResult]] = {}
    for seed in SEEDS:
        cloud = datasets.sphere(2000, noise=NOISE, seed=seed).points
        bundle = PrincipalSubbundle(cloud, rank=2, bandwidth=sphere.BANDWIDTHS[NOISE])
        for n_steps in N_STEPS:
            for result in sphere.compare_methods(bundle, n_steps=n_steps):
                found.setdefault((result.method, n_steps), []).append(result)
    methods = list(dict.fromkeys(method for method, _ in found))
    rows = [[method, *(_cell(found[method, n]) for n in N_STEPS)] for method in methods if method != "dopri5"]
    free = found["dopri5", N_STEPS[-1]]
    evaluations = float(np.mean([r.evaluations for r in free]))
    return Result(
        title="how well the integrators keep H",
        method=(
            f"Largest |H(t)/H(0) − 1| along a geodesic of length π: median (worst) of 75 geodesics on 2000 points with "
            f"noise {NOISE:g}, bandwidth {sphere.BANDWIDTHS[NOISE]:g}, averaged over {len(SEEDS)} clouds. dopri5 "
            f"chooses its own steps; at its default tolerance: {_cell(free)} with {evaluations:.0f} evaluations."
        ),
        tables=[Table(["method", *(f"{n} steps" for n in N_STEPS)], rows)],
    )


def _cell(results: list[sphere.MethodResult]) -> str:
    return f"{np.mean([r.drift for r in results]):.1e} ({np.mean([r.worst_drift for r in results]):.1e})"
