"""Errors of charts with a truth, for `benchmarks.sensitivity`: a fan on the sphere, on noisy sheets and in rank 3."""

from __future__ import annotations

import warnings

import numpy as np

import subbundle as sb
from benchmarks._sheets import s_sheet
from benchmarks._tables import rigid_error


def figures() -> dict[str, float]:
    """Errors of coordinates, of the way back, and the fraction of the points without coordinates."""
    found: dict[str, float] = {}
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chart = sb.Chart(sb.bundles.SphereTangent(2), [0.0, 0.0, 1.0], max_radius=4.0)
        located = chart.locate(x)
        angle = np.arccos(np.clip(x[:, 2], -1.0, 1.0))
        known = np.isfinite(located.residuals)
        off = np.linalg.norm(located.coordinates[known], axis=1) - angle[known]
        found["sphere: distance from the pole"] = float(np.sqrt(np.mean(off**2)))
        found["sphere: not covered"] = 1.0 - float(known.mean())
        sheet = s_sheet(700, 0)
        bundle = sb.PrincipalSubbundle(sheet.points, 2, 0.25)
        base = sb.ridge_project(bundle, sheet.points[:1]).points[0]
        chart = sb.Chart(bundle, base)
        located = chart.locate(sheet.points, outside="nearest")
        found["S: " + "rigid error"] = rigid_error(sheet.coordinates, located.coordinates)["rigid error"]
        found["S: not covered"] = float(np.mean(located.status != 0))
        u = rng.uniform(-1.0, 1.0, (800, 3))
        cloud = np.column_stack([u, 0.2 * np.sum(u**2, axis=1)])
        bundle = sb.PrincipalSubbundle(cloud, 3, 0.5)
        base = sb.ridge_project(bundle, np.zeros((1, 4))).points[0]
        chart = sb.Chart(bundle, base, 0.8)
        found["rank 3: interpolation error"] = chart.interpolation_error
        inside = chart.locate(cloud)
        found["rank 3: not covered"] = float(np.mean(~np.isfinite(inside.residuals)))
    return found
