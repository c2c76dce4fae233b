"""Robust quadrics at some of the vertices of a mesh, blended over all.

A quadric of bandwidth a approximates the surface around the vertex that it was fitted at. Centres are spread over the
mesh so that every vertex is within 0.4 a of one, and each vertex moves to the mean of the quadrics of all centres
within r = 0.6 a, with weights (1 − |τ|²/r²)² over the variance of the fits (a partition of unity). The error of a fit
at a distance τ from its centre is odd in τ, so that it cancels over the centres around a vertex. The cost is
proportional to the area over a², not to the number of vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.surface import tuning
from subbundle.surface._blend_kernels import blend, blend_near, spread_centres
from subbundle.surface.local import QuadricFit, stretches
from subbundle.surface.pyramid import Levels
from subbundle.triangles.tuning import SAME_PLANE

# Points without a mesh that are blended at a time: their neighbours take some hundred bytes each.
_CHUNK = 50_000


def blended_quadrics(
    cloud: Levels, points: FloatArray, normals: FloatArray, usable: NDArray[np.bool_], graph: Any, widths: FloatArray,
    cuts: FloatArray, rounds: int, along: FloatArray,
) -> QuadricFit:  # fmt: skip
    """As `Pyramid.quadric` at all ``usable`` [n] vertices; ``graph`` is a sparse matrix of the mesh's edges."""
    mesh = (graph.indptr.astype(np.int64), graph.indices.astype(np.int64), points, normals, usable)
    chosen = np.zeros(len(points), np.bool_)
    across = widths / np.sqrt(stretches(along, len(points)))
    spread_centres(*mesh, tuning.COVERED_RADIUS * across, SAME_PLANE, chosen)
    rows = np.flatnonzero(chosen)
    out = np.zeros((len(points), 11))
    while rows.size:
        which = points[rows], normals[rows], widths[rows], cuts[rows]
        fit = cloud.quadric(*which, rounds=rounds, along=along[rows])
        solved = np.flatnonzero(np.isfinite(fit.gain) & (fit.gain > 0.0))
        centres, fit = rows[solved], fit.take(solved)
        # Mass over a², so that centres of different bandwidths can be compared.
        values = np.column_stack([fit.mass / widths[centres] ** 2, fit.gain, fit.curvature, fit.residual])
        blend(
            *mesh, centres, tuning.BLENDED_RADIUS * across[centres], SAME_PLANE, fit.points, fit.frames,
            fit.forms, 1.0 / fit.gain, values, out,
        )  # fmt: skip
        # Where all centres around failed, quadrics are fitted at the vertices themselves, once.
        lost = usable & (out[:, 0] == 0.0) & ~chosen
        rows = np.flatnonzero(lost)
        chosen |= lost
    total = np.where(out[:, 0] > 0.0, out[:, 0], 1.0)[:, None]
    moved, tilted, values = points + out[:, 1:4] / total, out[:, 4:7] / total, out[:, 7:] / total
    length = np.linalg.norm(tilted, axis=1, keepdims=True)
    tilted = np.where(length > 0.0, tilted / np.where(length > 0.0, length, 1.0), normals)
    known = out[:, 0] > 0.0
    mass, gain, curvature, residual = values.T
    gain, residual = np.where(known, gain, np.inf), np.where(known, residual, np.inf)
    return QuadricFit(moved, tilted, mass * widths**2, gain, curvature, residual)


def blend_at(
    points: FloatArray, normals: FloatArray, fit: QuadricFit, values: FloatArray, radii: FloatArray
) -> FloatArray:
    """Sums [n, 7 + m] of quadrics ``fit`` [c] and ``values`` [c, m] at ``points`` [n, 3] with ``normals`` [n, 3].

    Each centre has weight within its ``radii`` [c]. Columns are Σ w, Σ w times the offset to the quadric, its normal
    there, and the values; they are summed in the order of the centres, whatever other points there are.
    """
    out = np.zeros((len(points), 7 + values.shape[1]))
    if len(fit.points) == 0:
        return out
    # Centres grouped by radius, so that only large ones are searched for at large distances.
    group = np.floor(np.log2(radii / radii.min()))
    members = [np.flatnonzero(group == g) for g in np.unique(group)]
    trees = [cKDTree(fit.points[rows]) for rows in members]
    for start in range(0, len(out), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        here, found = cKDTree(points[chunk]), []
        for rows, tree in zip(members, trees, strict=True):
            near = here.sparse_distance_matrix(tree, float(radii[rows].max()), output_type="coo_matrix")
            kept = near.data <= radii[rows[near.col]]
            found.append(np.stack([near.row[kept].astype(np.int64), rows[near.col[kept]]]))
        row, centre = np.concatenate(found, axis=1)
        order = np.lexsort((centre, row))
        first = np.searchsorted(row[order], np.arange(len(out[chunk]) + 1)).astype(np.int64)
        blend_near(
            first, centre[order], points[chunk], normals[chunk], fit.points, fit.frames, fit.forms, radii,
            1.0 / fit.gain, values, SAME_PLANE, out[chunk],
        )  # fmt: skip
    return out
