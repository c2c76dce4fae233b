"""Connected components side by side: each about its centre, along its principal axes, the largest first."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray

# Gap between two components, as a fraction of the width of the largest.
_GAP = 0.15


def principal_motion(positions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rotation [k, k] and centre [k] with (z − centre) @ rotation along the principal axes, longest first."""
    centre = positions.mean(axis=0)
    centred = positions - centre
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    # The sign of an axis: the longer tail points up. Symmetric data falls back on the sign of the eigenvector.
    return axes * np.where(np.sum((centred @ axes) ** 3, axis=0) < 0.0, -1.0, 1.0), centre


def side_by_side(components: list[FloatArray], least_gap: float) -> tuple[list[FloatArray], list[FloatArray]]:
    """Rotations [k, k] and shifts [k] with z @ rotation + shift laid out for each of ``components`` [n_c, k].

    The second and those after it follow along the first coordinate, no closer than ``least_gap``.
    """
    rotations, shifts = [], []
    edge, gap = 0.0, 0.0
    for number, positions in enumerate(components):
        rotation, centre = principal_motion(positions)
        shift = -centre @ rotation
        low, high = (bound((positions @ rotation)[:, 0]) + shift[0] for bound in (np.min, np.max))
        if number == 0:
            edge, gap = high, max(_GAP * (high - low), least_gap)
        else:
            shift[0] += edge + gap - low
            edge += gap + high - low
        rotations.append(rotation)
        shifts.append(shift)
    return rotations, shifts
