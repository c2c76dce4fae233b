"""Parameters of a scene that all tiles share: the lattice, noise, spacing and windows.

A mesh of tiles is the same to the bit for every tiling because nothing in it depends on the tiling: grid, voxels and
blocks of the search trees begin at one origin, windows are estimated once for the scene, and everything else is a
function of the observations within `Scale.halo`. The width of the halo follows from the steps and windows of
`subbundle.surface`.

Of up to 250,000 points noise, spacing and windows are those of `subbundle.reconstruct`. Of more points a sample would
be too sparse to resolve the surface, so they are estimated from all points around a few places; where the estimated
noise is wide, from a fraction of the points within a larger radius.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._sampling import smallest
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_places import names_of
from subbundle.distributed.sample import around, read_sample
from subbundle.distributed.tiles import TilePlan
from subbundle.distributed.tuning import BULGE, FINE, PROBES, SCENE_PLACES, SCENE_WINDOWS
from subbundle.kernels import tail
from subbundle.local.tuning import LEFT_OUT, TANGENTIAL_REACH
from subbundle.surface import seeds as seeding
from subbundle.surface import widths as choosing
from subbundle.surface.local import WeightedCloud
from subbundle.surface.pilot import Pilot
from subbundle.surface.prepare import prepare
from subbundle.surface.pyramid import BLOCK as PYRAMID_BLOCK
from subbundle.surface.trim import RINGS
from subbundle.surface.tuning import (
    AVERAGING_ROUNDS,
    BLENDED_RADIUS,
    RIDGE_STEPS,
    RISK_ROUNDS,
    SEED_CELLS,
    START_CELLS,
    STRIDE,
    SUPPORT,
    SURROUNDINGS,
    VOXEL_SIDE,
)

# Side of the blocks of the search trees, in windows.
_BLOCK_WINDOWS = 6.0
# Of a cube of side 1.
DIAGONAL = float(np.sqrt(3.0))
# Most points that noise, spacing and windows are estimated from.
_MOST_POINTS = 250_000
# Side of the blocks of the scene, in cells: seeds in a block are oriented together, and masses and winding numbers
# compared with those within it.
BLOCK = 4 * FINE
# A factor that mixes the bits of a name.
_MIX = 0x1E3779B97F4A7C15


def radius_of(rounds: int) -> float:
    """Radius R, in cells, of a mean with weights (1 − r²/R²)² that is as wide as so many ``rounds`` over a mesh.

    A round averages a vertex with six neighbours, four a cell away and two √2: ⟨r²⟩ = 8/7; the weights have R²/4.
    """
    return float(np.sqrt(32.0 / 7.0 * rounds))


# Radii over which risks, as over the vertices of a mesh with three edges a round, and curvatures are averaged. The
# voxel of a probe lies within twice its side of every seed in it.
AVERAGED, BEND, READ = radius_of(3 * RISK_ROUNDS), radius_of(AVERAGING_ROUNDS), 2.0 * PROBES
# Bandwidths at which the windows of fits end.
_REACH = float(np.sqrt(tail(2, LEFT_OUT)))
# Largest distance from a start to its seed, in windows: steps are at most one long.
_LARGEST_SHIFT = 1 + RIDGE_STEPS


@dataclass(frozen=True, slots=True)
class Scale:
    """Lengths of a scene, and its lattice.

    Attributes
    ----------
    origin : tuple of 3 floats
        Lower corner of cell (0, 0, 0).
    cell, window : float
        Side of the grid cells, and the bandwidth for normals and topology.
    noise, spacing : float
        Of the observations: across the surface, and along it.
    height_noise : float
        Noise estimated from the differences of heights in narrow windows.
    side : float
        Of the voxels that observations are averaged in; 0 for none.
    least_mass : float
        Least kernel mass of a seed, as a fraction of the typical mass around it.
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
    def bandwidths(self) -> FloatArray:
        """The grid of bandwidths of positions."""
        return choosing.bandwidths(self.pilot)

    @property
    def reach(self) -> float:
        """Cells around the seeds in which the indicator is computed."""
        # The corners of a cell are up to √3 further than its points.
        return self.opening * self.window / self.cell + 2.0

    @property
    def rings(self) -> int:
        """Rings of edges from the nearest vertex near an observation up to which a patch is bridged."""
        return int(np.ceil(BULGE * self.opening * self.window / self.cell)) + 1

    @property
    def margin(self) -> int:
        """Cells around a tile in which its mesh is computed before it is cut off at the tile."""
        # Both ends of a gap; and those of the region at a border.
        return 2 * self.rings + 2 * RINGS

    @property
    def largest_shift(self) -> float:
        """Most cells between a seed and the observations that it starts from."""
        return _LARGEST_SHIFT * self.window / self.cell + 2.0 * START_CELLS

    @property
    def widest(self) -> float:
        """Largest radius, in cells, of the weights of a quadric."""
        return max(BLENDED_RADIUS * float(self.bandwidths[-1]) / self.cell, DIAGONAL)

    @property
    def centres(self) -> float:
        """Cells around a tile whose quadrics contribute to its vertices, or to the curvature of those that do."""
        # Filled holes, two windows wide, may extend so far beyond the tile.
        return self.widest + BEND + 4.0

    @property
    def halo(self) -> float:
        """Distance around a tile within which observations are required."""
        # Blocks of the pyramid, or of the finest cloud, begin further out.
        quadrics = self.centres * self.cell + (TANGENTIAL_REACH + VOXEL_SIDE * PYRAMID_BLOCK) * self.bandwidths[-1]
        return max(float(quadrics), self.margin * self.cell + _REACH * self.window + self.lattice[1] + self.side)

    def cells(self, points: FloatArray, side: float | FloatArray = 1.0) -> IntArray:
        """Numbers [n, 3] of the cells, ``side`` grid cells wide, that ``points`` [n, 3] lie in."""
        found: IntArray = np.floor((points - self.corner) / (side * self.cell)).astype(np.int64)
        return found


