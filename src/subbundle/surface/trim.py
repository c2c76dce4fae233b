"""The last steps: the mesh is cut where the cloud ends, small components are dropped, borders are smoothed.

The mesh of the band reaches a little further than the cloud, so the region where the local mean drifts inward by more
than at a straight border (`local.excess`) is cut off where it touches the border of the mesh: inside the
cloud a steep change of density also makes the mean drift, and is no border. Further out the mean of a few isolated
observations is arbitrary; but at a straight border there is half the mass of the inside, and where there is much less
than around, the mesh ends as well. Both are averaged over about a window.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.surface import outliers, repair, tuning
from subbundle.surface.local import WeightedCloud, excess
from subbundle.surface.prepare import Prepared
from subbundle.surface.project import Projected
from subbundle.surface.widths import neighbour_average
from subbundle.triangles import clip
from subbundle.triangles.topology import border_edges, compact


def trim(
    projected: Projected, faces: IntArray, cloud: WeightedCloud, scan: Prepared, defect: float, *, closed: bool
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Vertices, faces and standard errors of the mesh; where it is not ``closed``, cut where the ``cloud`` ends."""
    vertices, error = projected.points, projected.error
    supported = projected.support > tuning.SUPPORT
    if not closed:
        beyond = excess_near_border(cloud, vertices, faces, scan.window, scan.pilot.noise)
        outside = clip.outer_region(faces, beyond)
        faces, edges, t = clip.cut(faces, outside)
        if len(faces) == 0:
            raise ValueError("points must lie around a surface; no mesh is left within it. Pass a wider bandwidth.")
        start, end = vertices[edges[:, 0]], vertices[edges[:, 1]]
        vertices = np.concatenate([vertices, start + t[:, None] * (end - start)])
        supported = np.concatenate([supported, supported[edges[:, 0]]])
        error = np.concatenate([error, error[edges].max(axis=1)])
    faces = repair.keep_large_components(vertices, faces, supported)
    widest = np.inf if closed else max(defect, tuning.RESOLVED * scan.window)
    vertices, faces, rows = repair.make_manifold(vertices, faces, widest)
    new = len(vertices) - len(rows)
    supported = np.concatenate([supported[rows], np.ones(new, np.bool_)])
    error = np.concatenate([error[rows], np.full(new, np.inf)])
    faces = repair.keep_large_components(vertices, faces, supported)
    faces = outliers.without_bodies(scan.points, vertices, faces, scan.window)
    faces, old = compact(faces, len(vertices))
    # Fits at a border are one-sided, and their noise makes it jagged: it is smoothed over a window.
    return clip.without_hairpins(vertices[old], faces, 1.0 / tuning.CELL_WINDOWS), faces, error[old]


# Edges from the border of the mesh within which the cloud may end: the mesh extends beyond it by about two.
RINGS = 12


def excess_near_border(
    cloud: WeightedCloud, vertices: FloatArray, faces: IntArray, bandwidth: float, noise: float
) -> FloatArray:
    """`excess`, or deficit of mass, [n] at ``vertices`` [n, 3] of a mesh; −1 beyond `RINGS` edges from its border."""
    beyond = np.full(len(vertices), -1.0)
    near = np.zeros(len(vertices), np.bool_)
    near[border_edges(faces).ravel()] = True
    for _ in range(RINGS if near.any() else 0):
        near[faces[near[faces].any(axis=1)].ravel()] = True
    rows = np.flatnonzero(near)
    if rows.size:
        fit, most = cloud.fit(vertices[rows], bandwidth), np.zeros(len(vertices))
        beyond[rows] = excess(np.where(fit.mass > 0.0, fit.drift, np.inf), bandwidth, noise)
        most[rows] = fit.mass
        for _ in range(tuning.AVERAGING_ROUNDS):
            np.maximum.at(most, faces.ravel(), np.repeat(most[faces].max(axis=1), 3))
        fraction = fit.mass / np.maximum(most[rows], np.finfo(float).tiny)
        beyond[rows] = np.maximum(beyond[rows], 1.0 - fraction / tuning.BORDER_MASS)
        average = neighbour_average(faces, len(vertices))
        for _ in range(tuning.AVERAGING_ROUNDS):
            beyond = average @ beyond
    return beyond
