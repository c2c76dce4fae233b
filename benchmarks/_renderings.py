"""Images of bumpy balls that rotate about two axes under a moving light: few parameters, many columns.

The ball is star-shaped, |p| = r(p/|p|) with r = 1 + Σ h_i exp(s_i (u·c_i − 1)); along the ray through each pixel its
first crossing is found on a grid of depths, with linear interpolation. Shading is Lambertian with some ambient light.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray

_SIDE, _DEPTHS = 32, 48
_BUMPS = 9
_HALF_WIDTH = 1.45
_AMBIENT = 0.25


def renderings(n: int, *, seed: int = 0, turn: float = 1.0, light: float = 0.8) -> tuple[FloatArray, FloatArray]:
    """Images [n, 1024] and their parameters [n, 3]: two angles of turning up to ± ``turn``, one of the light up to
    ± ``light``, radians."""
    rng = np.random.default_rng(seed)
    parameters = rng.uniform(-1.0, 1.0, (n, 3)) * [turn, 0.6 * turn, light]
    centres = rng.standard_normal((_BUMPS, 3))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    heights, sharpness = rng.uniform(0.15, 0.4, _BUMPS), rng.uniform(4.0, 12.0, _BUMPS)
    return np.stack([_image(row, centres, heights, sharpness) for row in parameters]), parameters


def _image(parameters: FloatArray, centres: FloatArray, heights: FloatArray, sharpness: FloatArray) -> FloatArray:
    about_y, about_x, light = parameters
    turned = centres @ (_rotation(0, about_x) @ _rotation(1, about_y)).T
    side = np.linspace(-_HALF_WIDTH, _HALF_WIDTH, _SIDE)
    depths = np.linspace(_HALF_WIDTH, 0.0, _DEPTHS)
    x, y = np.meshgrid(side, side)
    rays = np.stack(np.broadcast_arrays(x[..., None], y[..., None], depths), axis=-1)
    outside = _level(rays, turned, heights, sharpness)
    crossed = outside <= 0.0
    first = np.clip(crossed.argmax(axis=2), 1, None)[..., None]
    above, below = (np.take_along_axis(outside, first - back, axis=2)[..., 0] for back in (1, 0))
    share = np.clip(above / np.where(above > below, above - below, 1.0), 0.0, 1.0)
    depth = depths[first[..., 0] - 1] + share * (depths[first[..., 0]] - depths[first[..., 0] - 1])
    points = np.stack([x, y, depth], axis=-1)
    normals = _gradient(points, turned, heights, sharpness)
    direction = np.array([np.sin(light), 0.4, np.cos(light)]) / np.hypot(1.0, 0.4)
    shade = _AMBIENT + (1.0 - _AMBIENT) * np.maximum(normals @ direction, 0.0)
    # Pixels at the rim are covered in part; a hard edge would make the images jump.
    covered = np.clip(0.5 - outside.min(axis=2) * _SIDE / (2.0 * _HALF_WIDTH), 0.0, 1.0)
    return np.asarray((255.0 * shade * covered).ravel())


def _level(points: FloatArray, centres: FloatArray, heights: FloatArray, sharpness: FloatArray) -> FloatArray:
    """|p| − r(p/|p|), negative inside."""
    length = np.maximum(np.linalg.norm(points, axis=-1), 1e-9)
    along = (points / length[..., None]) @ centres.T
    return np.asarray(length - 1.0 - np.exp(sharpness * (along - 1.0)) @ heights + 0.25)


def _gradient(points: FloatArray, centres: FloatArray, heights: FloatArray, sharpness: FloatArray) -> FloatArray:
    steps = 1e-4 * np.eye(3)
    slopes = np.stack(
        [_level(points + step, centres, heights, sharpness) - _level(points - step, centres, heights, sharpness)
         for step in steps], axis=-1,
    )  # fmt: skip
    return np.asarray(slopes / np.maximum(np.linalg.norm(slopes, axis=-1, keepdims=True), 1e-12))


def _rotation(axis: int, angle: float) -> FloatArray:
    turned = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turned[[i, j], [i, j]] = np.cos(angle)
    turned[i, j], turned[j, i] = -np.sin(angle), np.sin(angle)
    return turned


def radial_image(
    x: np.ndarray, y: np.ndarray, turn: float, tilt: float, light: float, bumps: np.ndarray, heights: np.ndarray
) -> np.ndarray:
    """Shading of the radial surface r(u) = 0.65 + Σ h exp(−4 |u − b|²), seen along the third axis."""
    c, s, e, f = np.cos(turn), np.sin(turn), np.cos(tilt), np.sin(tilt)
    rotation = np.array([[c, 0.0, s], [s * f, e, -c * f], [-s * e, f, c * e]])
    depth = np.linspace(1.1, -1.1, 56)
    space = np.stack(np.broadcast_arrays(x[..., None], y[..., None], depth), axis=-1)
    radius = np.linalg.norm(space, axis=-1) + 1e-9
    directions = (space / radius[..., None]) @ rotation
    apart = ((directions[..., None, :] - bumps) ** 2).sum(axis=-1)
    inside = 0.65 + np.exp(-4.0 * apart) @ heights - radius
    hit = inside > 0.0
    seen = hit.any(axis=-1)
    first = hit.argmax(axis=-1)
    here = np.take_along_axis(inside, first[..., None], axis=-1)[..., 0]
    before = np.take_along_axis(inside, np.maximum(first - 1, 0)[..., None], axis=-1)[..., 0]
    height = depth[first] + (depth[0] - depth[1]) * np.where(seen, here / np.maximum(here - before, 1e-9), 0.0)
    height = np.where(seen, height, 0.0)
    slope_y, slope_x = np.gradient(height, 2.0 / 32.0)
    normal = np.stack([-slope_x, -slope_y, np.ones_like(height)], axis=-1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    source = np.array([np.sin(light), 0.3, np.cos(light)])
    shade = np.clip(normal @ (source / np.linalg.norm(source)), 0.0, None)
    return 255.0 * seen * (0.15 + 0.85 * shade)
