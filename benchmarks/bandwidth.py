"""The automatic bandwidth against the best one by the truth, and against three other rules.

`SUBBUNDLE_BENCH_BANDWIDTH=full` runs all combinations. Rows are kept in ``results/bandwidth-rows.json`` when they are
computed, with a fingerprint of the source: an interrupted run continues from there.
"""

from __future__ import annotations

import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _bandwidth_errors as errors
from benchmarks._bandwidth_figure import draw
from benchmarks._bandwidth_rules import RULES
from benchmarks._machine import source
from benchmarks._paper_bandwidths import paper_settings
from benchmarks._report import FOLDER, Bar, Result, Table
from benchmarks._truths import shapes
from subbundle import datasets
from subbundle.experiments import s_surface
from subbundle.selection import choose_bandwidth

NOISES = (0.0025, 0.005, 0.01, 0.02)
SIZES = (5000, 20000)
LARGE, LARGE_SHAPES = 200_000, ("sphere", "torus", "wavy patch")
# Clouds were generated with other seeds while the rule was made.
SEED = 7
ERRORS = {"ridge": errors.ridge_error, "tangents": errors.tangent_error, "geodesics": errors.geodesic_error}
ROWS = FOLDER / "bandwidth-rows.json"


def run() -> Result:
    rows = [row for cloud in _clouds() for row in _measured(*cloud)]
    draw(rows, FOLDER / "bandwidth.png")
    settings = paper_settings()
    seconds = _seconds()
    tables = [
        Table(
            ["shape", "N", "noise", "oracle", "chosen", "ours", *RULES],
            [[row["shape"], row["N"], f"{row['noise']:g}", row["oracle"], row["chosen"],
              *(row["ratios"][rule] for rule in ("ours", *RULES))] for row in rows if row["purpose"] == purpose],
            f"{purpose.capitalize()}: best bandwidth, ours, and the error at that of each rule over the least.",
        )
        for purpose in ERRORS
    ]  # fmt: skip
    tables.append(_summary(rows))
    tables.append(
        Table(["data", "paper's", "ours", "purpose", "best", "error at the paper's", "at ours", "at best"], settings,
              "The paper's own settings; errors with the truth known.")
    )  # fmt: skip
    bars = []
    for purpose in ERRORS:
        ours = _ratios(rows, purpose, "ours")
        bars.append(Bar(f"{purpose}: error over the oracle's, median", float(np.median(ours)), 1.15))
        bars.append(Bar(f"{purpose}: error over the oracle's, worst", float(ours.max()), 1.5))
    off = [max(row[1] / row[2], row[2] / row[1]) if row[6] > row[5] else 1.0 for row in settings]
    bars += [
        Bar("factor from the paper's setting, where that is better, worst", float(max(off)), 1.5),
        Bar("choosing at N = 100000 in R³", seconds[0], 5.0, unit="s"),
        Bar("choosing at N = 5000 in R^100", seconds[1], 20.0, unit="s"),
    ]
    return Result(title="Choosing the bandwidth", method=METHOD, tables=tables, bars=bars)


METHOD = (
    "Noise is relative to the diameter and in every coordinate. The oracle is the bandwidth of least error on a "
    "ladder of factor 2^(1/4) through ours, found with the truth; other columns are the error at the bandwidth of a "
    "rule over the oracle's. Ridge: mean distance from the shape of 400 observations carried onto the second-order "
    "ridge. Tangents: mean of the largest angle between subspace and tangent space at 400 points of the shape. "
    "Geodesics: mean distance between the ends of 48 geodesics, half the diameter long and started on the ridge, and "
    "those of the shape, in closed form or by its own equations. Largest gap is the paper's rule; kernel sum takes the "
    "steepest growth of Σ exp(−|x − y|²/2ε) (Coifman et al. 2008; Berry and Harlim 2016); normal reference is "
    "Silverman's for densities. Infinite: the bundle refuses this bandwidth, or a tenth of the points found no ridge. "
    "Clouds were drawn with other seeds while the rule was made."
)


def _clouds() -> list[tuple[str, int, float]]:
    every = os.environ.get("SUBBUNDLE_BENCH_BANDWIDTH") == "full"
    found = [(name, n, noise) for n in SIZES for name in shapes() for noise in NOISES]
    if not every:
        # Half of the noises at 20000 points, the other half for every second shape.
        found = [
            (name, n, noise)
            for at, (name, n, noise) in enumerate(found)
            if n == SIZES[0] or (at + at // len(NOISES)) % 2 == 0
        ]
    return found + [(name, LARGE, noise) for name in LARGE_SHAPES for noise in (NOISES if every else NOISES[1:2])]


def _measured(name: str, n: int, noise: float) -> list[dict[str, Any]]:
    """A row per purpose, from the file where it holds them."""
    state, known = source(), _known()
    key = f"{name} {n} {noise:g}"
    if known.get("source") == state and key in known["rows"]:
        return list(known["rows"][key])
    truth = errors.observe(shapes()[name], n, noise, SEED)
    others = {rule: choose(truth.points, truth.shape.rank) for rule, choose in RULES.items()}
    rows = []
    for purpose, error in ERRORS.items():
        chosen = choose_bandwidth(truth.points, truth.shape.rank, purpose=purpose).bandwidth
        oracle, least, tried = errors.best(partial(error, truth), chosen)
        ratios = {"ours": tried[chosen] / least}
        ratios |= {rule: _at(tried, width, partial(error, truth)) / least for rule, width in others.items()}
        rows.append({"shape": name, "N": n, "noise": noise, "purpose": purpose, "oracle": oracle, "chosen": chosen,
                     "least": least, "ratios": ratios})  # fmt: skip
    kept = known["rows"] if known.get("source") == state else {}
    FOLDER.mkdir(exist_ok=True)
    ROWS.write_text(json.dumps({"source": state, "rows": kept | {key: rows}}))
    print(f"{key}: " + ", ".join(f"{row['purpose']} {row['ratios']['ours']:.2f}" for row in rows), flush=True)
    return rows


def _at(tried: dict[float, float], width: float, error: Any) -> float:
    """The error at ``width``: between two bandwidths that were tried by interpolation, else by evaluation."""
    widths, values = np.array(list(tried)), np.array(list(tried.values()))
    if widths[0] <= width <= widths[-1] and np.isfinite(values).all():
        return float(np.exp(np.interp(np.log(width), np.log(widths), np.log(values))))
    return float(error(width))


def _known() -> dict[str, Any]:
    return dict(json.loads(ROWS.read_text())) if Path(ROWS).exists() else {}


def _ratios(rows: list[dict[str, Any]], purpose: str, rule: str) -> np.ndarray:
    return np.array([row["ratios"][rule] for row in rows if row["purpose"] == purpose])


def _summary(rows: list[dict[str, Any]]) -> Table:
    found = [
        [purpose, *(f"{np.median(values):.2f} / {values.max():.2f}"
                    for values in (_ratios(rows, purpose, rule) for rule in ("ours", *RULES)))]
        for purpose in ERRORS
    ]  # fmt: skip
    return Table(["purpose", "ours", *RULES], found, "Median and worst error over the oracle's:")


def _seconds() -> tuple[float, float]:
    """Of a second call: the first compiles."""
    found = []
    for points in (datasets.torus(100_000, noise=0.014, seed=1).points, s_surface.sample(0, n=5000).points):
        choose_bandwidth(points[:600], 2)
        start = time.perf_counter()
        choose_bandwidth(points, 2, purpose="geodesics")
        found.append(time.perf_counter() - start)
    return found[0], found[1]
