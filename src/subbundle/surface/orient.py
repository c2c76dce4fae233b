"""Orientation of unsigned normals.

Neighbours i, j of the 10-nearest-neighbour graph of the seeds, u the unit vector from one to the other, vote with

    s = n_i'·n_j,   n_i' = n_i − 2 (n_i·u) u          (the normal of j, if both lie on a circle)
    vote = sign(s) max(|s| − 0.3, 0)² exp(−((n_i·u)² + (n_j·u)²)/0.25) r_i r_j.

`graph.votes` finds the signs that fulfil them best. Strong votes that still contradict are counted: on a Möbius band a
whole seam.

Where two bodies touch, or nearly so, a few votes pass between walls that face each other, and their sign is arbitrary.
A line of length l on a sheet is crossed by votes of (2/π) l Σ |vote| distance/area in the mean (Cauchy and Crofton).
First, clusters larger than a ball as wide as the narrowest resolved neck are joined only by at least the votes across a
line of that width, later by fewer if these agree, as between two sheets in one window they do not. Those that come out
as closed surfaces are not joined to each other; all else is, as above. A surface is closed if n·d, below, is near one,
the mean normal, the fraction that is missing of a sphere, near zero, and n·d not small in two opposite directions, as
at the ends of a tunnel.

Each connected component is oriented outward, by the mean of n·d at the seeds furthest in 26 directions d, which lie on
its hull, or upward, by the mean height of its normals n, whichever is larger in absolute value. The mean normal of a
closed surface is zero; at the two ends of a sheet that is nearly a height field, like terrain, n·d cancels. Of a
spherical cap, a height field up to 90 degrees, the two are equal at about 60. A component inside of another is the wall
of a cavity and oriented inward, one inside of that outward again: with areas A_i, the winding number
Σ A_i n_i·(x_i − x)/(4π |x_i − x|³) of a component is 1 inside of it and 0 outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle import _elementwise
from subbundle._groups import components_of, members_of
from subbundle._types import FloatArray, IntArray
from subbundle.bins import Bins
from subbundle.graph.votes import majority_signs, merge_votes
from subbundle.surface import tuning
from subbundle.surface.facing import cube_directions
from subbundle.surface.implicit import areas_of
from subbundle.surface.repair import dots
from subbundle.surface.seeds import Seeds, eighth_neighbour
from subbundle.triangles.tuning import SAME_PLANE, SMALLEST_PART

# Width of the narrowest resolved neck, in cells.
_NECK = tuning.RESOLVED / tuning.CELL_WINDOWS


@dataclass(frozen=True, slots=True)
class Orientation:
    """Signs [n] of the normals, 1 or −1; the component [n] of each seed; whether the strong votes leave no seam."""

    signs: FloatArray
    components: IntArray
    orientable: bool


def orient(seeds: Seeds, cell: float) -> Orientation:
    """Signs that make the normals of ``seeds`` agree; ``cell`` is their spacing."""
    pairs, votes = neighbour_votes(seeds, cell)
    signs, cluster = _join_sheets(seeds, pairs, votes, cell)
    within = cluster[pairs[:, 0]] == cluster[pairs[:, 1]]
    pairs, votes = pairs[within], votes[within]
    signs, components = majority_signs(signs, pairs, votes), np.unique(cluster, return_inverse=True)[1]
    against = pairs[votes * signs[pairs[:, 0]] * signs[pairs[:, 1]] < 0.0]
    seam = against[_strength(seeds, against) > tuning.SEAM_AGREEMENT]
    turned = signs * _outward(seeds, seeds.normals * signs[:, None], components, cell)
    return Orientation(turned, components, not _is_seam(seeds.points, seam, cell))


def oriented_points(points: FloatArray, normals: FloatArray, cell: float) -> tuple[FloatArray, bool]:
    """``normals`` [n, 3] of ``points`` [n, 3], one per ``cell``, that agree; and whether an orientation exists."""
    found = orient(Seeds(points, normals, *np.ones((2, len(points)))), cell)
    return normals * found.signs[:, None], found.orientable


def follow(points: FloatArray, normals: FloatArray, known: tuple[FloatArray, FloatArray]) -> FloatArray:
    """``normals`` [n, 3] of ``points`` [n, 3] with the sign of that of the nearest of the ``known`` points."""
    if len(known[0]) == 0:
        return normals
    flip = dots(normals, known[1][cKDTree(known[0]).query(points)[1]]) < 0.0
    return np.where(flip[:, None], -normals, normals)


def neighbour_votes(seeds: Seeds, cell: float) -> tuple[IntArray, FloatArray]:
    """Pairs [m, 2] of neighbours, each once, and their votes [m]."""
    count = min(tuning.VOTE_NEIGHBOURS + 1, len(seeds.points))
    far, near = Bins(seeds.points, cell).query(seeds.points, count)
    rows = np.repeat(np.arange(len(near)), count - 1)
    pairs = np.column_stack([rows, near[:, 1:].ravel()])[far[:, 1:].ravel() < tuning.VOTE_REACH * cell]
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys = np.sort((low * len(near) + high)[low != high])
    keys = keys[np.flatnonzero(np.diff(keys, prepend=-1))]
    pairs = np.column_stack([keys // len(near), keys % len(near)])
    lean, lean_too, agreement = _angles(seeds, pairs)
    agreement -= 2.0 * lean * lean_too
    weight = np.maximum(np.abs(agreement) - tuning.VOTE_THRESHOLD, 0.0) ** 2 * _elementwise.exp(
        -(lean**2 + lean_too**2) / tuning.VOTE_LEAN
    )
    weight *= seeds.reliability[pairs[:, 0]] * seeds.reliability[pairs[:, 1]]
    across, opposite = _across_walls(seeds, cell)
    return np.concatenate([pairs, across]), np.concatenate([np.sign(agreement) * weight, opposite])


def _across_walls(seeds: Seeds, cell: float) -> tuple[IntArray, FloatArray]:
    """Pairs [m, 2] of seeds on the two sides of walls that one window holds, and their votes [m], for outside both."""
    rows = np.flatnonzero(seeds.thickness > 0.0)
    if rows.size == 0:
        return np.empty((0, 2), np.int64), np.empty(0)
    far_side = seeds.points[rows] - seeds.thickness[rows, None] * seeds.normals[rows]
    far, other = (found[:, 0] for found in Bins(seeds.points, cell).query(far_side))
    pairs: IntArray = np.unique(np.sort(np.column_stack([rows, other])[far < cell], axis=1), axis=0)
    agreement = dots(seeds.normals[pairs[:, 0]], seeds.normals[pairs[:, 1]])
    weight: FloatArray = np.maximum(np.abs(agreement) - tuning.VOTE_THRESHOLD, 0.0) ** 2
    return pairs, -np.sign(agreement) * weight * seeds.reliability[pairs].prod(axis=1)


def _join_sheets(seeds: Seeds, pairs: IntArray, votes: FloatArray, cell: float) -> tuple[FloatArray, IntArray]:
    """Signs [n] and the first row [n] of every component; closed bodies that contacts alone join are separate ones."""
    points, n = seeds.points, len(seeds.points)
    areas = areas_of(points, cell, eighth_neighbour(points, cell))
    reach = np.abs(votes) @ np.linalg.norm(points[pairs[:, 1]] - points[pairs[:, 0]], axis=1) / cell
    across = float(2.0 / np.pi * reach / areas.sum())
    merge = partial(merge_votes, n, pairs, votes, areas=areas, large=np.pi * _NECK**2, least=_NECK * across)
    signs, body = merge()
    normals, members = seeds.normals * signs[:, None], members_of(body)
    closed = np.array([_closes(_facing(seeds, normals, rows), normals[rows]) for rows in members])
    plain = merge(agree=True)
    # Where votes join no two closed bodies, and all else, begins again: a narrow place of a sheet joins as any other.
    several = np.bincount(plain[1][[rows[0] for rows in members]], closed, n) > 1.0
    fixed = closed[np.unique(body, return_inverse=True)[1]] & several[plain[1]]
    start = np.where(fixed, signs, 1.0), np.where(fixed, body, np.arange(n))
    return merge(agree=True, start=start, fixed=fixed) if fixed.any() else plain


def _closes(facing: FloatArray, normals: FloatArray) -> bool:
    """Whether seeds with coherent ``normals`` [n, 3] and `_facing` [26] are a closed body, of whatever corners."""
    facing = facing * np.sign(facing.sum())
    # Directions are ordered so that the last is opposite to the first.
    missing, both_ends = np.linalg.norm(normals.mean(axis=0)), np.maximum(facing, facing[::-1])
    return bool(min(facing.mean() - missing, both_ends.min()) > SAME_PLANE)


def _strength(seeds: Seeds, pairs: IntArray) -> FloatArray:
    """|n_i·n_j| where the pair is nearly in both tangent planes, else 0."""
    lean, lean_too, agreement = _angles(seeds, pairs)
    flat = np.maximum(np.abs(lean), np.abs(lean_too)) < tuning.VOTE_THRESHOLD
    return np.where(flat, np.abs(agreement), 0.0)


def _angles(seeds: Seeds, pairs: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """n_i·u, n_j·u and n_i·n_j [m] of ``pairs`` [m, 2] of seeds."""
    across = seeds.points[pairs[:, 1]] - seeds.points[pairs[:, 0]]
    across /= np.maximum(np.sqrt(dots(across, across)), 1e-300)[:, None]
    first, second = seeds.normals[pairs[:, 0]], seeds.normals[pairs[:, 1]]
    return dots(first, across), dots(second, across), dots(first, second)


def _is_seam(points: FloatArray, seam: IntArray, cell: float) -> bool:
    """Whether a connected set of contradicting pairs extends over several cells."""
    if len(seam) < 2 * tuning.SEAM_LENGTH:
        return False
    middle = points[seam].mean(axis=1)
    links = cKDTree(middle).query_pairs(tuning.SEAM_LINK * cell, output_type="ndarray")
    count, label = components_of(links, len(middle))
    longest = max(float(np.ptp(middle[label == c], axis=0).max()) for c in range(count))
    return longest > tuning.SEAM_LENGTH * cell


def _outward(seeds: Seeds, normals: FloatArray, components: IntArray, cell: float) -> FloatArray:
    """The sign [n] that orients each component outward or upward; inward if it is inside of an odd number of others."""
    points, members = seeds.points, members_of(components)
    facing = np.array([_facing(seeds, normals, rows).mean() for rows in members])
    sign, upright = outward_or_upward(facing, np.array([normals[rows, 2].mean() for rows in members]))
    large = [i for i, rows in enumerate(members) if len(rows) >= SMALLEST_PART * len(points) and not upright[i]]
    # Anywhere on a component, not at its ends: those of a hollow that opens to the outside are in the opening.
    places = [points[rows[:: len(rows) // tuning.SURROUNDINGS + 1]] for rows in members]
    moments = cell**2 * sign[components, None] * normals
    return (sign * towards_cavity(places, points, moments, members, large))[components]


def outward_or_upward(facing: FloatArray, height: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The sign [p] that orients each component outward or upward, and which [p] are oriented upward.

    ``facing`` [p] are the means of n·d over the seeds furthest in the directions d, ``height`` [p] those of n_z.
    """
    upright = np.abs(height) > np.abs(facing)
    return np.where(np.where(upright, height, facing) < 0.0, -1.0, 1.0), upright


