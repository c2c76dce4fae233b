"""The local model: coverage of its standard errors, accuracy and cost of each option.

Coverage: the fraction of points whose true offset is at most 1.96 standard errors long, for a nominal 95 %, at
bandwidths from half to twice the best one. The best bandwidth of a cloud is the one
with the least root mean square offset from the truth.

Coverage is a probability, over clouds drawn anew, positions and noise. Points of one cloud whose windows overlap
have their errors in common: a draw counts for a few places only, however many points it has. Hence many draws with few
points each, and the standard error of a fraction is that of its mean over draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

import subbundle as sb
from benchmarks._report import Bar, Result, Table
from benchmarks._timing import take_turns
from subbundle._types import FloatArray, IntArray, Status
from subbundle.local.model import LocalModel, fit_local

DRAWS, QUERIES, STEPS, TOLERANCE = 24, 40, 6, 1e-3
# Of the surfaces, the noise and the queries; the constants of standard errors were set on others.
SEED = 31
# Ladder of bandwidths, in sizes of the cloud, by factors of √2.
LADDER = 0.02 * 2.0 ** (np.arange(10) / 2.0)
# A bandwidth counts when this fraction of the rows has so many effective neighbours, twice what a quadric takes.
ENOUGH, NEIGHBOURS = 0.8, 12.0
NAMES = ("½", "1/√2", "best", "√2", "2")
# Coverage, the quantile in brackets, and the standard error of the coverage.
Seen = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Noisy:
    """Draws of a surface with noise in R^dim, and offsets of points [m, dim] from it."""

    name: str
    draws: list[sb.datasets.Dataset]
    dim: int
    noise: float
    size: float

    def sample(self, seed: int) -> tuple[FloatArray, FloatArray]:
        """Noisy observations [n, dim] of draw ``seed``, and `QUERIES` of them."""
        # NumPy's seed [31, 0] is its seed 31, that of the positions of draw 0: noise along the normals.
        rng, clean = np.random.default_rng([SEED, seed, 1]), self.draws[seed]
        points = np.pad(clean.clean, ((0, 0), (0, self.dim - 3)))
        points = points + self.noise * rng.standard_normal(points.shape)
        return points, points[rng.choice(self._inner(clean), QUERIES, replace=False)]

    def _inner(self, clean: sb.datasets.Dataset) -> IntArray:
        """Observations further from the border of the S than noise can carry them along it: beyond the border the
        distance to the surface is no offset across it."""
        rows = np.arange(len(clean.clean))
        if not self.name.startswith("S"):
            return rows
        low, high = np.array([-1.5 * np.pi, 0.0]), np.array([1.5 * np.pi, 2.0])
        to_border = np.minimum(clean.coordinates - low, high - clean.coordinates).min(axis=1)
        return rows[to_border > 3.0 * self.noise]

    def offset(self, points: FloatArray) -> FloatArray:
        """Distance to the surface in its own R³, and in the other coordinates."""
        own = self.draws[0].distance(np.ascontiguousarray(points[:, :3]))
        return np.asarray(np.hypot(own, np.linalg.norm(points[:, 3:], axis=1)))


def clouds() -> Iterator[Noisy]:
    """Spheres, tori, S-surfaces and bumpy spheres, sparse and dense, in R³ and R^10, at three levels of noise."""
    makers = {
        "sphere": (sb.datasets.sphere, 2.0),
        "torus": (sb.datasets.torus, 2.8),
        "S": (sb.datasets.s_surface, 4.0),
        "bumpy sphere": (sb.datasets.bumpy_sphere, 2.0),
    }
    for n in (3000, 10000):
        for name, (make, size) in makers.items():
            draws = [make(n, seed=SEED + draw) for draw in range(DRAWS)]
            for part in (0.0025, 0.01, 0.025):
                for dim in (3, 10) if n == 3000 else (3,):
                    title = f"{name}, {n} points in R^{dim}, noise {part:g}"
                    yield Noisy(title, draws, dim, part * size, size)


def run() -> Result:
    rows, found = [], []
    for cloud in clouds():
        row = _coverage(cloud)
        if row is not None:
            rows.append(row)
            found.append(row[3])
    share = {name: _share([one[name][0] for one in found if name in one], 0.90, 0.98) for name in NAMES}
    least = {name: _share([one[name][0] for one in found if name in one], 0.90, 1.0) for name in NAMES}
    stated = {name: [one[name][1] for one in found if name in one] for name in NAMES}
    errors = [one["best"][2] for one in found]
    middle, largest = np.median(errors), np.max(errors)
    lines = [[*row[:3], *(_pair(row[3].get(name)) for name in NAMES)] for row in rows]
    return Result(
        title="The local model: standard errors, accuracy, time",
        method=(
            f"{QUERIES} observations of each of {DRAWS} draws of a cloud, {STEPS} steps of order 2. Coverage of a "
            f"nominal 95 % at fractions of the best bandwidth, whose standard error over draws is {middle:.3f} in the "
            f"median and {largest:.3f} at most at the best one; in brackets the 95 % quantile "
            "of offset / standard error over 1.96: 1 is right, 0.7 means errors stated 1.4 times too "
            "long. Accuracy: root mean square offset on 20000 points of a torus, noise 0.01 of its size. Time: "
            "processor time per row over that of order 2 without errors."
        ),
        tables=[
            Table(["cloud", "best bandwidth / size", "RMS offset / noise", *NAMES], lines),
            Table(["option", "RMS offset / noise", "time"], _options()),
        ],
        bars=[
            *(Bar(f"rows with 90–98 % at {name}", share[name], 0.9, at_least=True) for name in NAMES),
            *(Bar(f"rows with at least 90 % at {name}", least[name], 0.9, at_least=True) for name in NAMES),
            *(Bar(f"bracket at {name}, median", float(np.median(stated[name])), 1.0) for name in NAMES),
        ],
    )


def _share(values: list[float], low: float, high: float) -> float:
    """Fraction of ``values`` between the two, as they are printed."""
    return float(np.mean([low <= round(value, 2) <= high for value in values]))


def _pair(values: Seen | None) -> str:
    return "" if values is None else f"{values[0]:.2f} [{values[1]:.2f}]"


def _fit(cloud: sb.Cloud, queries: FloatArray, width: float) -> LocalModel:
    # In many dimensions an observation stands alone on its own noise, and would stay there.
    alone = cloud.dim > 3
    return fit_local(cloud, queries, width, 2, steps=STEPS, tol=TOLERANCE, without_self=alone)


def _coverage(noisy: Noisy) -> tuple[str, float, float, dict[str, Seen]] | None:
    draws = [(sb.Cloud(points), queries) for points, queries in map(noisy.sample, range(DRAWS))]
    errors, covered = [], []
    for width in LADDER * noisy.size:
        # Three rungs in a row that are worse: the best one has been passed.
        if len(errors) > 3 and np.isfinite(min(errors)) and int(np.argmin(errors)) < len(errors) - 3:
            break
        offsets, ratios = [], []
        for cloud, queries in draws:
            model = _fit(cloud, queries, width)
            known = (model.n_effective > NEIGHBOURS) & (model.status == Status.OK)
            offsets.append(noisy.offset(model.points)[known])
            ratios.append(offsets[-1] / model.position_error[known])
        counts = np.array([[np.sum(one < 1.96), one.size] for one in ratios], dtype=np.float64)
        offset, ratio = np.concatenate(offsets), np.concatenate(ratios)
        enough = offset.size >= ENOUGH * DRAWS * QUERIES
        errors.append(float(np.sqrt(np.mean(offset**2))) if enough else np.inf)
        if not enough:
            covered.append((np.nan, np.nan, np.nan))
            continue
        share = float(np.mean(ratio < 1.96))
        apart = float(np.linalg.norm(counts[:, 0] - share * counts[:, 1])) / offset.size
        covered.append((share, float(np.quantile(ratio, 0.95)) / 1.96, apart))
    best = int(np.argmin(errors))
    if not np.isfinite(errors[best]):
        return None
    around = {name: best + j - 2 for j, name in enumerate(NAMES)}
    seen = {name: covered[j] for name, j in around.items() if 0 <= j < len(errors) and np.isfinite(errors[j])}
    return noisy.name, float(LADDER[best]), errors[best] / noisy.noise, seen


def _options() -> list[list[object]]:
    """Accuracy and time of the options on one cloud."""
    noise = 0.028
    data = sb.datasets.torus(20000, noise=noise, seed=0)
    cloud, queries, width = sb.Cloud(data.points), data.points[::10], 0.16
    settled = fit_local(cloud, queries, width, 2, steps=4, errors=False)
    fit = partial(fit_local, cloud, queries, width, 2, steps=4)
    robust = partial(fit_local, cloud, settled.points, width, 2, steps=3, robust=4.0 * noise, tangents=settled.tangents)
    options = {
        "order 1": partial(fit, order=1, errors=False),
        "order 2": partial(fit, errors=False),
        "order 2, standard errors": fit,
        "order 2, compact kernel": partial(fit, kernel="compact", errors=False),
        "robust": robust,
    }
    turns = take_turns(options, rounds=5)
    return [
        [
            name,
            float(np.sqrt(np.mean(data.distance(work().points) ** 2))) / noise,
            turns.ratio(name, "order 2", processor=True),
        ]
        for name, work in options.items()
    ]
