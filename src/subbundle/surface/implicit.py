"""An implicit function from oriented seeds: spectral Poisson on a grid, screened by the seeds.

The indicator of the inside jumps across the surface, so its gradient is the field V of normals on the surface, and

    Δχ₀ = ∇·V,     V = Σ_i n_i A_i δ(x − x_i),

with A_i the area of seed i. V is spread over grid points, χ₀ solved by Fourier transform with a Gaussian of 1 or 1.5
cells, which costs one transform and its inverse. Errors in the areas and normals add a slowly varying function to χ₀,
so that the surface is not a level set. `screening` adds the smoothest function that brings χ to zero at the seeds; it
extends to all of the grid, so χ has a sign everywhere and its zero set closes.

Normals are weighted by areas alone: weights by reliability would weaken V where the data is poor, and leave holes in
the layer of normals there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, bounds
from subbundle.surface import tuning
from subbundle.surface._grid_kernels import local_planes, splat_divergence
from subbundle.surface.screening import screen
from subbundle.surface.seeds import Seeds

# Empty cells around the seeds: the transform is periodic, and periodic images must have no influence.
_MARGIN = 10
# Grid points at most. One takes 28 bytes at the peak of the solution: 1.1 GB.
MOST_CELLS = 40_000_000
# Largest area of a seed, in cells: the disc within which it is evidence where seeds are sparse.
_LARGEST_AREA = np.pi * (tuning.SPARSE_MOST * tuning.SEEN_CELLS / tuning.SPARSE_REACH) ** 2 / tuning.NEIGHBOURS
# Largest width of the band of a non-orientable surface, in cells: planes are evaluated around every seed.
_WIDE = 8.0


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of points ``origin + cell * (i, j, k)``, ``shape`` of them."""

    origin: FloatArray
    cell: float
    shape: tuple[int, int, int]

    def places(self, points: FloatArray) -> FloatArray:
        """``points`` [n, 3] in cells."""
        return np.ascontiguousarray((points - self.origin) / self.cell)


def grid_around(points: FloatArray, cell: float) -> Grid:
    """A grid of the given ``cell`` around ``points`` [n, 3]; of a wider one where it would have too many points."""
    low, high = bounds(points)
    while True:
        least = np.ceil((high - low) / cell).astype(int) + 2 * _MARGIN + 2
        shape = tuple(int(fft.next_fast_len(int(n), real=True)) for n in least)
        if np.prod([float(n) for n in shape]) <= MOST_CELLS:
            return Grid(low - _MARGIN * cell, cell, (shape[0], shape[1], shape[2]))
        cell *= 1.1


def solve(
    points: FloatArray, normals: FloatArray, grid: Grid, smooth: float, n_jobs: int, apart: FloatArray | None = None
) -> NDArray[np.float32]:
    """χ [X, Y, Z], positive outside and zero at seeds ``points`` [n, 3] with outward ``normals`` [n, 3].

    The distances ``apart`` [n] of the seeds to their eighth neighbours give the areas; computed unless given.
    """
    places, areas = grid.places(points), areas_of(points, grid.cell, apart)
    chi = _poisson(places, normals * areas[:, None], grid, smooth, n_jobs)
    screen(chi, places, areas, n_jobs)
    _close_at_border(chi)
    return chi


def solve_locally(seeds: Seeds, grid: Grid, band: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Distances to the tangent planes of the ``seeds`` nearby [X, Y, Z], and their positive side [X, Y, Z, 3].

    For non-orientable surfaces. There is no inside, so small defects of the cloud are not averaged out globally as they
    are in `solve`. Unknown (NaN) further than ``band`` cells from all seeds.
    """
    field, gauge = np.zeros(grid.shape, np.float32), np.zeros((*grid.shape, 3), np.float32)
    local_planes(
        grid.places(seeds.points), seeds.normals, seeds.reliability, tuning.SMOOTH_CELLS, min(band, _WIDE), field, gauge
    )
    return field, gauge


def _close_at_border(chi: NDArray[np.float32]) -> None:
    """Set the two outermost layers of grid points outside, so that the zero set closes inside of the grid."""
    top = float(np.abs(chi).max())
    for axis in range(3):
        ends = np.moveaxis(chi, axis, 0)
        ends[:2], ends[-2:] = top, top


def areas_of(points: FloatArray, cell: float, apart: FloatArray | None = None) -> FloatArray:
    """The area [n] of each seed, in cells, from its distance ``apart`` [n] to its eighth neighbour."""
    if apart is None:
        # Beyond this reach an area is the largest, whatever lies there.
        reach = cell * np.sqrt(_LARGEST_AREA * tuning.NEIGHBOURS / np.pi)
        apart = cKDTree(points).query(points, k=[tuning.NEIGHBOURS + 1], distance_upper_bound=reach)[0][:, 0]
    areas: FloatArray = np.minimum(np.pi * (apart / cell) ** 2 / tuning.NEIGHBOURS, _LARGEST_AREA)
    return areas


def _poisson(places: FloatArray, vectors: FloatArray, grid: Grid, smooth: float, n_jobs: int) -> NDArray[np.float32]:
    """χ [X, Y, Z] in units of its jump; lengths are cells."""
    source = np.zeros(grid.shape, np.float32)
    splat_divergence(places, np.ascontiguousarray(vectors), source)
    spectrum = fft.rfftn(source, workers=n_jobs, overwrite_x=True)
    k = [2.0 * np.pi * fft.fftfreq(n).astype(np.float32) for n in grid.shape[:2]]
    k.append(2.0 * np.pi * fft.rfftfreq(grid.shape[2]).astype(np.float32))
    squares = [(wave**2).astype(np.float32) for wave in k]
    damp = [np.exp(-0.5 * smooth**2 * square) for square in squares]
    for i in range(grid.shape[0]):
        square = squares[0][i] + squares[1][:, None] + squares[2][None, :]
        if i == 0:
            square[0, 0] = 1.0
        spectrum[i] *= -damp[0][i] * damp[1][:, None] * damp[2][None, :] / square
    spectrum[0, 0, 0] = 0.0
    chi: NDArray[np.float32] = fft.irfftn(spectrum, s=grid.shape, workers=n_jobs, overwrite_x=True)
    return np.ascontiguousarray(chi, dtype=np.float32)
