"""What all tiles of a scene must know before any of them is meshed: the lattice, noise, spacing and windows.

A mesh of tiles is the same to the bit for every tiling because nothing that decides it depends on one: grid, voxels and
blocks of the search trees begin at one origin, windows follow from one look at the scene, and everything else is a
function of the observations within `Scale.halo` of the place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.surface import widths as choosing
from subbundle.surface.pilot import Pilot
from subbundle.surface.pyramid import BLOCK

# Side of the blocks of the search trees, in windows.
_BLOCK_WINDOWS = 6.0
# Widest windows over the tangent plane end at so many bandwidths, and blocks of their level begin within two more.
_REACH = 3.0 + 0.4 * BLOCK
# Rings of edges from the border in which the mesh may reach beyond the cloud; those over which it is smoothed, and some
# for what a tile owns beyond its box.
RINGS, _SMOOTHED = 10, 16
# Cells beyond that in which seeds speak for a grid point, and a window for a vertex of the border.
_SEEING = 10
# Cells around a tile in which centres of quadrics count for its vertices.
CENTRES = 13.0
# Bits of a cell's number along each axis; the rest of a name is for the vertices of one cell.
NAME_BITS, _OF_CELL = 19, 4


@dataclass(frozen=True, slots=True)
class Scale:
    """Lengths of a scene, and its lattice.

    Attributes
    ----------
    origin : tuple of 3 floats
        Where cell (0, 0, 0) begins.
    cell, window : float
        Side of the grid cells, and the bandwidth for normals and topology.
    noise, spacing : float
        Of the observations: across the surface, and along it.
    height_noise : float
        The noise that explains how heights of narrow windows differ.
    side : float
        Of the voxels that observations are averaged in; 0 for none.
    least_mass, typical_mass : float
        Kernel mass that a seed must have, as a fraction of what is typical around it; what is typical of the scene.
    opening : float
        Half the width, in windows, up to which a patch without observations is bridged.
    """

    origin: tuple[float, float, float]
    cell: float
    window: float
    noise: float
    spacing: float
    height_noise: float
    side: float
    least_mass: float
    typical_mass: float
    opening: float = 3.0

    @property
    def pilot(self) -> Pilot:
        """Noise, spacing and bandwidth as the stages of `subbundle.reconstruct` read them."""
        return Pilot(self.noise, self.spacing, self.window)

    @property
    def corner(self) -> FloatArray:
        """``origin`` as an array [3]."""
        return np.array(self.origin)

    @property
    def lattice(self) -> tuple[FloatArray, float]:
        """Origin and side of the blocks of search trees."""
        return self.corner, _BLOCK_WINDOWS * self.window

    @property
    def rungs(self) -> FloatArray:
        """The bandwidths of positions."""
        return choosing.ladder(self.pilot)

    @property
    def reach(self) -> float:
        """Cells around the seeds in which the surface is looked for."""
        # The corners of a cell are up to √3 further than what lies in it.
        return self.opening * self.window / self.cell + 2.0

    @property
    def rings(self) -> int:
        """Rings of edges from the nearest vertex that is seen up to which a patch is bridged; it may bulge a little."""
        return int(np.ceil(1.25 * self.opening * self.window / self.cell)) + 1

    @property
    def margin(self) -> int:
        """Cells from a tile within which its mesh is known before it is cut off at the tile."""
        return 2 * self.rings + RINGS + _SMOOTHED

    @property
    def halo(self) -> float:
        """How far around a tile its observations must be known."""
        windows = _REACH * float(self.rungs[-1])
        block = self.lattice[1] + self.side
        return max(windows + CENTRES * self.cell, (self.margin + _SEEING) * self.cell + block)

    def cells(self, points: FloatArray, side: float = 1.0) -> IntArray:
        """Numbers [n, 3] of the cells, ``side`` grid cells wide, that ``points`` [n, 3] lie in."""
        found: IntArray = np.floor((points - self.corner) / (side * self.cell)).astype(np.int64)
        return found


def names_of(cells: IntArray, which: IntArray | int = 0) -> IntArray:
    """One number [n] for ``cells`` [n, 3] and ``which`` (0 to 15) of the things in a cell; sorted as the cells are."""
    shifted = cells + (1 << (NAME_BITS - 1))
    if len(shifted) and (shifted.min() < 0 or shifted.max() >= 1 << NAME_BITS):
        raise ValueError(
            f"the scene must be less than {1 << NAME_BITS} cells wide; it has cell "
            f"{cells[np.argmax(np.abs(cells).max(1))]}. Remove far outliers, or pass a larger bandwidth."
        )
    cell = (shifted[:, 0] << (2 * NAME_BITS)) | (shifted[:, 1] << NAME_BITS) | shifted[:, 2]
    named: IntArray = (cell << _OF_CELL) | which
    return named


def cells_of(names: IntArray) -> IntArray:
    """The cells [n, 3] of ``names`` [n]."""
    cell = names >> _OF_CELL
    mask = (1 << NAME_BITS) - 1
    return np.column_stack([cell >> (2 * NAME_BITS), (cell >> NAME_BITS) & mask, cell & mask]) - (1 << (NAME_BITS - 1))
