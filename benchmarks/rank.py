"""The dimension of clouds, 1 to 6 in up to 100 dimensions, chosen from the data; compared with scikit-dimension."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks._extras import MissingExtraError, require
from benchmarks._fresh_shapes import fresh
from benchmarks._held_out_shapes import held_out
from benchmarks._report import Bar, Result, Table
from benchmarks._shapes import shapes
from subbundle._types import FloatArray
from subbundle.selection import choose_rank

N = 2000
_SURE = 0.9
Cloud = tuple[str, FloatArray, int]


def run() -> Result:
    lists: list[tuple[str, list[Cloud]]] = [
        ("tuned on", list(shapes(N))), ("held out", list(held_out(N))), ("made last", list(fresh(N)))
    ]  # fmt: skip
    rows: list[list[object]] = []
    right: dict[str, list[bool]] = {}
    sure, points_right, seconds = [], [], 0.0
    for title, clouds in lists:
        right[title] = []
        for name, points, k in clouds:
            start = time.perf_counter()
            choice = choose_rank(points)
            seconds += time.perf_counter() - start
            hit = choice.rank == k
            right[title].append(hit)
            points_right.append(float((choice.per_point == k).mean()))
            sure += [hit] if choice.confidence > _SURE else []
            words = "" if hit else "**missed**"
            rows.append([name, title, k, choice.rank, choice.method, choice.confidence, points_right[-1], words])
    others = [cloud for title, clouds in lists[1:] for cloud in clouds]
    unseen = right["held out"] + right["made last"]
    peers = [["choose_rank", sum(unseen), len(unseen), seconds / len(rows)], *_peers(others)]
    return Result(
        title="Choosing the rank",
        method=(
            f"{N} observations each, noise relative to the diameter in every coordinate, each shape in the smallest "
            "space that holds it or turned into a large one; some with 5 % outliers or a density of 10 : 1. The first "
            "list is the one that thresholds were tuned on. The second was made afterwards; its six misses (curved "
            "shapes of dimension 4 to 6) led to the growth of neighbourhoods, so it is no longer unseen. The third was "
            "made when that was done, and all of it was right at first sight; afterwards the dimensions of single "
            "places were bounded, too. Confidence: part of the places that say the same. The column after it: part of "
            "the observations whose own dimension is right."
        ),
        tables=[
            Table(["cloud", "list", "true", "chosen", "by", "confidence", "right per point", ""], rows),
            Table(["estimator", "right", "of", "seconds a cloud"], peers, "On the second and third list, rounded:"),
        ],
        bars=[
            Bar("right, list tuned on", float(np.mean(right["tuned on"])), 0.95, at_least=True),
            Bar("right, held out", float(np.mean(right["held out"])), 0.95, at_least=True),
            Bar("right, made last", float(np.mean(right["made last"])), 0.95, at_least=True),
            Bar(f"right where confidence exceeds {_SURE:g}", float(np.mean(sure)), 0.95, at_least=True),
            Bar("observations with the right dimension of their own", float(np.mean(points_right)), 0.9, at_least=True),
        ],
    )


def _peers(clouds: Iterable[Cloud]) -> list[list[object]]:
    """Estimators of scikit-dimension at their defaults, those that take less than ten seconds a cloud.

    ESS and lPCA around every point take longer and are left out; lPCA of the whole cloud is plain PCA.
    """
    try:
        estimators = require("skdim").id
    except MissingExtraError:
        return []
    makers: dict[str, Callable[[FloatArray], Any]] = {
        "TwoNN": lambda x: estimators.TwoNN().fit(x).dimension_,
        "MLE": lambda x: estimators.MLE().fit(x).dimension_,
        "CorrInt": lambda x: estimators.CorrInt().fit(x).dimension_,
        "MOM": lambda x: estimators.MOM().fit(x).dimension_,
        "MiND_ML": lambda x: estimators.MiND_ML().fit(x).dimension_,
        "FisherS": lambda x: estimators.FisherS().fit(x).dimension_,
    }
    clouds = list(clouds)
    rows: list[list[object]] = []
    for name, measure in makers.items():
        start, right = time.perf_counter(), 0
        for _, points, k in clouds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = float(measure(points))
            right += int(np.isfinite(found) and round(found) == k)
        rows.append([f"scikit-dimension {name}", right, len(clouds), (time.perf_counter() - start) / len(clouds)])
    return rows
