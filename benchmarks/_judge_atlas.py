"""Errors of atlases with a truth, for `benchmarks.sensitivity`: charts of both kinds on closed and on open surfaces."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

import subbundle as sb
from subbundle._types import FloatArray


def figures() -> dict[str, float]:
    """Distances of blended points from surfaces, errors of normals, areas, borders and distances, wrong meshes."""
    found: dict[str, float] = {}
    wrong = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, cloud, width, area, border, euler in _surfaces():
            bundle = sb.PrincipalSubbundle(cloud, 2, width)
            for kind in ("geodesic", "quadratic"):
                atlas = sb.Atlas(bundle, charts=kind)
                label = f"{name}, {kind}"
                found[f"{label}: charts"] = float(len(atlas))
                blended = atlas.project(cloud[:300])
                seen = np.isfinite(blended.residuals)
                found[f"{label}: not covered"] = 0.01 + 1.0 - float(seen.mean())
                mesh = atlas.mesh()
                wrong += mesh.euler_characteristic != euler
                wrong += atlas.orientable != (name != "band")
                found[f"{label}: area"] = 0.01 + abs(mesh.area / area - 1.0)
                if border:
                    found[f"{label}: border"] = 0.01 + abs(mesh.border_length / border - 1.0)
                if name == "sphere":
                    points = blended.points[seen]
                    radii = np.linalg.norm(points, axis=1)
                    found[f"{label}: off the sphere"] = float(np.abs(radii - 1.0).mean())
                    outward = np.abs(np.sum(atlas.normals(blended)[seen] * points, axis=1)) / radii
                    found[f"{label}: normals"] = float(np.mean(1.0 - outward))
        ball = sb.datasets.sphere(800, noise=0.03, seed=0).points
        model = sb.AtlasEmbedding(2, n_jobs=1).fit(ball)
        some = ball[:40] / np.linalg.norm(ball[:40], axis=1, keepdims=True)
        angles = np.arccos(np.clip(some @ some.T, -1.0, 1.0))
        found["distances"] = float(np.sqrt(np.mean((model.distance(ball[:40]) - angles) ** 2)))
    return found | {"wrong surfaces": 1.0 + wrong}


def _surfaces() -> Iterator[tuple[str, FloatArray, float, float, float, int]]:
    """Observations, a bandwidth, and the area, length of the border and Euler characteristic of the surface."""
    yield "sphere", sb.datasets.sphere(1500, noise=0.03, seed=0).points, 0.15, 4.0 * np.pi, 0.0, 2
    yield "torus", sb.datasets.torus(2000, noise=0.02, seed=0).points, 0.12, 1.6 * np.pi**2, 0.0, 0
    rng = np.random.default_rng(0)
    flat = np.column_stack([rng.uniform(-1.0, 1.0, (1500, 2)), np.zeros(1500)])
    yield "square", flat + 0.02 * rng.standard_normal(flat.shape), 0.15, 4.0, 8.0, 1
    turn, across = rng.uniform(0.0, 2.0 * np.pi, 2000), rng.uniform(-0.4, 0.4, 2000)
    ring = 1.0 + across * np.cos(0.5 * turn)
    band = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), across * np.sin(0.5 * turn)])
    yield "band", band + 0.01 * rng.standard_normal(band.shape), 0.1, 5.0615, 12.8365, 0
