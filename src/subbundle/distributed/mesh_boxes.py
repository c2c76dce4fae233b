"""Which tile a place belongs to: the one whose box it lies in, or else the nearest.

Boxes of tiles without observations are left out of a plan, but noise and grid cells reach a little beyond the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray
from subbundle.distributed.tiles import inside as between


@dataclass(frozen=True, slots=True)
class Territory:
    """The box of a tile among those of its neighbours.

    Attributes
    ----------
    boxes : [k, 2, 3]
        Lower and upper corners; disjoint, upper faces belong to the next. All boxes that are nearer than a few cells,
        in the order of the plan.
    own : int
        Row of the tile's own box.
    """

    boxes: FloatArray
    own: int = 0

    @property
    def box(self) -> FloatArray:
        """Corners [2, 3] of the tile."""
        corners: FloatArray = np.asarray(self.boxes, np.float64)[self.own]
        return corners

    def near(self, points: FloatArray, margin: float) -> NDArray[np.bool_]:
        """Which ``points`` [n, 3] lie within ``margin`` of the tile's box, axis by axis."""
        return inside(points, self.box, margin)

    def owns(self, points: FloatArray) -> NDArray[np.bool_]:
        """Which ``points`` [n, 3] belong to the tile; among boxes equally near the first counts."""
        best, owner = np.full(len(points), np.inf), np.full(len(points), -1)
        for number, box in enumerate(np.asarray(self.boxes, np.float64)):
            away = np.zeros(len(points))
            for axis in range(3):
                across = points[:, axis]
                np.maximum(away, np.maximum(box[0, axis] - across, across - box[1, axis]), out=away)
            # Inside is nearer than on an upper face, where the next box begins.
            away[inside(points, box, 0.0)] = -1.0
            nearer = away < best
            best[nearer], owner[nearer] = away[nearer], number
        return np.asarray(owner == self.own)


def inside(points: FloatArray, box: FloatArray, margin: float) -> NDArray[np.bool_]:
    """Which ``points`` [n, 3] lie in the ``box`` [2, 3], widened by ``margin``; upper faces belong to the next."""
    return between(points, box[0] - margin, np.nextafter(box[1] + margin, -np.inf))
