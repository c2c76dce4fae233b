"""Inside and outside of a whole scene: the winding number of its oriented seeds, far ones by blocks.

    w(x) = 1/(4π) Σ_i A_i n_i·(x_i − x) / √(|x_i − x|⁶ + ε⁶),

the solid angle under which x sees the seeds, their areas A_i turned by their normals: 1 inside of a closed surface, 0
outside, and the solution of the Poisson equation that `surface.implicit` solves. Seeds in blocks of four cells around
x are summed one by one. Further away blocks stand for theirs, by the sum of A_i n_i and the mean place, and the wider
the further: 4 and 8 cells from the seeds around a tile, from 16 cells on from those of the whole scene, a table of
seven numbers for every block near the surface. Which blocks these are depends on the block of x alone, so that w has
the same bits in every tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.cloud.lattice import z_curve
from subbundle.distributed._mesh_kernels import far_nodes, sum_sources
from subbundle.distributed.mesh_scale import NAME_BITS, cells_of, names_of
from subbundle.surface.tuning import SMOOTH_CELLS

# Cells of the blocks whose seeds count one by one, and of those of the scene: two levels wider.
FINE, BLOCK = 4, 16
# ε in cells: w then rises through a plane by 0.70/ε a cell, as the ordinary solution does with its Gaussian.
_SOFT = 0.701 * np.sqrt(2.0 * np.pi) * SMOOTH_CELLS


@dataclass(frozen=True, slots=True)
class Nodes:
    """Blocks of a scene, halved in number from level to level.

    Attributes
    ----------
    keys : [n] of int
        Cell and level of each, as `names_of` writes them; sorted.
    sources : [n, 6]
        Mean place, in cells of the grid, and sum of areas times normals.
    top : int
        Level at which all blocks are neighbours.
    """

    keys: IntArray
    sources: FloatArray
    top: IntArray

    @staticmethod
    def of(blocks: IntArray, areas: FloatArray, places: FloatArray, moments: FloatArray) -> Nodes:
        """From clusters in ``blocks`` [c, 3]: areas [c], and sums over areas of places and of normals [c, 3] each."""
        columns, keys, sources, level = np.column_stack([areas, places, moments]), [], [], 0
        while True:
            names, group = np.unique(names_of(blocks, level), return_inverse=True)
            columns = np.column_stack([np.bincount(group, column, minlength=len(names)) for column in columns.T])
            blocks = cells_of(names)
            keys.append(names)
            sources.append(np.column_stack([columns[:, 1:4] / np.maximum(columns[:, :1], 1e-300), columns[:, 4:]]))
            if len(names) == 0 or np.ptp(blocks, axis=0).max() <= 1:
                break
            blocks, level = blocks >> 1, level + 1
        key = np.concatenate(keys)
        order = np.argsort(key)
        return Nodes(key[order], np.concatenate(sources)[order], np.array(level))


class Winding:
    """Winding numbers around oriented seeds at ``places`` [n, 3] (in cells of the grid), sorted by name.

    ``moments`` [n, 3] are areas, in cells, times normals; ``scene`` has all that is further away.
    """

    def __init__(self, places: FloatArray, areas: FloatArray, moments: FloatArray, scene: Nodes) -> None:
        self._scene, self._far = scene, dict[tuple[int, ...], FloatArray]()
        cells = np.floor(places / FINE).astype(np.int64)
        curve = z_curve(cells)
        order = np.argsort(curve, kind="stable")
        self._seeds = np.concatenate([places, moments], axis=1)[order]
        columns = np.column_stack([areas, areas[:, None] * places, moments])[order]
        # Along the curve the seeds of a block of any level follow each other.
        self._fine = _summed(columns, curve[order], cells[order], 0)
        self._coarse = _summed(columns, curve[order], cells[order], 1)

    def at(self, places: FloatArray) -> FloatArray:
        """w [t] at ``places`` [t, 3], in cells; all seeds within two blocks of them must be known."""
        cells = np.floor(places / FINE).astype(np.int64)
        order = np.argsort(z_curve(cells), kind="stable")
        cells, targets = cells[order], np.ascontiguousarray(places[order].T)
        begins = _changes(cells)
        cells = cells[begins[:-1]]
        blocks = cells // (BLOCK // FINE)
        found, ends = np.zeros(len(places)), _changes(blocks)
        # Of all blocks at once: the 27 around each.
        nearby = blocks[ends[:-1], None] + np.array(list(np.ndindex(3, 3, 3))) - 1
        around = (z_curve(nearby.reshape(-1, 3) * (BLOCK // FINE)) >> 6).reshape(-1, 27)
        fine, coarse = self._fine.within(around), self._coarse.within(around)
        for k, (i, j) in enumerate(pairwise(ends)):
            part = slice(begins[i], begins[j])
            sum_sources(
                targets[:, part], begins[i : j + 1] - begins[i], cells[i:j], self._seeds, self._fine.sources,
                self._fine.cells, self._fine.ends, fine[k], self._coarse.sources, self._coarse.cells, coarse[k],
                self._beyond(blocks[i]), _SOFT**6, float(FINE), found[part],
            )  # fmt: skip
        out = np.empty(len(places))
        out[order] = found / (4.0 * np.pi)
        return out

    def _beyond(self, block: IntArray) -> FloatArray:
        """Sources [f, 6] of the scene for targets in a ``block`` [3]."""
        kept = self._far.get(tuple(block))
        if kept is None:
            rows = np.empty(189 * max(int(self._scene.top), 1), np.int64)
            count = far_nodes(self._scene.keys, block, int(self._scene.top), NAME_BITS, rows)
            kept = self._far[tuple(block)] = self._scene.sources[rows[:count]]
        return kept


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks of seeds along the curve: numbers of the scene's blocks, cells, sources, first seed and past the last."""

    curve: IntArray
    cells: IntArray
    sources: FloatArray
    ends: IntArray

    def within(self, around: IntArray) -> IntArray:
        """The first row and past the last [b, r, 2] of the blocks in each of those of the scene ``around`` [b, r]."""
        ends = [np.searchsorted(self.curve, around, side=side) for side in ("left", "right")]
        return np.stack(ends, axis=2)


def _summed(columns: FloatArray, curve: IntArray, cells: IntArray, level: int) -> _Blocks:
    """Blocks of the seeds in the rows of ``columns`` [n, 7], which follow the ``curve`` [n] of the finest blocks."""
    key = curve >> (3 * level)
    ends = _changes(key[:, None])
    begin = ends[:-1]
    group = np.repeat(np.arange(len(begin)), np.diff(ends))
    total = np.column_stack([np.bincount(group, column, minlength=len(begin)) for column in columns.T])
    sources = np.column_stack([total[:, 1:4] / np.maximum(total[:, :1], 1e-300), total[:, 4:]])
    return _Blocks(key[begin] >> (6 - 3 * level), cells[begin] >> level, sources, np.column_stack([begin, ends[1:]]))


def _changes(rows: IntArray) -> IntArray:
    """Where ``rows`` [n, m] differ from the ones before, and n."""
    new = np.any(rows[1:] != rows[:-1], axis=1)
    return np.concatenate([np.arange(min(len(rows), 1)), np.flatnonzero(new) + 1, [len(rows)]]).astype(np.int64)
