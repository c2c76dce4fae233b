"""Observations of thin walls, dealt to the side that they belong to.

A robust window has no weight beyond its cut, but a wall thinner than the cut and the noise of its far side lies inside:
that side then pulls. Once there is a skin, every observation has a nearest sheet of it, and so a normal; around walls
the observations are dealt out by these (`facing`), and each side is projected onto its own. Dealing at the middle of
the wall hardly moves a side: of two sheets 4 noise levels apart 2.3 % of the observations come to the wrong one, where
they stand for those that it lost, and shift it by 0.02 noise levels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.bins import Bins
from subbundle.surface import tuning
from subbundle.surface.facing import Facing, FacingPyramid
from subbundle.surface.local import QuadricFit
from subbundle.surface.orient import across_gap
from subbundle.surface.prepare import Prepared
from subbundle.surface.pyramid import Pyramid, dealt
from subbundle.surface.widths import cut, ladder


class SidedPyramid:
    """`Pyramid` of a scan that looks at one side only of walls too thin for its windows.

    ``vertices``, ``normals`` [n, 3] are those of the skin, without membranes.
    """

    def __init__(self, levels: Pyramid, scan: Prepared, vertices: FloatArray, normals: FloatArray, cell: float) -> None:
        # Those that are asked are about √stride cells apart: within twice that all see a wall of which one does.
        self._levels, self._beside = levels, 2.0 * np.sqrt(tuning.STRIDE) * cell
        self._sided: FacingPyramid | None = None
        rungs = ladder(scan.pilot)
        thickness = float(cut(scan.pilot, rungs).max()) + tuning.CUT_NOISES * scan.pilot.noise
        thin = in_thin_walls(vertices[:: tuning.STRIDE], normals[:: tuning.STRIDE], thickness)
        if not thin.any():
            return
        self._walls = cKDTree(vertices[:: tuning.STRIDE][thin])
        near = np.isfinite(
            self._walls.query(scan.points, distance_upper_bound=tuning.SIDED_REACH * float(rungs[-1]))[0]
        )
        side = normals[Bins(vertices, cell).query(scan.points[near])[1][:, 0]]
        weights = None if scan.weights is None else scan.weights[near]
        facing = Facing(scan.points[near], side, weights, levels.n_jobs)
        self._sided = FacingPyramid(facing, side=scan.side, spacing=scan.pilot.spacing, widest=float(rungs[-1]))

    def quadric(
        self, points: FloatArray, normals: FloatArray, widths: FloatArray, cuts: FloatArray, *, rounds: int,
        along: FloatArray | None = None,
    ) -> QuadricFit:  # fmt: skip
        """As `Pyramid.quadric`."""
        if self._sided is None:
            return self._levels.quadric(points, normals, widths, cuts, rounds=rounds, along=along)
        thin = np.isfinite(self._walls.query(points, distance_upper_bound=self._beside)[0]).astype(np.int64)
        both = self._levels, self._sided
        return dealt(both, thin, points, normals, widths, cuts, rounds=rounds, along=along)


def in_thin_walls(points: FloatArray, normals: FloatArray, thickness: float) -> NDArray[np.bool_]:
    """Which of ``points`` [n, 3], with outward ``normals`` [n, 3], have a far side within ``thickness``.

    Behind them, of a wall, or before them, of a gap.
    """
    bins = Bins(points, thickness / 6.0)
    everyone = np.arange(len(points))
    before, behind = (across_gap(bins, normals, everyone, way * thickness, 0.0)[1] for way in (1.0, -1.0))
    return before | behind
