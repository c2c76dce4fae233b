"""Drift of H for each integrator on the noisy sphere, at equal steps.

The paper reports that plain Euler steps kept H better than semi-implicit ones. Neither is symplectic here, because H is
not separable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._report import Result, Table
from subbundle import PrincipalSubbundle, datasets
from subbundle._types import FloatArray
from subbundle.bundles.base import Subbundle
from subbundle.experiments import sphere
from subbundle.geodesics import Geodesics, geodesic
from subbundle.geodesics.start import directions

NOISE = 0.1
SEEDS = range(2)
N_STEPS = (25, 50, 100, 200)
METHODS = ("euler", "semi_implicit_euler", "implicit_midpoint", "rk4")


@dataclass(frozen=True, slots=True)
class MethodResult:
    """Drift of H = ½ |Pη|², which is constant along exact geodesics, for an integrator."""

    method: str
    evaluations: float  # of the field, per geodesic
    drift: float  # largest |H(t)/H(0) − 1|, the median over the geodesics
    worst_drift: float  # the same, the worst geodesic


def compare_methods(bundle: Subbundle, *, n_steps: int = 100, n_geodesics: int = 75) -> list[MethodResult]:
    """Integrate the same geodesics by every fixed-step method with equal steps, and by dopri5 with its own."""
    times = np.linspace(0.0, sphere.LENGTH, n_steps + 1)
    results = []
    for method in (*METHODS, "dopri5"):
        settings: dict[str, Any] = {} if method == "dopri5" else {"step": sphere.LENGTH / n_steps}
        fan = geodesic(bundle, sphere.BASE_POINT, directions(2, n_geodesics), times=times, method=method, **settings)
        drift = hamiltonian_drift(bundle, fan)
        evaluations = float(np.mean(fan.n_evaluations))
        results.append(MethodResult(method, evaluations, float(np.median(drift)), float(drift.max())))
    return results


def hamiltonian_drift(bundle: Subbundle, fan: Geodesics) -> FloatArray:
    """Largest |H(t)/H(0) − 1| of each geodesic, [batch], over its computed points."""
    finite = np.isfinite(fan.points).all(axis=2)
    energy = np.full(finite.shape, np.nan)
    velocity = bundle.field(fan.points[finite], fan.covectors[finite]).velocity
    energy[finite] = 0.5 * np.sum(velocity**2, axis=1)
    drift: FloatArray = np.nanmax(np.abs(energy / energy[:, :1] - 1.0), axis=1)
    return drift


def run() -> Result:
    found: dict[tuple[str, int], list[MethodResult]] = {}
    for seed in SEEDS:
        cloud = datasets.sphere(2000, noise=NOISE, seed=seed).points
        bundle = PrincipalSubbundle(cloud, rank=2, bandwidth=sphere.BANDWIDTHS[NOISE])
        for n_steps in N_STEPS:
            for result in compare_methods(bundle, n_steps=n_steps):
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


def _cell(results: list[MethodResult]) -> str:
    return f"{np.mean([r.drift for r in results]):.1e} ({np.mean([r.worst_drift for r in results]):.1e})"
