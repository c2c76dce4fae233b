"""Clouds of known dimension, 1 to 6, in up to 100 dimensions, with noise relative to their size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subbundle import datasets
from subbundle._types import FloatArray


def shapes(n: int = 2500) -> Iterator[tuple[str, FloatArray, int]]:
    """Name, observations [n, d] and dimension."""
    for noise in (0.0025, 0.02):
        for name, clean, k in _clean(n):
            for dim in sorted({clean.shape[1] + (1 if clean.shape[1] == k else 0), 100 if k != 5 else 40}):
                yield f"{name} in R^{dim}, noise {noise:g}", _lifted(clean, dim, noise), k


def _clean(n: int) -> Iterator[tuple[str, FloatArray, int]]:
    rng = np.random.default_rng(7)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    yield "spiral arm", datasets.curve_in_plane(n, seed=1).clean, 1
    yield "knot", np.column_stack([np.sin(angle) + 2 * np.sin(2 * angle), np.cos(angle) - 2 * np.cos(2 * angle),
                                   -np.sin(3 * angle)]), 1  # fmt: skip
    yield "torus", datasets.torus(n, seed=2).clean, 2
    yield "S", datasets.s_surface(n, seed=3).clean, 2
    yield "Swiss roll", datasets.swiss_roll(n, seed=4).clean, 2
    yield "bumpy sphere", datasets.bumpy_sphere(n, seed=5).clean, 2
    yield "3-sphere", datasets.sphere(n, 3, seed=6).clean, 3
    block = rng.uniform(-1.0, 1.0, (n, 3))
    yield "bent block", np.concatenate([np.cos(block), np.sin(block)], axis=1), 3
    yield "4-sphere", datasets.sphere(n, 4, seed=7).clean, 4
    yield "5-sphere", datasets.sphere(n, 5, seed=8).clean, 5
    yield "6-cube", rng.uniform(-1.0, 1.0, (n, 6)), 6


def _lifted(clean: FloatArray, dim: int, noise: float) -> FloatArray:
    """``clean`` [n, m] turned into R^dim, with noise relative to its diameter in every coordinate."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((dim, clean.shape[1])))[0]
    middle = clean - clean.mean(axis=0)
    size = 2.0 * float(np.quantile(np.linalg.norm(middle, axis=1), 0.99))
    return middle @ turn.T + noise * size * rng.standard_normal((len(clean), dim))
