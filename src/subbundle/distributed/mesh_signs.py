"""One orientation for the seeds of all tiles.

Space is divided into blocks of 16 cells that do not depend on the tiles. Inside a block, seeds with strong mutual votes
are merged into *clusters* of consistent orientation, by `surface.orient`'s summed votes. All other votes, those across
blocks and the weak ones inside, are summed between clusters: a table of a few numbers per block, small enough for the
whole scene. On this graph the same algorithm orients the clusters. Two walls that are close in one block but connected
only elsewhere are thus oriented by the strong votes along the surface, not by the weak ones between them.

Each connected component is then oriented as a whole, as by `surface.orient`, with clusters for seeds: a sheet that is
nearly a height field upward, others outward, by the seeds furthest in 26 directions, or towards the cavity that they
enclose.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from subbundle._groups import changes, components_of, members_of, summed
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_places import Territory, names_of
from subbundle.distributed.mesh_scale import BLOCK, Scale, mass_fraction
from subbundle.distributed.mesh_seeds import TileSeeds
from subbundle.distributed.mesh_sides import Nodes
from subbundle.graph.votes import majority_signs, merge_votes
from subbundle.surface.facing import cube_directions
from subbundle.surface.implicit import areas_of
from subbundle.surface.orient import neighbour_votes, outward_or_upward, towards_cavity
from subbundle.surface.tuning import VOTE_THRESHOLD
from subbundle.triangles.tuning import SMALLEST_PART

# Cells around a tile in which seeds are required for its blocks: neighbours, four cells away at most, their
# neighbours, and the surroundings that their masses are compared with.
SIGN_MARGIN = 1.5 * BLOCK + 2.0 * 4.0 + BLOCK


@dataclass(frozen=True, slots=True)
class Members:
    """Seeds of a tile's clusters: names [n], signs [n], areas [n] in cells, and the name [n] of the cluster of each."""

    seeds: IntArray
    signs: FloatArray
    areas: FloatArray
    cluster: IntArray


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters of the blocks of one tile, as the orientation of the scene reads them.

    Attributes
    ----------
    names : [c]
        Of the clusters, sorted: those of their first seeds.
    blocks : [c, 3] of int
        The block each lies in.
    sums : [c, 7]
        Of the areas, and area-weighted of the positions in cells and of the signed normals.
    furthest, facing : [c, 26]
        Support function of the cluster in every direction, and the component of the normal at its maximum.
    pairs, votes : [e, 2], [e]
        Names of two clusters, the one with the first seed first, and the sum of the votes between them.
    """

    names: IntArray
    blocks: IntArray
    sums: FloatArray
    furthest: FloatArray
    facing: FloatArray
    pairs: IntArray
    votes: FloatArray


@dataclass(frozen=True, slots=True)
class OrientedClusters:
    """The clusters of a whole scene: names [c], sorted, signs [c], and the blocks that represent them at a distance."""

    names: IntArray
    signs: FloatArray
    nodes: Nodes


def cluster_tile(around: TileSeeds, tile: Territory, scale: Scale) -> tuple[Members, Clusters]:
    """Clusters of the blocks whose middles are in a ``tile``, from all seeds within `SIGN_MARGIN` cells ``around``."""
    near = tile.near(around.points, (SIGN_MARGIN - BLOCK) * scale.cell)
    # Only masses that are small relative to the largest can be small relative to their surroundings.
    small = np.flatnonzero(near & (around.mass < scale.least_mass * around.mass.max(initial=0.0)))
    near[small] = mass_fraction(around.points, around.mass, around.names, scale, small) > scale.least_mass
    seeds = around.take(np.flatnonzero(near if near.sum() > 1 else near & False))
    pairs, votes = np.empty((0, 2), np.int64), np.empty(0)
    if len(seeds.names):
        pairs, votes = neighbour_votes(seeds.seeds(), scale.cell)
    blocks = scale.cells(seeds.points, BLOCK)
    block, own = names_of(blocks), tile.owns(scale.corner + BLOCK * scale.cell * (blocks + 0.5))
    # Votes are strong from half of the largest on, that of parallel normals in a plane.
    strong = np.abs(votes) > 0.5 * (1.0 - VOTE_THRESHOLD) ** 2
    together = (block[pairs[:, 0]] == block[pairs[:, 1]]) & strong
    signs, roots = merge_votes(len(block), pairs[together], votes[together])
    rows = np.flatnonzero(own)
    names, first, place = np.unique(seeds.names[roots[rows]], return_index=True, return_inverse=True)
    normals = seeds.normals[rows] * signs[rows, None]
    areas = areas_of(seeds.points, scale.cell)[rows] if len(rows) else np.empty(0)
    columns = np.column_stack([np.ones(len(rows)), (seeds.points[rows] - scale.corner) / scale.cell, normals])
    sums = summed(place, areas[:, None] * columns, len(names))
    furthest, facing = _extremes(seeds.points[rows], normals, place, len(names))
    across = (roots[pairs[:, 0]] != roots[pairs[:, 1]]) & own[pairs[:, 0]]
    pairs, votes = pairs[across], votes[across] * signs[pairs[across, 0]] * signs[pairs[across, 1]]
    ends = seeds.names[roots[pairs]]
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    begin = changes(ends[order])
    total = np.bincount(np.repeat(np.arange(len(begin) - 1), np.diff(begin)), votes[order], len(begin) - 1)
    members = Members(seeds.names[rows], signs[rows], areas, seeds.names[roots[rows]])
    ends = ends[order[begin[:-1]]]
    return members, Clusters(names, blocks[rows[first]], sums, furthest, facing, ends, total.astype(np.float64))


def orient_clusters(parts: list[Clusters]) -> OrientedClusters:
    """The oriented clusters of the scene, from those of all tiles."""
    columns = {f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Clusters)}
    order = np.argsort(columns["names"], kind="stable")
    names, sums, blocks = (columns[name][order] for name in ("names", "sums", "blocks"))
    n = len(names)
    if n == 0:
        return OrientedClusters(names, np.empty(0), Nodes.of(blocks, sums))
    ranked = np.lexsort(columns["pairs"].T[::-1])
    pairs, votes = np.searchsorted(names, columns["pairs"][ranked]), columns["votes"][ranked]
    signs = majority_signs(merge_votes(n, pairs, votes)[0], pairs, votes)
    joined = np.abs(votes) > 0.0
    count, part = components_of(pairs[joined], n)
    area, upward = np.bincount(part, sums[:, 0]), np.bincount(part, sums[:, 6] * signs)
    outward = np.zeros(count)
    furthest, facing = columns["furthest"][order], columns["facing"][order] * signs[:, None]
    hulls = np.empty((count, furthest.shape[1]), np.int64)
    for direction, far in enumerate(furthest.T):
        last = np.lexsort((far, part))
        hulls[:, direction] = last[changes(part[last])[1:] - 1]
        outward += facing[hulls[:, direction], direction]
    flips, upright = outward_or_upward(outward / furthest.shape[1], upward / area)
    places, moments = sums[:, 1:4] / sums[:, :1], sums[:, 4:] * (signs * flips[part])[:, None]
    bodies = np.flatnonzero((area >= SMALLEST_PART * sums[:, 0].sum()) & ~upright).tolist()
    flips *= towards_cavity([places[hull] for hull in hulls], places, moments, members_of(part), bodies)
    signs = signs * flips[part]
    sums[:, 4:] *= signs[:, None]
    return OrientedClusters(names, signs, Nodes.of(blocks, sums))


def oriented(around: TileSeeds, members: list[Members], clusters: OrientedClusters) -> tuple[TileSeeds, FloatArray]:
    """The seeds ``around`` a tile that are no outliers, with oriented normals, and their areas [n].

    ``members`` are those of the tile and its neighbours.
    """
    known, signs, areas, cluster = (
        np.concatenate([getattr(part, f.name) for part in members]) for f in fields(Members)
    )
    signs = signs * clusters.signs[np.searchsorted(clusters.names, cluster)]
    _, rows, places = np.intersect1d(around.names, known, assume_unique=True, return_indices=True)
    seeds = around.take(rows)
    return replace(seeds, normals=seeds.normals * signs[places, None]), areas[places]


def _extremes(points: FloatArray, normals: FloatArray, place: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Support function [n, 26] of every cluster and the normal's component there; of equals the last row is taken."""
    directions = cube_directions(1, 2, 3)
    order = np.argsort(place, kind="stable")
    points, normals, place = points[order], normals[order], place[order]
    furthest, facing = np.empty((n, len(directions))), np.empty((n, len(directions)))
    for k, (x, y, z) in enumerate(directions if n else ()):
        # Written out: the rounding of a matrix product may depend on the other rows.
        along = points[:, 0] * x + points[:, 1] * y + points[:, 2] * z
        furthest[:, k] = np.maximum.reduceat(along, changes(place)[:-1])
        last = np.flatnonzero(along == furthest[place, k])
        facing[place[last], k] = normals[last, 0] * x + normals[last, 1] * y + normals[last, 2] * z
    return furthest, facing
