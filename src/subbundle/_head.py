"""A head-like surface of size 1, in closed form: a sphere with the bumps and dents of a face.

It faces +x, z is up, and its left ear is at +y.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from subbundle._closest import StarSurface, spiral_directions
from subbundle._types import FloatArray

# Direction (x, y, z), height and sharpness of each bump; those with a mirror image are given for the left side.
_MIDDLE = (
    (-0.25, 0.0, 1.0, 0.30, 2.5),  # crown
    (-1.0, 0.0, 0.35, 0.24, 4.0),  # back of the head
    (-0.25, 0.0, -1.0, 0.42, 6.0),  # neck
    (0.72, 0.0, -0.72, 0.26, 16.0),  # chin
    (0.95, 0.0, 0.55, 0.05, 14.0),  # forehead
    (1.0, 0.0, -0.10, 0.27, 90.0),  # tip of the nose
    (1.0, 0.0, 0.08, 0.13, 90.0),  # bridge of the nose
    (0.93, 0.0, -0.375, 0.075, 150.0),  # upper lip
    (0.89, 0.0, -0.475, 0.075, 150.0),  # lower lip
    (0.915, 0.0, -0.425, -0.045, 600.0),  # mouth
    (0.86, 0.0, -0.545, -0.05, 150.0),  # below the lip
)
_BOTH_SIDES = (
    (0.93, 0.34, 0.15, -0.15, 60.0),  # eye socket
    (0.93, 0.33, 0.15, 0.075, 260.0),  # eye
    (0.92, 0.30, 0.36, 0.055, 60.0),  # brow
    (0.80, 0.52, -0.12, 0.07, 30.0),  # cheekbone
    (0.98, 0.10, -0.16, 0.05, 260.0),  # wing of the nose
    (0.91, 0.10, -0.39, 0.055, 150.0),  # upper lip, side
    (0.875, 0.10, -0.47, 0.055, 150.0),  # lower lip, side
    (0.895, 0.11, -0.43, -0.04, 600.0),  # mouth, side
    (0.45, 0.62, -0.60, 0.08, 12.0),  # jaw
    (-0.03, 1.0, 0.02, 0.20, 70.0),  # ear
    (0.06, 1.0, 0.0, -0.12, 160.0),  # hollow of the ear
    (0.25, 0.9, 0.35, -0.05, 10.0),  # temple
)
NOSE: FloatArray = np.array([1.0, 0.0, -0.10])
TOP_LEFT: FloatArray = np.array([0.60, 0.50, 0.62])


@cache
def head_surface() -> tuple[StarSurface, float]:
    """The surface with radius about 1, and the factor that makes its longest side 1."""
    mirrored = [(x, -y, z, height, sharpness) for x, y, z, height, sharpness in _BOTH_SIDES]
    table = np.array([*_MIDDLE, *_BOTH_SIDES, *mirrored])
    centres = table[:, :3] / np.linalg.norm(table[:, :3], axis=1, keepdims=True)
    surface = StarSurface(centres, table[:, 3], table[:, 4])
    directions = spiral_directions(20000)
    sample = surface.radius(directions)[:, None] * directions
    return surface, 1.0 / float(np.ptp(sample, axis=0).max())
