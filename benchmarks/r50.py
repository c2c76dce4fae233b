"""The paper's estimated distance in R^50 over twenty clouds."""

from __future__ import annotations

import numpy as np

from benchmarks._report import Bar, Result, Table
from subbundle._types import Status
from subbundle.experiments import r50

# Mean and standard deviation of the paper's error, over twenty clouds.
PAPER_MEAN, PAPER_SD = 0.023, 0.025


def run() -> Result:
    r50.measure(100, n=500, dim=8)  # compiles
    results = [r50.measure(seed) for seed in range(r50.PAPER_CLOUDS)]
    errors, one = (np.array([getattr(r, name) for r in results]) for name in ("error", "one_way_error"))
    seconds = np.array([r.seconds for r in results])
    lost = sum(r.status != Status.OK for r in results)
    rows = [[r.seed, f"{r.error:+.4f}", f"{r.residual:.4f}", r.iterations, f"{r.seconds:.1f}"] for r in results]
    summary = [
        ["mean error", f"{errors.mean():+.4f}", f"{one.mean():+.4f}", f"{PAPER_MEAN:+.3f}"],
        ["standard deviation", f"{errors.std(ddof=1):.4f}", f"{one.std(ddof=1):.4f}", f"{PAPER_SD:.3f}"],
        ["largest residual", f"{max(r.residual for r in results):.4f}", "", "not given"],
        ["searches that did not settle", lost, "", "not given"],
    ]
    return Result(
        title="The distance of two points ¾π apart on a 4-sphere in R^50, from 10000 noisy observations",
        method=(
            "Mean length of log from p to q and from q to p on the dual subspace, bandwidth "
            f"{r50.BANDWIDTH:g}, chosen on other clouds. The residual is the distance of a geodesic's end from its "
            "target; p and q lie on the true sphere, the geodesics near it."
        ),
        tables=[
            Table(["20 clouds", "there and back", "log_p(q) alone", "paper"], summary),
            Table(["seed", "error", "residual", "geodesics", "seconds"], rows, "Each cloud:"),
        ],
        bars=[
            Bar("there and back: distance of the mean error from 0", abs(float(errors.mean())), 0.010),
            Bar("there and back: standard deviation of the error", float(errors.std(ddof=1)), 0.015),
            Bar("median time of a cloud", float(np.median(seconds)), 20.0, unit="s"),
        ],
    )
