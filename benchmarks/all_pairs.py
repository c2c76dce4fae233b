"""All pairs of 2000 points: distances interpolated between the geodesics of landmarks, against exact ones and logs."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

import subbundle as sb
from benchmarks._clouds import torus_distances, torus_mesh, torus_points
from benchmarks._extras import require
from benchmarks._report import Bar, Result, Table
from subbundle._types import FloatArray
from subbundle.geodesics._landmarks import landmark_distances

N, COMPARED, NOISE = 2000, 40, 0.02
COUNTS = (80, 160, 320)
# Pairs whose distance is also found by a log of their own, which takes some tenths of a second.
SINGLE = 100


@dataclass(frozen=True, slots=True)
class Cloud:
    """A bundle, 2000 points of its ridge, and exact distances among the first 40."""

    name: str
    bundle: sb.PrincipalSubbundle
    points: FloatArray
    truth: FloatArray


def clouds() -> list[Cloud]:
    """A unit sphere and a torus; noise across the surface for the points compared, in all directions for the rest."""
    rng = np.random.default_rng(0)
    ball = rng.standard_normal((N, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    truth = np.arccos(np.clip(ball[:COMPARED] @ ball[:COMPARED].T, -1.0, 1.0))
    vertices, _ = torus_mesh()
    rows = rng.choice(len(vertices), COMPARED, replace=False)
    # Uniform by area: accepted in proportion to the ring's radius.
    angles = rng.uniform(0.0, 2.0 * np.pi, (4 * N, 2))
    angles = angles[rng.uniform(0.0, 1.4, len(angles)) < 1.0 + 0.4 * np.cos(angles[:, 1])][: N - COMPARED]
    torus = np.concatenate([vertices[rows], torus_points(angles)])
    ring = torus * [1.0, 1.0, 0.0] / np.linalg.norm(torus[:, :2], axis=1, keepdims=True)
    return [
        _noisy("sphere", ball, ball, 0.2, truth, rng),
        _noisy("torus", torus, (torus - ring) / 0.4, 0.15, torus_distances(tuple(rows.tolist())), rng),
    ]


def _noisy(
    name: str, clean: FloatArray, normals: FloatArray, width: float, truth: FloatArray, rng: np.random.Generator
) -> Cloud:
    noise = NOISE * rng.standard_normal(clean.shape)
    first = normals[:COMPARED]
    noise[:COMPARED] = np.einsum("nd,nd->n", noise[:COMPARED], first)[:, None] * first
    bundle = sb.PrincipalSubbundle(clean + noise, 2, width)
    return Cloud(name, bundle, sb.ridge_project(bundle, clean + noise).points, truth)


def run() -> Result:
    require("pygeodesic")
    rows, bars = [], []
    for cloud in clouds():
        upper = np.argwhere(np.triu(cloud.truth > 0.1, 1))
        some = upper[np.random.default_rng(1).choice(len(upper), SINGLE, replace=False)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.process_time()
            single = sb.distance(cloud.bundle, cloud.points[some[:, 0]], cloud.points[some[:, 1]])
            spent = (time.process_time() - begin) / SINGLE * N * (N - 1) / 2
            found = {"single logs": (np.nan, spent, single, some)}
            for count in COUNTS:
                wall, begin = time.perf_counter(), time.process_time()
                matrix, _ = landmark_distances(cloud.bundle, cloud.points, None, 1e-4, count=count)
                spent, wall = time.process_time() - begin, time.perf_counter() - wall
                found[f"{count} landmarks"] = (wall, spent, matrix[upper[:, 0], upper[:, 1]], upper)
                if count == 160:
                    bars.append(Bar(f"{cloud.name}: all pairs of {N} points", wall, 20.0, unit="s"))
                    apart = np.abs(matrix[some[:, 0], some[:, 1]] / single - 1.0)
                    bars.append(Bar(f"{cloud.name}: median difference from single logs", np.nanmedian(apart), 0.02))
        for way, (wall, spent, lengths, pairs) in found.items():
            error = np.abs(lengths / cloud.truth[pairs[:, 0], pairs[:, 1]] - 1.0)
            rows.append([cloud.name, way, "" if np.isnan(wall) else round(wall, 1), round(spent, 1),
                         *(f"{100 * np.nanquantile(error, q):.2f} %" for q in (0.5, 0.9, 0.99)),
                         f"{100 * np.mean(np.isnan(error)):.1f} %"])  # fmt: skip
    return Result(
        title="All pairs",
        method=(
            f"{N} points, noise {NOISE}; errors against exact distances (on the torus those of a mesh of 48000 "
            f"triangles) between {COMPARED} points whose noise is across the surface. Single logs: {SINGLE} pairs, the "
            "processor time of all pairs extrapolated. `pairwise_distance` takes 160 landmarks for more rows than that."
        ),
        tables=[Table(["cloud", "way", "seconds", "processor seconds", "median", "90 %", "99 %", "not found"], rows)],
        bars=bars,
    )
