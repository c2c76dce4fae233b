"""Errors for the tuned constants of graph/: path lengths and components of small tables with a truth."""

from __future__ import annotations

import numpy as np

import subbundle as sb
from subbundle.graph import neighbor_graph


def figures() -> dict[str, float]:
    return {**_lengths(), **_components()}


def _lengths() -> dict[str, float]:
    """Paths along a spiral sheet and a circle against arcs in closed form."""
    found = {}
    for noise in (0.0, 0.03, 0.06):
        rng = np.random.default_rng(1)
        angle, height = rng.uniform(0.0, 3.0 * np.pi, 1500), rng.uniform(0.0, 1.0, 1500)
        radius = 0.5 + 0.06 * angle
        sheet = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
        # The arc of a spiral r = a + b φ, by the integral of √(r² + b²).
        grid = np.linspace(0.0, 3.0 * np.pi, 20_001)
        speed = np.hypot(0.5 + 0.06 * grid, 0.06)
        arc = np.interp(angle, grid, np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(grid))]))
        graph = neighbor_graph(sheet + noise * rng.standard_normal(sheet.shape), 12, 2)
        rows = np.arange(0, 1500, 100)
        paths = graph.shortest_paths(rows)
        exact = np.hypot(arc[rows, None] - arc, height[rows, None] - height)
        far = (exact > 1.0) & np.isfinite(paths)
        found[f"spiral sheet, noise {noise:g}"] = float(np.sqrt(np.mean((paths[far] / exact[far] - 1.0) ** 2)))
    return found


def _components() -> dict[str, float]:
    """Tables of one component, unevenly dense, and of two, a little apart; the wrong number in either counts."""
    wrong = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        uneven = np.column_stack([rng.uniform(0.0, 1.0, 300) ** 3, 0.2 * rng.uniform(size=300)])
        sphere = sb.datasets.sphere(150, noise=0.02, seed=seed).points
        pair = np.concatenate([rng.uniform(0.0, 1.0, (150, 2)), rng.uniform(0.0, 1.0, (150, 2)) + [1.6, 0.0]])
        for points, rank, expected in ((uneven, 2, 1), (sphere, 2, 1), (pair, 2, 2)):
            wrong.append(neighbor_graph(points, 8, rank).n_components != expected)
    return {"tables with a wrong number of components": float(np.mean(wrong)) + 0.02}
