"""Observations that are outliers of the mesh, and connected components of it that enclose clumps of outliers.

An observation is an outlier by its height over the tangent plane at the nearest vertex of the mesh, relative to the
noise of the observations around that vertex. Where these are exact, a small height suffices.

A clump of outliers is a solid body: observations fill it. A mesh around it is a closed component with many of its
observations deep inside, where a surface has none: of a full ball of radius r the fraction (1 − a/r)³ lies deeper than
the window a, an eighth for the smallest ball that is resolved; of a sheet one in a hundred, and with twice the noise
that the window is chosen for one in twenty-five.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._groups import changes, components_of
from subbundle._numbers import MEDIAN_SQUARE
from subbundle._types import FloatArray, IntArray
from subbundle.bins import Bins
from subbundle.surface import tuning
from subbundle.surface.repair import vertex_normals
from subbundle.surface.voxels import voxel_keys
from subbundle.triangles.topology import border_edges, component_labels


def without_bodies(points: FloatArray, vertices: FloatArray, faces: IntArray, window: float) -> IntArray:
    """The ``faces`` [m, 3] without closed components that ``points`` [n, 3] fill; the largest component stays."""
    component = component_labels(faces, len(vertices))
    count = np.bincount(component[faces[:, 0]], minlength=int(component.max()) + 1)
    doubtful = count > 0
    doubtful[np.argmax(count)] = False
    if not doubtful.any():
        return faces
    doubtful[component[border_edges(faces).ravel()]] = False
    used = np.unique(faces)
    nearest = used[Bins(vertices[used], 0.5 * window).query(points)[1][:, 0]]
    # Unsigned, since a component inside of another is oriented inward.
    depth = np.abs(np.sum((vertices[nearest] - points) * vertex_normals(vertices, faces)[nearest], axis=1))
    beside = np.bincount(component[nearest], minlength=len(count))
    deep = np.bincount(component[nearest], depth > window, minlength=len(count))
    body = deep > (1.0 - 1.0 / tuning.RESOLVED) ** 3 * beside
    return faces[~(doubtful & body)[component[faces[:, 0]]]]


def flagged(points: FloatArray, vertices: FloatArray, normals: FloatArray, cell: float, window: float) -> IntArray:
    """Rows of ``points`` [n, 3] that are outliers of the mesh with ``vertices``, ``normals`` [m, 3].

    Local noise is that of the observations within a ``window`` of the surface: near a clump most are not.
    """
    nearest = Bins(vertices, cell).query(points)[1][:, 0]
    away = points - vertices[nearest]
    height = np.abs(np.einsum("nd,nd->n", away, normals[nearest]))
    aside = np.sqrt(np.maximum(np.einsum("nd,nd->n", away, away) - height**2, 0.0))
    # Off the surface some voxels hold outliers alone, so observations are grouped by the voxels of their vertices.
    noise = _local_median(vertices[nearest], height, height <= window, tuning.OUTLIER_VOXEL * cell) / MEDIAN_SQUARE**0.5
    # The tangent planes have an error, of which a small fraction of a cell is allowed.
    far = height > tuning.OUTLIER_NOISES * np.maximum(noise, tuning.SURE_CELLS * cell)
    return np.asarray(np.flatnonzero(far | (aside > tuning.SEEN_CELLS * cell)))


def left_out(points: FloatArray, seeds: FloatArray, vertices: FloatArray, reach: float) -> tuple[int, ...]:
    """How many outliers ``points`` [o, 3] are at each component of ``seeds`` [s, 3] beyond ``reach`` of the mesh."""
    lone = seeds[Bins(vertices, 0.5 * reach).query(seeds)[0][:, 0] > reach]
    if len(lone) == 0 or len(points) == 0:
        return ()
    tree = cKDTree(lone)
    links = tree.query_pairs(reach, output_type="ndarray")
    (n, label), (far, near) = components_of(links, len(lone)), tree.query(points)
    count = np.bincount(label[near[far < reach]], minlength=n)
    # Fewer seeds are a clump of outliers.
    return tuple(sorted(count[np.bincount(label) >= tuning.NEIGHBOURS].tolist()))


def _local_median(points: FloatArray, values: FloatArray, counted: NDArray[np.bool_], side: float) -> FloatArray:
    """The median [n] of the ``values`` [n] that are ``counted`` [n] in the voxel of every point; 0 where none is."""
    keys = voxel_keys(points, None, side)
    order = np.lexsort((np.where(counted, values, np.inf), keys))
    first = changes(keys[order])[:-1]
    inside = np.add.reduceat(counted[order].astype(np.int64), first)
    middle = np.where(inside > 0, values[order[first + inside // 2]], 0.0)
    medians: FloatArray = np.empty(len(values))
    medians[order] = np.repeat(middle, np.diff(np.append(first, len(order))))
    return medians
