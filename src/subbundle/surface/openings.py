"""Regions without observations: small patches become membranes, large ones are opened.

The zero set of a screened implicit function closes everywhere. A vertex is *seen* if a seed whose normal agrees with
its own is within a window of it. An unseen patch of half-width w (the distance of its furthest vertex from all seeds)
is bridged if w is at most the given one and it does not bulge: solutions of Poisson's equation bulge over wide
openings, so a patch may have at most the area of a half sphere with the same rim. A bridged patch becomes a membrane,
every vertex at the mean of its neighbours, for lack of data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from subbundle._types import FloatArray, IntArray
from subbundle.bins import Bins
from subbundle.surface import tuning
from subbundle.surface.repair import dots
from subbundle.surface.seeds import eighth_neighbour
from subbundle.surface.widths import neighbour_average
from subbundle.triangles.topology import border_edges, component_labels, face_normals

# Seeds at most among which one whose normal agrees with that of a vertex is searched for.
_MOST_QUERIED = 64


@dataclass(frozen=True, slots=True)
class Openings:
    """Unseen patches of a surface: half-widths of those that were bridged, and of those that stay open."""

    bridged: tuple[float, ...]
    left: tuple[float, ...]


class Coverage:
    """The region within a distance ``near`` of ``seeds`` [m, 3] with outward ``normals`` [m, 3].

    Where seeds are sparse, each is evidence for a wider disc: distances are divided by the ratio of the distance to the
    eighth neighbour of the seed (``apart`` [m], computed unless given) to that on a full sheet. A vertex is seen if a
    seed whose normal agrees with its own is nearer than ``near``: where one wall of two was not scanned, the zero set
    closes along the back of the other, near its seeds, which are no evidence for a surface of opposite orientation.
    """

    def __init__(self, seeds: FloatArray, normals: FloatArray, near: float, apart: FloatArray | None = None) -> None:
        self._bins, self._normals, self._near = Bins(seeds, 0.5 * near), normals, near
        apart = eighth_neighbour(seeds, 0.5 * near) if apart is None else apart
        self._scales = near / np.clip(tuning.SPARSE_REACH * apart, near, tuning.SPARSE_MOST * near)

    def of(self, vertices: FloatArray, normals: FloatArray) -> tuple[FloatArray, NDArray[np.bool_], FloatArray]:
        """Distance [n] of ``vertices`` [n, 3] from the nearest seed, whether they are seen [n], and the scale there."""
        near, n_seeds = self._near, len(self._normals)
        far, nearest = (found[:, 0] for found in self._bins.query(vertices))
        scale = self._scales[nearest]
        distance = far * scale
        alike = dots(self._normals[nearest], normals) > 0.0
        seen = alike & (distance < near)
        rows, count = np.flatnonzero(~alike & (distance < near)), 8
        while rows.size:
            queried = min(count, n_seeds)
            far, found = self._bins.query(vertices[rows], queried)
            turned = np.einsum("nkd,nd->nk", self._normals[found], normals[rows]) > 0.0
            seen[rows] = (turned & (far * self._scales[found] < near)).any(axis=1)
            if queried >= min(_MOST_QUERIED, n_seeds):
                break
            rows, count = rows[~turned.any(axis=1) & (far[:, -1] < tuning.SPARSE_MOST * near)], 8 * count
        return distance, seen, scale


def classify_patches(
    vertices: FloatArray, faces: IntArray, far: FloatArray, seen: NDArray[np.bool_], widest: float
) -> tuple[NDArray[np.bool_], Openings]:
    """Which ``faces`` [m, 3] are kept, and the half-widths of the unseen patches.

    ``far`` [n] is the distance of the vertices from the seeds, ``seen`` [n] whether one is evidence for them. Patches
    of a half-width up to ``widest`` are bridged; all, bulging ones too, if it is infinite.
    """
    shown = seen[faces].any(axis=1)
    keep, unseen = np.ones(len(faces), np.bool_), np.flatnonzero(~shown)
    bridged: list[float] = []
    left: list[float] = []
    if unseen.size:
        area = 0.5 * np.linalg.norm(face_normals(vertices, faces), axis=1)
        patch = component_labels(faces[unseen], len(vertices))[faces[unseen][:, 0]]
        order = np.argsort(patch, kind="stable")
        for rows in np.split(unseen[order], np.flatnonzero(np.diff(patch[order])) + 1):
            rim = border_edges(faces[rows])
            if len(rim) == 0:
                keep[rows] = False  # a closed component without seeds
                continue
            length = float(np.linalg.norm(vertices[rim[:, 0]] - vertices[rim[:, 1]], axis=1).sum())
            half, size = float(far[faces[rows]].max()), float(area[rows].sum())
            # At most the area of the half sphere over the rim.
            flat = size <= length**2 / (2.0 * np.pi)
            flat = flat and size <= tuning.LARGEST_PATCH * area[shown].sum()
            keep[rows] = half <= widest and (flat or bool(np.isinf(widest)))
            (bridged if keep[rows[0]] else left).append(half)
    return keep, Openings(tuple(sorted(bridged)), tuple(sorted(left)))


def membrane(vertices: FloatArray, faces: IntArray, fixed: NDArray[np.bool_]) -> FloatArray:
    """``vertices`` [n, 3] with all that are not ``fixed`` [n] moved to the mean of their neighbours."""
    free = np.flatnonzero(~fixed)
    if free.size == 0 or not fixed.any():
        return vertices
    # x = Ax with the rows of A summing to one, the vertex itself included: the fixed point is the mean of the others.
    rows = neighbour_average(faces, len(vertices))[free]
    right = rows[:, np.flatnonzero(fixed)] @ vertices[fixed]
    system = csc_array(-rows[:, free])
    system.setdiag(1.0 + system.diagonal())
    moved = vertices.copy()
    moved[free] = splu(system).solve(np.ascontiguousarray(right))
    return moved
