"""Charts and their inverses: accuracy and time."""

from __future__ import annotations

import time

import numpy as np

from benchmarks._report import Bar, Result, Table
from subbundle import PrincipalSubbundle, datasets
from subbundle.bundles.ridge import carry_to_ridge
from subbundle.charts.chart import Chart
from subbundle.geodesics import exp
from subbundle.geodesics.log import log

BANDWIDTH, RADIUS = 0.15, 1.2
REPEATS = 30


def run() -> Result:
    bundle = PrincipalSubbundle(datasets.sphere(20000, seed=0).points, 2, BANDWIDTH)
    base = carry_to_ridge(bundle, np.array([0.0, 0.0, 1.0])).points
    chart = Chart(bundle, base, RADIUS)
    rng = np.random.default_rng(0)
    angle, distance = rng.uniform(0.0, 2.0 * np.pi, 200), RADIUS * np.sqrt(rng.uniform(0.01, 0.9, 200))
    wanted = distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    there = exp(bundle, base, wanted, tol=1e-9)
    searched = np.abs(log(bundle, base, there, tol=1e-9).coordinates - wanted).max()
    charted = np.abs(chart.transform(there) - wanted).max()

    noisy = PrincipalSubbundle(datasets.sphere(20000, noise=0.02, seed=1).points, 2, BANDWIDTH)
    own = Chart(noisy, carry_to_ridge(noisy, np.array([0.0, 0.0, 1.0])).points, RADIUS)
    points = noisy.cloud.points[noisy.cloud.points[:, 2] > 0.5]
    coordinates = own.transform(points)
    kept = np.isfinite(coordinates[:, 0])
    again = own.transform(own.inverse_transform(coordinates[kept]))
    closed = np.linalg.norm(again - coordinates[kept], axis=1).max() / BANDWIDTH
    foot = own.inverse_transform(coordinates[kept])
    jacobian = own.jacobian(coordinates[kept])
    tangential = np.einsum("ndk,nd->nk", jacobian, points[kept] - foot)
    normal = (
        np.abs(np.linalg.solve(np.einsum("ndk,ndl->nkl", jacobian, jacobian), tangential[..., None])).max() / BANDWIDTH
    )

    single = _seconds(lambda: own.transform(points[:1]))
    many = np.tile(points[kept], (5, 1))
    rate = len(many) / _seconds(lambda: own.transform(many), 5)
    rows = [
        ["log(exp(v)) − v, log by shooting, 1e-9", f"{searched:.1e}"],
        ["chart.transform(exp(v)) − v, the default chart", f"{charted:.1e}"],
        ["chart's own stated error", f"{chart.interpolation_error:.1e}"],
        ["transform ∘ inverse ∘ transform − transform, bandwidths", f"{closed:.1e}"],
        ["step left to the exact projection (Gauss–Newton), bandwidths", f"{normal:.1e}"],
    ]
    return Result(
        title="Round trips through exp, log and charts on a sphere of 20000 points",
        method=(
            f"Bandwidth {BANDWIDTH:g}, radius {RADIUS:g}, 200 coordinates. The first row shoots geodesics; the others "
            "use the interpolant. The last two rows: observations with noise 0.02, which lie off the surface."
        ),
        tables=[
            Table(["largest difference", ""], rows),
            Table(["transform", ""], [["one point", f"{1e3 * single:.2f} ms"], ["in batch", f"{rate:.0f} points/s"]]),
        ],
        bars=[
            Bar("log(exp(v)) − v on clean data", float(searched), 1e-6),
            Bar("inverse(transform(x)) beside the projection of x, bandwidths", float(max(normal, closed)), 1e-4),
            Bar("transform of one point", 1e3 * single, 2.0, unit="ms"),
            Bar("points a second in batch", rate, 50000.0, at_least=True),
        ],
    )


def _seconds(work: object, repeats: int = REPEATS) -> float:
    """Median time of ``work``."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()  # type: ignore[operator]
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))