def plan_scale(plan: TilePlan, bandwidth: float | str = "auto", opening: float = 3.0, *, client: Any = None) -> Scale:
    """Estimate the `Scale` of the scene of ``plan``, to be meshed with gaps up to ``opening`` bridged."""
    rows, sample = read_sample(plan.folder)
    origin = 0.5 * (sample.min(axis=0) + sample.max(axis=0))
    if plan.n_points <= _MOST_POINTS:
        return replace(scale_of(sample, bandwidth, origin=origin), opening=opening)
    places = sample[smallest(rows, SCENE_PLACES)]
    fraction, each = len(rows) / plan.n_points, _MOST_POINTS / SCENE_PLACES
    count = min(max(int(np.ceil(each * fraction)), 8), len(rows) - 1)
    far = cKDTree(sample).query(places, k=[count + 1], p=np.inf)[0][:, 0]
    # On a surface the number of points grows with the square of the radius.
    radius = float(np.median(far)) * np.sqrt(each * fraction / count)
    while True:
        known = cKDTree(places).query(sample, p=np.inf)[0] <= radius
        part = min(_MOST_POINTS * fraction / max(int(known.sum()), 1), 1.0)
        near = around(plan, places, radius, fraction=part, client=client)[1]
        scale = scale_of(_packed(near, places, radius), bandwidth, fraction=part, origin=origin)
        if radius > SCENE_WINDOWS * scale.window or radius > float(np.ptp(sample, axis=0).max()):
            return replace(scale, opening=opening)
        radius = 1.5 * SCENE_WINDOWS * scale.window


def _packed(points: FloatArray, places: FloatArray, radius: float) -> FloatArray:
    """``points`` [n, 3] around ``places`` translated, place by place, to the nodes of a small grid.

    The grid of bandwidths begins at a fraction of the size of the cloud, which then is that of these points.
    """
    nearest = cKDTree(places).query(points, p=np.inf)[1]
    side = int(np.ceil(np.sqrt(len(places))))
    nodes = np.column_stack([np.arange(len(places)) // side, np.arange(len(places)) % side, np.zeros(len(places))])
    moved: FloatArray = points + (4.0 * radius * nodes - places)[nearest]
    return moved


def scale_of(
    sample: FloatArray, bandwidth: float | str = "auto", *, fraction: float = 1.0, origin: FloatArray | None = None
) -> Scale:
    """Estimate the `Scale` from ``sample`` [n, 3], a ``fraction`` of the observations in its region.

    The lattice begins at ``origin`` [3], by default the centre of the sample.
    """
    scan = prepare(np.asarray(sample, np.float64), None, bandwidth, 1, share=fraction, dense=0)
    begin = 0.5 * (sample.min(axis=0) + sample.max(axis=0)) if origin is None else np.asarray(origin, np.float64)
    cloud = WeightedCloud(scan.points, scan.weights)
    seeds = seeding.seed_candidates(cloud, scan.points, scan.weights, scan.window, scan.cell, begin)
    scale = Scale(
        (float(begin[0]), float(begin[1]), float(begin[2])), scan.cell, scan.window, scan.pilot.noise,
        scan.pilot.spacing, scan.pilot.noise, scan.side, SUPPORT,
    )  # fmt: skip
    if len(seeds.points) == 0:
        return scale
    names = names_of(scale.cells(seeds.points, SEED_CELLS))
    least = seeding.valley(mass_fraction(seeds.points, seeds.mass, names, scale, np.arange(len(names))))
    noise = choosing.noise_square(cloud, seeds.points, seeds.normals, scan.pilot)
    return replace(scale, least_mass=least, height_noise=float(np.sqrt(noise)))


def mass_fraction(points: FloatArray, mass: FloatArray, names: IntArray, scale: Scale, rows: IntArray) -> FloatArray:
    """Kernel ``mass`` of the seeds at ``rows``, as a fraction of the median of some of those around; 1 where none is.

    Seeds cover every sheet evenly, whatever its density, and outliers near it have a small fraction of its mass.
    """
    # One in four, by the bits of its name, independent of the tile.
    some = np.flatnonzero(((names * _MIX) >> 40) % STRIDE == 0)
    if len(some) == 0 or len(rows) == 0:
        return np.ones(len(rows))
    ranks = [*range(1, min(SURROUNDINGS, len(some)) + 1)]
    near = cKDTree(points[some]).query(points[rows], k=ranks, distance_upper_bound=BLOCK * scale.cell)[1]
    ordered = np.sort(np.append(mass[some], np.inf)[near], axis=1)
    known = np.isfinite(ordered).sum(axis=1)
    middle = np.stack([np.maximum(known - 1, 0) // 2, known // 2], axis=1)
    typical = np.take_along_axis(ordered, middle, axis=1).mean(axis=1)
    return np.where(known > 0, mass[rows] / typical, 1.0)
