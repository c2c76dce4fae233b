"""Errors for the tuned constants of flow/: ends of geodesics against closed forms, borders, and costly bundles."""

from __future__ import annotations

import numpy as np

import subbundle as sb
from subbundle.bundles import SphereTangent
from subbundle.flow import integrate


def figures() -> dict[str, float]:
    return {**_circles(), **_border(), **_costly()}


def _circles() -> dict[str, float]:
    length = 4.0
    run = integrate(SphereTangent(2), np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]]), np.array([length]))
    exact = np.array([np.cos(length), np.sin(length), 0.0])
    return {"end of a great circle": float(np.linalg.norm(run.end_points[0] - exact))}


def _border() -> dict[str, float]:
    """Where geodesics leave a noiseless square, against the point at which the density falls to the limit."""
    rng = np.random.default_rng(2)
    points = np.column_stack([rng.uniform(-1.0, 1.0, (3000, 2)), np.zeros(3000)])
    bundle = sb.PrincipalSubbundle(points, 2, 0.15)
    ends = integrate(bundle, np.zeros((2, 3)), np.eye(3)[:2], np.array([3.0]), unit_speed=True).end_points
    return {"density at the border, from the limit": float(np.abs(np.log(bundle.frame(ends).density / 0.05)).mean())}


def _costly() -> dict[str, float]:
    """How much of a submanifold of rotations is not reached, and by how much a geodesic of them misses its length."""
    space = sb.spaces.SO(3)
    bundle = sb.RiemannianSubbundle(space.random_point(30, np.random.default_rng(1)), 1, 0.7, space=space)
    base = sb.carry_to_ridge(bundle, bundle.rows[0]).points
    found = sb.geodesic(bundle, base, [[1.0], [-1.0]], length=3.0)
    return {"geodesics of rotations that end early": float(np.mean(found.status != sb.Status.OK)) + 0.05}
