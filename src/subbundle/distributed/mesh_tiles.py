"""A mesh tile by tile: the three passes over a scene, as functions of arrays and as tasks.

    seeds      per tile, from its observations and their halo                         `mesh_seeds`
    clusters   per tile, from the seeds of it and its neighbours; then the scene      `mesh_signs`
    pieces     per tile, from observations, oriented seeds around it                  `mesh_level_set`, `mesh_project`

A tile reads the results of its neighbours in the passes before, and of the scene only the signs of the clusters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray
from subbundle.distributed.mesh_level_set import Piece, level_set_of
from subbundle.distributed.mesh_places import Territory, inside
from subbundle.distributed.mesh_project import project_margin, projected
from subbundle.distributed.mesh_scale import BLOCK, Scale
from subbundle.distributed.mesh_seeds import TileSeeds, observed, seeds_of
from subbundle.distributed.mesh_sides import Nodes
from subbundle.distributed.mesh_signs import SIGN_MARGIN, Members, OrientedClusters, cluster_tile, oriented
from subbundle.distributed.runner import Results
from subbundle.distributed.tiles import TilePlan

Arrays = Mapping[str, NDArray[Any]]


def seed_margin(scale: Scale) -> float:
    """Cells around a tile in which seeds are required for its mesh: those around others that determine its level."""
    return max(project_margin(scale), scale.margin + 4.0 * BLOCK + 4.0)


def around(parts: list[TileSeeds], tile: Territory, margin: float, scale: Scale) -> TileSeeds:
    """The seeds of ``parts`` within ``margin`` cells of a ``tile``, sorted by name."""
    near = [part.take(np.flatnonzero(inside(part.points, tile.box, margin * scale.cell))) for part in parts]
    return TileSeeds.joined(near)


def piece_of(
    points: FloatArray, seeds: TileSeeds, members: list[Members], signs: OrientedClusters, tile: Territory, scale: Scale
) -> Piece:
    """The mesh of a ``tile``, from ``points`` [n, 3] within `Scale.halo` and ``seeds`` within `seed_margin` cells.

    ``members`` are those of all tiles around, ``signs`` the clusters of the scene.
    """
    found, areas = oriented(seeds, members, signs)
    scan = observed(points, tile, scale)
    if scan is None or len(found.names) == 0:
        names, three = np.empty((0, 2), np.int64), np.empty((0, 3))
        return Piece(names, three, three, three[:, 0], three.astype(np.int64), three[:, 0] > 0.0, names[:, 0])
    return projected(level_set_of(found, areas, signs.nodes, scan.cloud, tile, scale), found, scan.levels, tile, scale)


def tile_seeds(plan: TilePlan, tile: int, settings: dict[str, Any]) -> Arrays:
    """Task: the seeds of a tile."""
    scale = Scale(**settings["scale"])
    return arrays_of(seeds_of(plan.tile(tile, scale.halo).points, _territory(plan, tile, scale), scale))


def tile_clusters(plan: TilePlan, tile: int, settings: dict[str, Any]) -> Arrays:
    """Task: the clusters of a tile, from the seeds of it and its neighbours."""
    scale = Scale(**settings["scale"])
    here = _territory(plan, tile, scale)
    members, clusters = cluster_tile(_seeds_around(plan, tile, SIGN_MARGIN, here, scale, settings), here, scale)
    return arrays_of(members) | arrays_of(clusters)


def tile_piece(plan: TilePlan, tile: int, settings: dict[str, Any]) -> Arrays:
    """Task: the mesh of a tile, from its observations and the oriented seeds around."""
    scale = Scale(**settings["scale"])
    here, margin = _territory(plan, tile, scale), seed_margin(scale)
    seeds = _seeds_around(plan, tile, margin, here, scale, settings)
    # Blocks, by which clusters are assigned to tiles, extend beyond these.
    near = [tile, *plan.neighbours(tile, (margin + SIGN_MARGIN) * scale.cell)]
    members = [_load(Members, settings["clusters"], other) for other in near]
    with np.load(settings["signs"], allow_pickle=False) as file:
        signs = OrientedClusters(file["names"], file["signs"], Nodes(*(file[part.name] for part in fields(Nodes))))
    return arrays_of(piece_of(plan.tile(tile, scale.halo).points, seeds, members, signs, here, scale))


def arrays_of(record: Any) -> dict[str, NDArray[Any]]:
    """The fields of a ``record``, by name."""
    return {part.name: np.asarray(getattr(record, part.name)) for part in fields(record)}


def _territory(plan: TilePlan, tile: int, scale: Scale) -> Territory:
    """The box of a tile among all that may be nearer to a point near it."""
    near = sorted([tile, *plan.neighbours(tile, 2.0 * (scale.margin + scale.largest_shift) * scale.cell)])
    return Territory(plan.boxes[near], near.index(tile))


def _seeds_around(
    plan: TilePlan, tile: int, margin: float, here: Territory, scale: Scale, settings: dict[str, Any]
) -> TileSeeds:
    near = [tile, *plan.neighbours(tile, (margin + scale.largest_shift) * scale.cell)]
    return around([_load(TileSeeds, settings["seeds"], other) for other in near], here, margin, scale)


def _load(record: Any, pattern: str, tile: int) -> Any:
    """The ``record`` that a tile wrote."""
    return record(**Results((Path(pattern.format(tile)),)).load(0, [part.name for part in fields(record)]))
