"""Odd arguments: clouds, rows and numbers as users, files and other programs pass them, and worse."""

from __future__ import annotations

from typing import Any

import numpy as np

Rng = np.random.Generator

_SIZES = (0, 1, 2, 3, 5, 8, 20, 50, 100, 200)
_DIMS = (1, 2, 3, 3, 3, 4, 6, 10, 30)
_NUMBERS = (0, -1, 1, 2, 3, 1e-300, 1e-12, 1e-3, 0.5, 1e6, 1e18, 1e300, np.nan, np.inf, -0.0, True, None, "auto", "2",
            10**30, np.float32(0.3), np.int8(2), np.array(0.2), np.array([1.0, 2.0]), (), {}, 1j)  # fmt: skip


def number(rng: Rng, typical: float, *, odd: float = 0.2) -> Any:
    """Mostly ``typical`` times a factor within 0.3 … 3; sometimes far off, sometimes no number at all."""
    if rng.random() >= odd:
        return float(typical * np.exp(rng.uniform(-1.2, 1.2)))
    if rng.random() < 0.5:
        return float(typical * 10.0 ** rng.uniform(-6, 6))
    return _NUMBERS[rng.integers(len(_NUMBERS))]


def whole(rng: Rng, low: int, high: int, *, odd: float = 0.15) -> Any:
    """Mostly an integer of ``low..high``."""
    if rng.random() >= odd:
        return int(rng.integers(low, high + 1))
    return _NUMBERS[rng.integers(len(_NUMBERS))]


def choice(rng: Rng, *choices: Any, odd: float = 0.05) -> Any:
    """Mostly one of ``choices``."""
    if rng.random() >= odd:
        return choices[rng.integers(len(choices))]
    return _NUMBERS[rng.integers(len(_NUMBERS))]


def shape(rng: Rng, n: int, dim: int) -> np.ndarray:
    """``n`` points [n, dim] along some curve or surface, on a line, in a lump, or all alike."""
    t, u = rng.uniform(0.0, 2.0 * np.pi, (2, n))
    kinds = {
        "lump": lambda: rng.standard_normal((n, dim)),
        "circle": lambda: np.column_stack([np.cos(t), np.sin(t), *np.zeros((max(dim - 2, 0), n))])[:, :dim],
        "sheet": lambda: np.column_stack([t, u, np.sin(t), *np.zeros((max(dim - 3, 0), n))])[:, :dim],
        "ball": lambda: _unit(rng.standard_normal((n, dim))),
        "line": lambda: t[:, None] * rng.standard_normal(dim),
        "point": lambda: np.tile(rng.standard_normal(dim), (n, 1)),
        "grid": lambda: rng.integers(0, 4, (n, dim)).astype(float),
    }
    names, weights = list(kinds), np.array([2, 4, 4, 4, 1, 0.5, 1])
    points = np.asarray(kinds[names[rng.choice(len(names), p=weights / weights.sum())]](), dtype=float)
    return points + rng.choice([0.0, 0.02, 0.1]) * rng.standard_normal((n, dim))


def spoiled(rng: Rng, points: np.ndarray, *, odd: float = 0.4) -> np.ndarray:
    """The same points with what makes algorithms stumble: outliers, repeated rows, odd scales, gaps, NaN."""
    points = points.copy()
    if not points.size or rng.random() >= odd:
        return points
    kind = rng.integers(9)
    some = rng.integers(len(points), size=max(len(points) // 10, 1))
    if kind == 0:
        points[some[0]] += 10.0 ** rng.uniform(1, 12)
    elif kind == 1:
        points[some] = points[some[0]]
    elif kind == 2:
        points *= 10.0 ** rng.uniform(-300, 300)
    elif kind == 3:
        points += 10.0 ** rng.uniform(3, 12)
    elif kind == 4:
        points[some, rng.integers(points.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    elif kind == 5:
        points[:, rng.integers(points.shape[1])] *= 10.0 ** rng.uniform(-12, 6)
    elif kind == 6:
        points[len(points) // 2 :] += 10.0 ** rng.uniform(0, 3)
    elif kind == 7:
        points[:, rng.integers(points.shape[1])] = 1.0
    else:
        points = np.repeat(points[: max(len(points) // 4, 1)], 4, axis=0)[: len(points)]
    return points


def clothed(rng: Rng, points: np.ndarray, *, odd: float = 0.3) -> Any:
    """The points in another type, layout or container, or of a wrong shape."""
    if rng.random() >= odd:
        return points
    with np.errstate(all="ignore"):
        forms = [
            lambda: points.astype(np.float32), lambda: np.asfortranarray(points), lambda: points.tolist(),
            lambda: np.repeat(points, 2, axis=0)[::2], lambda: points[::-1], lambda: _frozen(points),
            lambda: points.astype(">f8"), lambda: points.astype(np.longdouble), lambda: np.ma.masked_invalid(points),
            lambda: np.nan_to_num(points).clip(-1e9, 1e9).astype(int), lambda: points > 0,
            lambda: _frame(np.atleast_2d(points)),
            lambda: points.astype(object), lambda: points.astype(str), lambda: points + 1j, lambda: points.T,
            lambda: points.ravel(), lambda: points[None], lambda: points[..., :0], lambda: points[..., :-1],
            lambda: None, lambda: "points.csv", lambda: 3.0, lambda: [[1.0], [1.0, 2.0]], lambda: iter(points),
            lambda: np.array([None] * len(points)), lambda: {"points": points},
        ]  # fmt: skip
        return forms[rng.integers(len(forms))]()


def cloud(rng: Rng) -> Any:
    """An odd cloud."""
    n, dim = int(rng.choice(_SIZES)), int(rng.choice(_DIMS))
    return clothed(rng, spoiled(rng, shape(rng, n, dim)))


def fair_cloud(rng: Rng) -> np.ndarray:
    """A cloud that can be learned from, mostly."""
    return spoiled(rng, shape(rng, int(rng.choice([20, 50, 100, 200])), int(rng.choice([2, 3, 3, 3, 5]))), odd=0.3)


def rows(rng: Rng, near: np.ndarray, *, most: int = 5) -> Any:
    """One or a few rows near a cloud, on it or far from it, sometimes odd."""
    count = int(rng.integers(0, most + 1))
    picked = near[rng.integers(len(near), size=count)] if len(near) else np.zeros((count, near.shape[1]))
    picked = picked + rng.choice([0.0, 0.0, 0.05, 3.0]) * rng.standard_normal(picked.shape)
    if count and rng.random() < 0.3:
        return picked[0]
    return clothed(rng, spoiled(rng, picked, odd=0.1), odd=0.1)


def _unit(points: np.ndarray) -> np.ndarray:
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300)


def _frozen(points: np.ndarray) -> np.ndarray:
    copy = points.copy()
    copy.flags.writeable = False
    return copy


def _frame(points: np.ndarray) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return points.tolist()
    return pd.DataFrame(points, columns=[f"x{i}" for i in range(points.shape[1])]) if points.ndim == 2 else points
