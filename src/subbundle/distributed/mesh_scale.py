"""What all tiles of a scene must know before any of them is meshed: the lattice, noise, spacing and windows.

A mesh of tiles is the same to the bit for every tiling because nothing that decides it depends on one: grid, voxels and
blocks of the search trees begin at one origin, windows follow from one look at the scene, and everything else is a
function of the observations within `Scale.halo` of the place. How far that must reach follows from the steps and
windows of `subbundle.surface`.

Of up to 250,000 points noise, spacing and windows are those of `subbundle.reconstruct`. Of more points a sample would
be too sparse to see the surface, so the scene is looked at around a few places, complete there; where its noise turns
out to be wide, further around and with a fraction of the points.
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
# Points of a scene that are looked at, at most.
_LOOKED = 250_000
# Side of the blocks of the scene, in cells: seeds there are turned alike, and masses and winding numbers compared with
# those as far around.
BLOCK = 4 * FINE
# A factor that mixes the bits of a name.
_MIX = 0x1E3779B97F4A7C15


def radius_of(rounds: int) -> float:
    """Radius R, in cells, of a mean with weights (1 − r²/R²)² that is as wide as so many ``rounds`` over a mesh.

    A round averages a vertex with six neighbours, four a cell away and two √2: ⟨r²⟩ = 8/7; the weights have R²/4.
    """
    return float(np.sqrt(32.0 / 7.0 * rounds))


# Radii over which risks are averaged, as over the vertices of a mesh, three edges a round; and curvatures. The voxel of
# a probe lies within twice its side of every seed in it.
AVERAGED, BEND, READ = radius_of(3 * RISK_ROUNDS), radius_of(AVERAGING_ROUNDS), 2.0 * PROBES
# Bandwidths at which the windows of fits end.
_REACH = float(np.sqrt(tail(2, LEFT_OUT)))
# Longest way of a start until it is a seed, in windows: steps are at most one long.
_WANDER = 1 + RIDGE_STEPS


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
    least_mass : float
        Kernel mass that a seed must have, as a fraction of what is typical around it.
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
    def rungs(self) -> FloatArray:
        """The bandwidths of positions."""
        return choosing.bandwidths(self.pilot)

    @property
    def reach(self) -> float:
        """Cells around the seeds in which the surface is looked for."""
        # The corners of a cell are up to √3 further than what lies in it.
        return self.opening * self.window / self.cell + 2.0

    @property
    def rings(self) -> int:
        """Rings of edges from the nearest vertex near an observation up to which a patch is bridged."""
        return int(np.ceil(BULGE * self.opening * self.window / self.cell)) + 1

    @property
    def margin(self) -> int:
        """Cells from a tile within which its mesh is known before it is cut off at the tile."""
        # Where a gap may begin and end; where a border may begin, and how far it is followed.
        return 2 * self.rings + 2 * RINGS

    @property
    def wander(self) -> float:
        """Cells between a seed and the observations that it starts from, at most."""
        return _WANDER * self.window / self.cell + 2.0 * START_CELLS

    @property
    def widest(self) -> float:
        """Cells within which a quadric counts, at most."""
        return max(BLENDED_RADIUS * float(self.rungs[-1]) / self.cell, DIAGONAL)

    @property
    def centres(self) -> float:
        """Cells around a tile within which quadrics count for its vertices, or for the curvature of those that do."""
        # Holes that are filled, two windows wide, may reach so far beyond the tile.
        return self.widest + BEND + 4.0

    @property
    def halo(self) -> float:
        """How far around a tile its observations must be known."""
        # Blocks of the pyramid, or of the finest cloud, begin further out.
        quadrics = self.centres * self.cell + (TANGENTIAL_REACH + VOXEL_SIDE * PYRAMID_BLOCK) * self.rungs[-1]
        return max(float(quadrics), self.margin * self.cell + _REACH * self.window + self.lattice[1] + self.side)

    def cells(self, points: FloatArray, side: float | FloatArray = 1.0) -> IntArray:
        """Numbers [n, 3] of the cells, ``side`` grid cells wide, that ``points`` [n, 3] lie in."""
        found: IntArray = np.floor((points - self.corner) / (side * self.cell)).astype(np.int64)
        return found


def look_at(plan: TilePlan, bandwidth: float | str = "auto", opening: float = 3.0, *, client: Any = None) -> Scale:
    """Look at the scene that ``plan`` has on disk, to be meshed with gaps up to ``opening`` bridged."""
    rows, sample = read_sample(plan.folder)
    origin = 0.5 * (sample.min(axis=0) + sample.max(axis=0))
    if plan.n_points <= _LOOKED:
        return replace(scale_of(sample, bandwidth, origin=origin), opening=opening)
    places = sample[smallest(rows, SCENE_PLACES)]
    fraction, each = len(rows) / plan.n_points, _LOOKED / SCENE_PLACES
    asked = min(max(int(np.ceil(each * fraction)), 8), len(rows) - 1)
    far = cKDTree(sample).query(places, k=[asked + 1], p=np.inf)[0][:, 0]
    # On a surface numbers grow with the square of the radius.
    radius = float(np.median(far)) * np.sqrt(each * fraction / asked)
    while True:
        known = cKDTree(places).query(sample, p=np.inf)[0] <= radius
        part = min(_LOOKED * fraction / max(int(known.sum()), 1), 1.0)
        near = around(plan, places, radius, fraction=part, client=client)[1]
        scale = scale_of(_packed(near, places, radius), bandwidth, fraction=part, origin=origin)
        if radius > SCENE_WINDOWS * scale.window or radius > float(np.ptp(sample, axis=0).max()):
            return replace(scale, opening=opening)
        radius = 1.5 * SCENE_WINDOWS * scale.window


def _packed(points: FloatArray, places: FloatArray, radius: float) -> FloatArray:
    """``points`` [n, 3] around ``places`` moved, each place with its surroundings, to the nodes of a small grid.

    Widths that are tried begin at a fraction of the size of the cloud, which should be that of what is looked at.
    """
    nearest = cKDTree(places).query(points, p=np.inf)[1]
    side = int(np.ceil(np.sqrt(len(places))))
    nodes = np.column_stack([np.arange(len(places)) // side, np.arange(len(places)) % side, np.zeros(len(places))])
    moved: FloatArray = points + (4.0 * radius * nodes - places)[nearest]
    return moved


def scale_of(
    sample: FloatArray, bandwidth: float | str = "auto", *, fraction: float = 1.0, origin: FloatArray | None = None
) -> Scale:
    """Look at ``sample`` [n, 3], a ``fraction`` of the observations at the places it is from.

    The lattice begins at ``origin`` [3], by default the middle of the sample.
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

    Seeds cover every sheet evenly, however dense it is, and outliers beside it have a small fraction of its mass.
    """
    # One in four, by the bits of its name: which ones does not depend on the tile.
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
