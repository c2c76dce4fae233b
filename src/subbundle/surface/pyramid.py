"""The same cloud at several resolutions, so that a wide window costs no more than a narrow one.

For windows of bandwidth a the observations are replaced by their means in voxels of side s ≤ 0.3 a, weighted by their
numbers. Sums over windows stay almost the same: noise that is averaged inside a voxel need not be averaged again. What
changes is the height of a curved surface, for the mean of points spread over s²/12 in every direction lies off it by

    ½ (II_11 + II_22) s²/12,

of which four fifths are subtracted from the fitted height: a thin sheet does not fill its voxels evenly. The sides of
the voxels form a geometric sequence, with the ratio of the grid of bandwidths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.surface import tuning
from subbundle.surface.local import QuadricFit, WeightedCloud, stretches
from subbundle.surface.voxels import voxel_means

# Side of the blocks of a scene, in voxels: a sheet fills a leaf of the search tree.
BLOCK = 5.0


class Levels(Protocol):
    """Observations at several resolutions, for windows of any bandwidth."""

    def quadric(
        self, points: FloatArray, normals: FloatArray, widths: FloatArray, cuts: FloatArray, *, rounds: int,
        along: FloatArray | None = None,
    ) -> QuadricFit:  # fmt: skip
        """`WeightedCloud.quadric` at ``points`` [n, 3] with unit ``normals`` [n, 3]; one bandwidth and cut each [n]."""


def quadrics_by_level(
    levels: Sequence[Levels | WeightedCloud | None], which: IntArray, *views: FloatArray, rounds: int,
    along: FloatArray | None,
) -> QuadricFit:  # fmt: skip
    """`Levels.quadric` of ``views``, row i by ``levels[which[i]]``; undetermined where that is None."""
    fits = []
    for number, level in enumerate(levels):
        rows = np.flatnonzero(which == number)
        if rows.size and level is not None:
            stretched = None if along is None else along[rows]
            fits.append((rows, level.quadric(*(view[rows] for view in views), rounds=rounds, along=stretched)))
    return QuadricFit.gather(len(which), fits, *views[:2])


class Pyramid:
    """Levels of a cloud ``points`` [n, 3] with ``weights`` [n] or None, for windows up to ``widest``.

    ``finest`` is the cloud itself, ``side`` that of the voxels it consists of already (0 if of none). In a scene that
    is processed by tiles voxels and blocks begin at its ``origin``.
    """

    def __init__(
        self, finest: WeightedCloud, points: FloatArray, weights: FloatArray | None, *, side: float, spacing: float,
        widest: float, origin: FloatArray | None = None,
    ) -> None:  # fmt: skip
        self._clouds, self._sides, self.n_jobs = [finest], [side], finest.n_jobs
        level_side = max(tuning.CELL_SPACINGS * spacing, tuning.RUNG_RATIO * side)
        while level_side < tuning.VOXEL_SIDE * widest:
            means, counts = voxel_means(points, weights, level_side, origin)
            # All tiles of a scene have the same levels.
            if origin is not None or tuning.RUNG_RATIO * len(means) < self._clouds[-1].n_points:
                lattice = None if origin is None else (origin, BLOCK * level_side)
                self._clouds.append(WeightedCloud(means, counts, n_jobs=finest.n_jobs, lattice=lattice))
                self._sides.append(level_side)
            level_side *= tuning.RUNG_RATIO

    def quadric(
        self, points: FloatArray, normals: FloatArray, widths: FloatArray, cuts: FloatArray, *, rounds: int,
        along: FloatArray | None = None,
    ) -> QuadricFit:  # fmt: skip
        """`WeightedCloud.quadric` at ``points`` [n, 3], each from the coarsest level fine enough for its ``widths``."""
        across = widths / np.sqrt(stretches(along, len(points)))
        level = np.searchsorted(np.array(self._sides[1:]) / tuning.VOXEL_SIDE, across, side="right")
        fit = quadrics_by_level(self._clouds, level, points, normals, widths, cuts, rounds=rounds, along=along)
        off = tuning.VOXEL_SPREAD * fit.curvature * np.array(self._sides)[level] ** 2 / 24.0
        return replace(fit, points=fit.points - off[:, None] * fit.normals)
