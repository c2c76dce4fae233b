"""False tunnels, which observations fill, and true ones, whose walls were observed.

A loop through a tunnel spans a disc outside of the object, and in a tunnel of radius r the walls are r away from its
centre. If there are, within ½ r of it, half as many observations as around the rim, the tunnel is false, however wide
it is: the surface was perforated where the scan is sparse or in layers. In a true tunnel there is only the noise of its
walls.

A loop around a strut spans a disc inside of the object, where a thin wall has observations nearby on both sides; it
is not cut: most normals at the loop have to point to its centre.

A tunnel two windows wide is full of the noise of its walls, and the smooth surface around it almost closed. But there
are observations all along its axis, and none around them, in the inside of the object; closed, it would have a rod of
observations in its interior. Around a hole in a sheet or in a thin wall the sheets continue.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle.surface import tuning
from subbundle.surface.repair import vertex_normals


class Filled:
    """Decides which loops span discs that ``observations`` [n, 3] fill, for a given ``window``."""

    def __init__(self, observations: FloatArray, window: float) -> None:
        self._observations, self._window = observations, window
        self._tree: cKDTree | None = None

    def __call__(
        self, vertices: FloatArray, faces: IntArray, loops: list[IntArray], short: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Whether each of the ``loops`` is to be cut: it spans a filled disc, or is ``short`` and around no tube."""
        self._tree = self._tree or cKDTree(self._observations)
        normals = vertex_normals(vertices, faces)
        filled = short.copy()
        for i, loop in enumerate(loops):
            rim = vertices[loop]
            middle = rim.mean(axis=0)
            if np.mean(np.sum((middle - rim) * normals[loop], axis=1) > 0.0) <= 0.5:
                continue
            if short[i]:
                filled[i] = not self._tube(rim - middle, middle)
            else:
                # At least the distance to a neighbour, where half of a sparse neighbourhood would be empty.
                far = self._tree.query(rim, k=[2])[0]
                half = 0.5 * np.linalg.norm(rim - middle, axis=1)
                radius = max(float(np.median(half)), float(np.median(far)))
                inside, beside = self._near(middle[None], radius), self._near(rim, radius)
                # Half of the density of a sheet.
                filled[i] = inside[0] >= 0.5 * np.median(beside)
        return filled

    def _tube(self, spokes: FloatArray, middle: FloatArray) -> bool:
        """Whether more lie along the axis of a loop with ``spokes`` [n, 3] than in a ring of that area around it."""
        assert self._tree is not None
        axis = np.cross(spokes, np.roll(spokes, -1, axis=0)).sum(axis=0)
        axis /= max(float(np.linalg.norm(axis)), np.finfo(float).tiny)
        reach = np.sqrt(3.0) * tuning.TUBE_RADII[-1] * self._window
        away = (self._observations[self._tree.query_ball_point(middle, reach)] - middle) / self._window
        height = away @ axis
        inside = np.abs(height) < tuning.TUBE_RADII[-1]
        aside, height = np.sqrt(np.maximum(np.sum(away**2, axis=1) - height**2, 0.0))[inside], height[inside]
        sections = np.linspace(-tuning.TUBE_RADII[-1], tuning.TUBE_RADII[-1], 4)
        for radius in tuning.TUBE_RADII:
            along = np.histogram(height[aside < radius], sections)[0]
            around = np.sum(aside < np.sqrt(2.0) * radius) - along.sum()
            # A sheet has as many around as inside; a uniform tube a third in each section, enough for a surface.
            fewest = max(along.sum() / 6.0, tuning.NEIGHBOURS)
            if along.min() >= fewest and around < along.sum() / 4.0:
                return True
        return False

    def _near(self, places: FloatArray, radius: float) -> IntArray:
        """Number of observations within ``radius`` of each of ``places`` [n, 3]."""
        assert self._tree is not None
        return np.asarray(self._tree.query_ball_point(places, radius, return_length=True))