def _facing(seeds: Seeds, normals: FloatArray, rows: IntArray) -> FloatArray:
    """n·d [26] over the ``rows`` furthest in 26 directions d; means by reliability: one seed may be a stray one."""
    directions, count = cube_directions(1, 2, 3), min(tuning.SURROUNDINGS, len(rows))
    furthest = rows[np.argpartition(-seeds.points[rows] @ directions.T, count - 1, axis=0)[:count]]
    lean = np.einsum("kdi,di->kd", normals[furthest], directions)
    return np.asarray(np.average(lean, axis=0, weights=seeds.reliability[furthest]))


def towards_cavity(
    hulls: list[FloatArray], points: FloatArray, moments: FloatArray, members: list[IntArray], large: list[int]
) -> FloatArray:
    """−1 [p] for components inside of an odd number of others, else 1; only ``large`` ones contain and are contained.

    ``hulls`` are points [k, 3] of every component. Its ``members`` are rows of ``points`` [n, 3] with
    ``moments`` [n, 3], areas times outward normals.
    """
    turned = np.ones(len(members))
    for i, j in permutations(large, 2):
        places, other = hulls[i], members[j]
        # Most of a component inside lies within the box of the other.
        if (np.median(np.abs(places - points[other].mean(axis=0)), axis=0) > np.ptp(points[other], axis=0)).any():
            continue
        away = points[other] - places[:, None]
        solid = np.einsum("knd,nd->kn", away, moments[other]) / np.linalg.norm(away, axis=2) ** 3
        if np.median(solid.sum(axis=1)) > 2.0 * np.pi:
            turned[i] *= -1.0
    return turned
