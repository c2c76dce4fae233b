"""Which observations do not belong to the surface that was found, and which pieces of it are no surface.

An observation is judged by the sheet beside it: by its height over the plane of the nearest vertex of the mesh, against
the noise of the observations around that vertex. Where these are exact, a small height is enough.

A clump of outliers is a body: observations fill it. What is found around it, if anything, is a closed piece with a good
part of its observations deep inside, where a surface has none: of a full ball of radius r the fraction (1 − a/r)³ lies
deeper than the window a, an eighth of the smallest ball that is resolved; of a sheet one in a hundred, and with twice
the noise that the window is for one in twenty-five.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.bins import Bins
from subbundle.surface import tuning
from subbundle.surface.repair import vertex_normals
from subbundle.surface.voxels import voxel_keys
from subbundle.triangles.topology import border_edges, parts_of

# The median of |z| of Gaussian noise, in standard deviations.
_MEDIAN = 0.6745


def without_bodies(points: FloatArray, vertices: FloatArray, faces: IntArray, window: float) -> IntArray:
    """The ``faces`` [m, 3] without closed pieces that ``points`` [n, 3] fill; the largest piece stays."""
    piece = parts_of(faces, len(vertices))
    count = np.bincount(piece[faces[:, 0]], minlength=int(piece.max()) + 1)
    doubtful = count > 0
    doubtful[np.argmax(count)] = False
    if not doubtful.any():
        return faces
    doubtful[piece[border_edges(faces).ravel()]] = False
    used = np.unique(faces)
    nearest = used[Bins(vertices[used], 0.5 * window).query(points)[1][:, 0]]
    # A piece inside of another is turned inward, so the side does not count.
    depth = np.abs(np.sum((vertices[nearest] - points) * vertex_normals(vertices, faces)[nearest], axis=1))
    beside = np.bincount(piece[nearest], minlength=len(count))
    deep = np.bincount(piece[nearest], depth > window, minlength=len(count))
    body = deep > (1.0 - 1.0 / tuning.RESOLVED) ** 3 * beside
    return faces[~(doubtful & body)[piece[faces[:, 0]]]]


def flagged(points: FloatArray, vertices: FloatArray, normals: FloatArray, cell: float, window: float) -> IntArray:
    """Rows of ``points`` [n, 3] that are outliers of the mesh with ``vertices``, ``normals`` [m, 3].

    The noise of a place is that of the observations within a ``window`` of the surface: beside a clump most are not.
    """
    nearest = Bins(vertices, cell).query(points)[1][:, 0]
    away = points - vertices[nearest]
    height = np.abs(np.einsum("nd,nd->n", away, normals[nearest]))
    aside = np.sqrt(np.maximum(np.einsum("nd,nd->n", away, away) - height**2, 0.0))
    # Beside the surface there are voxels of outliers alone, so an observation counts where its vertex lies.
    noise = _local_median(vertices[nearest], height, height <= window, tuning.OUTLIER_VOXEL * cell) / _MEDIAN
    # The planes of vertices are off by the error that does not show in a cell.
    far = height > tuning.OUTLIER_NOISES * np.maximum(noise, tuning.SURE_CELLS * cell)
    rows: IntArray = np.flatnonzero(far | (aside > tuning.SEEN_CELLS * cell))
    return rows


def _local_median(points: FloatArray, values: FloatArray, counted: NDArray[np.bool_], side: float) -> FloatArray:
    """The median [n] of the ``values`` [n] that are ``counted`` [n] in the voxel of every point; 0 where none is."""
    keys = voxel_keys(points, None, side)
    order = np.lexsort((np.where(counted, values, np.inf), keys))
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    inside = np.add.reduceat(counted[order].astype(np.int64), first)
    middle = np.where(inside > 0, values[order[first + inside // 2]], 0.0)
    medians: FloatArray = np.empty(len(values))
    medians[order] = np.repeat(middle, np.diff(np.append(first, len(order))))
    return medians
