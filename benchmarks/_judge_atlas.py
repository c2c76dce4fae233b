"""Errors of atlases with a truth, for `benchmarks.sensitivity`: charts of both kinds on a sphere, and distances."""

from __future__ import annotations

import warnings

import numpy as np

import subbundle as sb


def figures() -> dict[str, float]:
    """Distances of blended points from the sphere, errors of normals and of distances, places not covered."""
    cloud = sb.datasets.sphere(1500, noise=0.03, seed=0).points
    bundle = sb.PrincipalSubbundle(cloud, 2, 0.15)
    found: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("geodesic", "quadratic"):
            atlas = sb.Atlas(bundle, charts=kind)
            blended = atlas.project(cloud[:300])
            seen = np.isfinite(blended.residuals)
            found[f"{kind}: off the sphere"] = float(np.abs(np.linalg.norm(blended.points[seen], axis=1) - 1.0).mean())
            found[f"{kind}: not covered"] = 1.0 - float(seen.mean())
            outward = np.abs(np.sum(atlas.normals(blended)[seen] * blended.points[seen], axis=1))
            found[f"{kind}: normals"] = float(np.mean(1.0 - outward))
            found[f"{kind}: volume"] = abs(atlas.mesh().volume / (4.0 / 3.0 * np.pi) - 1.0)
        model = sb.AtlasEmbedding(2, n_jobs=1).fit(cloud[:800])
        some = cloud[:40] / np.linalg.norm(cloud[:40], axis=1, keepdims=True)
        angles = np.arccos(np.clip(some @ some.T, -1.0, 1.0))
        found["distances"] = float(np.sqrt(np.mean((model.distance(cloud[:40]) - angles) ** 2)))
    return found
