"""Errors for the tuned constants of bundles/: densities, borders and ridges of small clouds with a truth."""

from __future__ import annotations

import numpy as np

import subbundle as sb
from subbundle._types import FloatArray

NOISE = 0.03


def figures() -> dict[str, float]:
    return {**_plane(), **_sphere(), **_few()}


def _square(n: int, dim: int, seed: int) -> FloatArray:
    """Noisy observations of the square [−1, 1]² in the first two coordinates."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(-1.0, 1.0, (n, 2)), NOISE * rng.standard_normal((n, dim - 2))])


def _plane() -> dict[str, float]:
    found = {}
    for dim, width in ((3, 0.15), (10, 0.2)):
        points = _square(2000, dim, dim)
        bundle = sb.PrincipalSubbundle(points, 2, width)
        inner = np.zeros((200, dim))
        inner[:, :2] = np.random.default_rng(1).uniform(-0.5, 0.5, (200, 2))
        density = bundle.frame(inner).density
        found[f"density in the middle of a square in R^{dim}, from 1"] = float(abs(np.log(np.median(density)))) + 0.05
        curves = sb.geodesic(bundle, np.zeros(dim), [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], length=3.0)
        beyond = np.nanmax(np.abs(curves.points[:, :, :2]), axis=(1, 2)) - 1.0
        found[f"end of geodesics beyond a border in R^{dim}, in bandwidths"] = float(np.abs(beyond).mean() / width)
    return found


def _sphere() -> dict[str, float]:
    """Observations and points away from them, projected; a bandwidth that varies; a manifold."""
    rng = np.random.default_rng(6)
    sphere = sb.datasets.sphere(1500, noise=NOISE, seed=6)
    start = np.concatenate([sphere.points[:100], sphere.points[:100] * rng.uniform(0.6, 1.6, (100, 1))])
    found = {}
    widths = {"one bandwidth": 0.2, "varying": sb.LocalBandwidth([[0, 0, -1.0], [0, 0, 1.0]], [0.15, 0.3], 1.0)}
    for name, width in widths.items():
        ridge = sb.ridge_project(sb.PrincipalSubbundle(sphere.points, 2, width), start)
        arrived = ridge.status == sb.Status.OK
        off = np.minimum(np.abs(np.linalg.norm(ridge.points, axis=1) - 1.0), 0.3)
        found[f"{name}: offset of the ridge"] = float(np.sqrt(np.mean(off[arrived] ** 2))) / NOISE
        found[f"{name}: fraction that does not arrive"] = float(np.mean(~arrived)) + 0.02
    band = sphere.points[np.abs(sphere.points[:, 2]) < 0.1]
    band /= np.linalg.norm(band, axis=1, keepdims=True)
    bundle = sb.RiemannianSubbundle(band, 1, 0.3, space=sb.spaces.Sphere(2))
    found["density along an equator, from 1"] = float(abs(np.log(np.median(bundle.frame(band).density)))) + 0.05
    return found


def _few() -> dict[str, float]:
    """A circle of few points, wider and wider apart."""
    lost, off = [], []
    for n in (8, 12, 20):
        angle = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        ridge = sb.ridge_project(sb.PrincipalSubbundle(circle, 1, 4.0 / n), 1.1 * circle)
        lost.append(np.mean(ridge.status != sb.Status.OK))
        off.append(np.abs(np.linalg.norm(ridge.points, axis=1) - 1.0).mean())
    return {
        "few points: fraction that does not arrive": float(np.mean(lost)) + 0.02,
        "few points: offset": float(np.mean(off)),
    }
