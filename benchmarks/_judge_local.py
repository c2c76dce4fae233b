"""Errors for the tuned constants of local/: offsets, noise and coverage of fits to small clouds with a truth."""

from __future__ import annotations

import numpy as np

import subbundle as sb
from subbundle._types import FloatArray
from subbundle.graph.neighborhoods import nearest_rows
from subbundle.local.frames import tangents_from_normals
from subbundle.local.model import fit_local
from subbundle.local.neighbor_fits import curved_fits

NOISE = 0.03


def figures() -> dict[str, float]:
    return {**_balls(), **_robust(), **_ridges(), **_tables()}


def _rms(offsets: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(offsets)))) / NOISE


def _balls() -> dict[str, float]:
    found = {}
    torus = sb.datasets.torus(3000, noise=NOISE, seed=3)
    for dim, width in ((3, 0.2), (3, 0.4), (5, 0.3), (20, 0.6)):
        rng = np.random.default_rng(dim)
        points = np.pad(torus.points, ((0, 0), (0, dim - 3)))
        points[:, 3:] = NOISE * rng.standard_normal((len(points), dim - 3))
        rows = 20 if dim > 16 else 100
        model = fit_local(sb.Cloud(points), points[:rows], width, 2, steps=5, without_self=dim > 3)
        off = np.hypot(torus.distance(model.points[:, :3].copy()), np.linalg.norm(model.points[:, 3:], axis=1))
        name = f"torus in R^{dim}, width {width:g}"
        found[f"{name}: offset"] = _rms(off)
        found[f"{name}: error of the noise"] = float(np.abs(np.log(np.nanmedian(model.noise) / NOISE))) + 0.1
        found[f"{name}: quantile of offset / error from 1"] = (
            float(abs(np.log(np.nanquantile(off / model.position_error, 0.95) / 1.96))) + 0.1
        )
    return found


def _robust() -> dict[str, float]:
    found = {}
    sphere = sb.datasets.sphere(4000, noise=NOISE, seed=4)
    normals = sphere.clean[:200] + 0.4 * np.random.default_rng(1).standard_normal((200, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    for width, rounds in ((0.2, 2), (0.5, 3)):
        model = fit_local(
            sb.Cloud(sphere.points), sphere.points[:200], width, 2, robust=4.0 * NOISE,
            tangents=tangents_from_normals(normals), steps=rounds, errors=False,
        )  # fmt: skip
        found[f"robust sphere, width {width:g}"] = _rms(np.linalg.norm(model.points, axis=1) - 1.0)
    rng = np.random.default_rng(5)
    walls = rng.uniform(-1.0, 1.0, (4000, 3))
    walls[:, 2] = 0.5 * NOISE * rng.standard_normal(4000) + np.where(rng.uniform(size=4000) < 0.5, 0.0, 8.0 * NOISE)
    low = np.flatnonzero((walls[:, 2] < 4.0 * NOISE) & (np.abs(walls[:, :2]).max(axis=1) < 0.7))[:200]
    up = tangents_from_normals(np.tile([0.0, 0.0, 1.0], (len(low), 1)))
    model = fit_local(sb.Cloud(walls), walls[low], 0.2, 2, robust=2.0 * NOISE, tangents=up, steps=3, errors=False)
    found["robust wall beside another"] = _rms(model.points[:, 2])
    return found


def _ridges() -> dict[str, float]:
    """Observations, and points away from them, of a thin sphere."""
    found = {}
    for dim, width in ((3, 0.2), (8, 0.3)):
        rng = np.random.default_rng(6)
        sphere = sb.datasets.sphere(1200, noise=0.0, seed=6)
        points = np.pad(sphere.clean, ((0, 0), (0, dim - 3))) + NOISE * rng.standard_normal((1200, dim))
        bundle = sb.PrincipalSubbundle(points, 2, width, kernel="gaussian")
        start = np.concatenate([points[:60], points[:60] * rng.uniform(0.7, 1.5, (60, 1))])
        ridge = sb.ridge_project(bundle, start)
        off = np.hypot(np.linalg.norm(ridge.points[:, :3], axis=1) - 1.0, np.linalg.norm(ridge.points[:, 3:], axis=1))
        arrived = ridge.status == sb.Status.OK
        found[f"ridge in R^{dim}: offset"] = _rms(np.minimum(off[arrived], 0.3))
        found[f"ridge in R^{dim}: fraction that does not arrive"] = float(np.mean(~arrived)) + 0.02
    return found


def _tables() -> dict[str, float]:
    rng = np.random.default_rng(7)
    sphere = sb.datasets.sphere(400, noise=0.0, seed=7).clean
    points = np.pad(sphere, ((0, 0), (0, 3))) + NOISE * rng.standard_normal((400, 6))
    fits, _ = curved_fits(points, np.ones(400), nearest_rows(points, 30), 2)
    inside = np.einsum("nkd,nd->nk", fits.frames[:, :, :3], sphere)
    off = np.hypot(np.linalg.norm(fits.points[:, :3], axis=1) - 1.0, np.linalg.norm(fits.points[:, 3:], axis=1))
    bend = np.linalg.norm(fits.forms[:, 0] + fits.forms[:, 2], axis=1)
    return {
        "neighbour fits: offset": _rms(off),
        "neighbour fits: sine of the tangent planes": float(np.sqrt(np.mean(inside**2))),
        "neighbour fits: error of the curvature": float(np.sqrt(np.mean((bend - 2.0) ** 2))),
    }
