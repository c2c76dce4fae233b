"""The automatic bandwidth against the best one found with the truth known, and against three other rules."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

import subbundle as sb
from benchmarks._report import Bar, Result, Table
from subbundle import datasets
from subbundle._types import FloatArray, Status
from subbundle.datasets import Dataset
from subbundle.selection import choose_bandwidth

SURFACES = {"sphere": 2.0, "torus": 2.8, "s_surface": 4.0, "swiss_roll": 2.8, "bumpy_sphere": 2.6}
NOISES = (0.0025, 0.005, 0.01, 0.02)
SIZES = (5000, 20000)
QUERIES = 500
RATIO = 2.0**0.25
RULES = ("ours", "largest gap", "normal reference", "√N-th neighbour")


def run() -> Result:
    rows, ratios = [], {rule: [] for rule in RULES}
    for n in SIZES:
        for name, size in SURFACES.items():
            for noise in NOISES if n == SIZES[0] else NOISES[::3]:
                data = getattr(datasets, name)(n, noise=noise * size, seed=3)
                widths = _widths(data.points)
                oracle, least, errors = _oracle(data, _error, widths["ours"])
                for rule in RULES:
                    ratios[rule].append(_at(data, _error, errors, widths[rule]) / least)
                rows.append([name, n, f"{noise:g}", oracle, widths["ours"], *(ratios[rule][-1] for rule in RULES)])
    tangents, off = _tangents()
    seconds = _seconds()
    ours = np.array(ratios["ours"])
    return Result(
        title="Choosing the bandwidth",
        method=(
            "Clouds of 5000 and 20000 points, noise relative to the diameter. The oracle is the bandwidth "
            "of least error "
            "(root mean square distance of the second-order ridge to the true surface, clipped at its 98 % "
            "quantile) on "
            "a ladder of factor 2^(1/4), found with the truth. Other columns: error at the bandwidth of each rule over "
            "the oracle's. Largest gap is the paper's rule; normal reference is Silverman's for density "
            "estimation; the "
            "last takes the median distance to the √N-th neighbour. Infinite: more than a tenth of the "
            "points found no ridge."
        ),
        tables=[
            Table(["surface", "N", "noise", "oracle", "chosen", *RULES], rows),
            Table(["surface", "noise", "oracle", "chosen", "error over the oracle's"], tangents,
                  "Subspaces (purpose=\"tangents\"), root mean square sine of the angle, 5000 points:"),
        ],
        bars=[
            Bar("ridge: error over the oracle's, median", float(np.median(ours)), 1.15),
            Bar("ridge: error over the oracle's, worst", float(ours.max()), 1.5),
            Bar("tangents: error over the oracle's, median", float(np.median(off)), 1.15),
            Bar("tangents: error over the oracle's, worst", float(max(off)), 1.5),
            Bar("choosing at N = 100000 in R³", seconds[0], 5.0, unit="s"),
            Bar("choosing at N = 5000 in R^100", seconds[1], 20.0, unit="s"),
        ],
    )  # fmt: skip


def _widths(points: FloatArray) -> dict[str, float]:
    n, dim = points.shape
    neighbours = cKDTree(points).query(points[:500], k=int(np.sqrt(n)))[0][:, -1]
    return {
        "ours": choose_bandwidth(points, 2).bandwidth,
        "largest gap": choose_bandwidth(points, 2, method="gap").bandwidth,
        "normal reference": float((4.0 / (n * (dim + 2.0))) ** (1.0 / (dim + 4.0)) * points.std(axis=0).mean()),
        "√N-th neighbour": float(np.median(neighbours)),
    }


def _error(data: Dataset, bandwidth: float) -> float:
    ridge = _ridge(data, bandwidth)
    return np.inf if ridge is None else _clipped(data.distance(ridge))


def _ridge(data: Dataset, bandwidth: float) -> FloatArray | None:
    try:
        bundle = sb.PrincipalSubbundle(data.points, 2, bandwidth)
    except ValueError:
        return None
    ridge = sb.ridge_project(bundle, data.points[:QUERIES], max_steps=10)
    arrived = (ridge.status == Status.OK) | (ridge.status == Status.NOT_CONVERGED)
    return ridge.points[arrived] if arrived.mean() >= 0.9 else None


def _clipped(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.minimum(values, np.quantile(values, 0.98)) ** 2)))


def _oracle(
    data: Dataset, error: Callable[[Dataset, float], float], around: float
) -> tuple[float, float, dict[float, float]]:
    """Best bandwidth, its error, and all that were tried: the ladder grows until its least error lies inside."""
    errors = {rung: error(data, around * RATIO**rung) for rung in range(-2, 3)}
    while len(errors) < 24:
        best = min(errors, key=lambda rung: errors[rung])
        if best < min(errors) + 2:
            new = min(errors) - 1
        elif best > max(errors) - 2:
            new = max(errors) + 1
        else:
            break
        errors[new] = error(data, around * RATIO**new)
    best = min(errors, key=lambda rung: errors[rung])
    return around * RATIO**best, errors[best], {around * RATIO**rung: value for rung, value in errors.items()}


def _at(data: Dataset, error: Callable[[Dataset, float], float], known: dict[float, float], width: float) -> float:
    return known.get(width) or error(data, width)


def _tangents() -> tuple[list[list[object]], list[float]]:
    """The bandwidth for the subspaces, on surfaces whose normals are known."""
    rows, off = [], []
    for name, size in (("sphere", 2.0), ("torus", 2.8)):
        for noise in NOISES[::3]:
            data = getattr(datasets, name)(5000, noise=noise * size, seed=3)
            middle = np.ascontiguousarray(data.clean[:QUERIES])

            def error(data: Dataset, width: float, name: str = name, middle: FloatArray = middle) -> float:
                try:
                    frame = sb.PrincipalSubbundle(data.points, 2, width).frame(middle)
                except ValueError:
                    return np.inf
                return _clipped(np.linalg.norm(np.einsum("nd,ndk->nk", _normals(name, middle), frame.vectors), axis=1))

            chosen = choose_bandwidth(data.points, 2, purpose="tangents").bandwidth
            oracle, least, known = _oracle(data, error, chosen)
            off.append(_at(data, error, known, chosen) / least)
            rows.append([name, f"{noise:g}", oracle, chosen, off[-1]])
    return rows, off


def _normals(name: str, points: FloatArray) -> FloatArray:
    if name == "torus":
        ring = points * [1.0, 1.0, 0.0]
        points = points - ring / np.linalg.norm(ring, axis=1, keepdims=True)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _seconds() -> tuple[float, float]:
    """Of a second call: the first compiles."""
    rng = np.random.default_rng(0)
    lifted = datasets.s_surface(5000, seed=1).clean @ np.linalg.qr(rng.standard_normal((100, 3)))[0].T
    clouds = (datasets.bumpy_sphere(100_000, noise=0.0065).points, lifted + 0.025 * rng.standard_normal(lifted.shape))
    found = []
    for points in clouds:
        choose_bandwidth(points[:1000], 2)
        start = time.perf_counter()
        choose_bandwidth(points, 2)
        found.append(time.perf_counter() - start)
    return found[0], found[1]
