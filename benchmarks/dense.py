"""The field in 50 and 100 dimensions, every observation a neighbour, against BLAS forming the weighted covariance once.

BLAS is given the matrix Z with rows √w_n (x_n − m) and computes ZᵀZ, of which NumPy uses one triangle (syrk).
The field computes distances, weights and mean, forms Z, multiplies, decomposes, and passes over all rows again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

import subbundle as sb
from benchmarks._report import Bar, Result, Table
from benchmarks._timing import take_turns
from subbundle.kernels import gaussian_reach

DIMS = (50, 100)
SIZES = (3_000, 5_000, 10_000)
SPHERE_DIM, NOISE, BANDWIDTH = 4, 0.05, 0.5
N_ROWS, ROUNDS = 16, 9


def noisy_sphere(d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """``n`` points of S⁴, turned at random in R^d, with noise in all d coordinates; and clean points to ask at."""
    rng = np.random.default_rng([d, n])
    basis = np.linalg.qr(rng.standard_normal((d, SPHERE_DIM + 1)))[0]
    clean = sb.datasets.sphere(n + N_ROWS, SPHERE_DIM, seed=d).points @ basis.T
    return clean[N_ROWS:] + NOISE * rng.standard_normal((n, d)), clean[:N_ROWS]


@dataclass(frozen=True, slots=True)
class Case:
    """Neighbours of a query on average; milliseconds per point of the field, of ZᵀZ, of ZᵀZ and eigh; field / ZᵀZ."""

    neighbours: float
    milliseconds: list[float]
    ratio: float


def measure(d: int, n: int) -> Case:
    points, queries = noisy_sphere(d, n)
    covectors = np.random.default_rng(0).standard_normal(queries.shape)
    bundle = sb.PrincipalSubbundle(points, SPHERE_DIM, BANDWIDTH, n_jobs=1)
    field = bundle.field(queries, covectors)
    assert (field.status == sb.Status.OK).all(), field.status
    t = np.array([((points - p) ** 2).sum(axis=1) for p in queries]) / BANDWIDTH**2
    neighbours = (t < t.min(axis=1, keepdims=True) + gaussian_reach(d)).sum(axis=1).mean()
    w = np.exp(-0.5 * (t[0] - t[0].min()))
    w /= w.sum()
    z = np.sqrt(w)[:, None] * (points - w @ points)
    candidates = {
        "field": lambda: bundle.field(queries, covectors),
        "blas": lambda: [z.T @ z for _ in range(N_ROWS)],
        "eigh": lambda: [np.linalg.eigh(z.T @ z) for _ in range(N_ROWS)],
    }
    with threadpool_limits(1, user_api="blas"):
        turns = take_turns(candidates, rounds=ROUNDS)
    milliseconds = [1e3 * turns.seconds(name, processor=True) / N_ROWS for name in candidates]
    return Case(float(neighbours), milliseconds, turns.ratio("field", "blas", processor=True))


def run() -> Result:
    rows, bars = [], []
    for d in DIMS:
        for n in SIZES:
            case = measure(d, n)
            rows.append([d, n, round(case.neighbours), *case.milliseconds, case.ratio])
            bars.append(Bar(f"d = {d}, {n} points: field / weighted covariance by BLAS", case.ratio, 2.5))
    return Result(
        title="the field in high dimension, all observations neighbours",
        method=(
            f"Noisy S⁴ in R^d, rank {SPHERE_DIM}, bandwidth {BANDWIDTH:g}; {N_ROWS} points at a time, one thread, BLAS "
            "held to one thread. Milliseconds per point. The covariance by BLAS is ZᵀZ from a ready matrix Z; with a "
            "full decomposition added for comparison."
        ),
        tables=[Table(["d", "observations", "neighbours", "field", "ZᵀZ", "ZᵀZ and eigh", "field / ZᵀZ"], rows)],
        bars=bars,
    )
