"""Clouds for the tests of meshing."""

import numpy as np


def double_torus(n, noise=0.0, seed=0):
    """Points on (y² − x²(1 − x²))² + z² = 0.01, a surface of genus 2, by Newton's method from points around it."""
    rng = np.random.default_rng(seed)
    points = rng.uniform([-1.2, -0.65, -0.15], [1.2, 0.65, 0.15], (20 * n, 3))
    for _ in range(12):
        x, y, z = points.T
        g = y**2 - x**2 * (1.0 - x**2)
        slope = np.column_stack([2.0 * g * (4.0 * x**3 - 2.0 * x), 4.0 * g * y, 2.0 * z])
        value = g**2 + z**2 - 0.01
        step = value / np.maximum(np.sum(slope**2, axis=1), 1e-6)
        points = points - np.clip(step, -0.2, 0.2)[:, None] * slope
    x, y, z = points.T
    on_it = np.abs((y**2 - x**2 * (1.0 - x**2)) ** 2 + z**2 - 0.01) < 1e-10
    points = points[on_it][:n]
    assert len(points) == n
    return points + noise * rng.standard_normal(points.shape)


def height(x, y):
    return 0.2 * np.sin(3.0 * x) * np.cos(2.0 * y)


def bumpy_patch(n, noise=0.0, seed=0, hole=0.0):
    """Points over the square [−1, 1]², without a disc of radius ``hole`` in the middle."""
    rng = np.random.default_rng(seed)
    flat = rng.uniform(-1.0, 1.0, (2 * n, 2))
    flat = flat[np.hypot(*flat.T) > hole][:n]
    clean = np.column_stack([flat, height(*flat.T)])
    return clean + noise * rng.standard_normal(clean.shape)


def patch_border():
    """Length of the border of the patch."""
    t, one = np.linspace(-1.0, 1.0, 4001), np.ones(4001)
    sides = [(t, one), (t, -one), (one, t), (-one, t)]
    return sum(np.linalg.norm(np.diff(np.column_stack([x, y, height(x, y)]), axis=0), axis=1).sum() for x, y in sides)


def moebius_band(n, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    t, w = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-0.4, 0.4, n)
    ring = 1.0 + w * np.cos(0.5 * t)
    clean = np.column_stack([ring * np.cos(t), ring * np.sin(t), w * np.sin(0.5 * t)])
    return clean + noise * rng.standard_normal(clean.shape)
