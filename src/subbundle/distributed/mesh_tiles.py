"""A mesh tile by tile: the three passes over a scene, as functions of arrays.

    seeds      per tile, from its observations and their halo                         `mesh_seeds`
    clusters   per tile, from the seeds of it and its neighbours; then the scene      `mesh_signs`
    pieces     per tile, from observations, oriented seeds around it                  `mesh_skin`, `mesh_project`

A tile reads what its neighbours found before, and nothing else of the scene but the signs of the clusters.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle.distributed.mesh_boxes import Territory, inside
from subbundle.distributed.mesh_grid import LEVEL_REACH
from subbundle.distributed.mesh_project import PROJECT_MARGIN, projected
from subbundle.distributed.mesh_scale import Scale
from subbundle.distributed.mesh_seeds import TileSeeds, levels_of
from subbundle.distributed.mesh_sides import BLOCK
from subbundle.distributed.mesh_signs import Members, Turned, oriented
from subbundle.distributed.mesh_skin import Piece, skin_of


def seed_margin(scale: Scale) -> float:
    """Cells around a tile in which seeds must be known for its mesh: those around others that tell its level."""
    return max(PROJECT_MARGIN, scale.margin + 2.0 * (LEVEL_REACH + BLOCK) + 4.0)


def around(parts: list[TileSeeds], tile: Territory, margin: float, scale: Scale) -> TileSeeds:
    """The seeds of ``parts`` within ``margin`` cells of a ``tile``, sorted by name."""
    near = [part.take(np.flatnonzero(inside(part.points, tile.box, margin * scale.cell))) for part in parts]
    return TileSeeds.joined(near)


def piece_of(
    points: FloatArray, seeds: TileSeeds, members: list[Members], signs: Turned, tile: Territory, scale: Scale,
    n_jobs: int = 1,
) -> Piece:  # fmt: skip
    """The mesh of a ``tile``, from ``points`` [n, 3] within `Scale.halo` and ``seeds`` within `seed_margin` cells.

    ``members`` are those of all tiles around, ``signs`` the clusters of the scene.
    """
    turned, areas = oriented(seeds, members, signs)
    levels = levels_of(points, tile, scale, n_jobs)
    if levels is None or len(turned.names) == 0:
        return Piece(
            np.empty((0, 2), np.int64), np.empty((0, 3)), np.empty((0, 3)), np.empty(0), np.empty((0, 3), np.int64),
            np.empty(0, np.bool_), np.empty(0, np.int64),
        )  # fmt: skip
    return projected(skin_of(turned, areas, signs.nodes, levels[1], tile, scale), turned, levels[0], tile, scale)
