"""The last steps: what lies beyond the cloud is cut off, small pieces go, rims are smoothed."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.surface import border, outliers, repair
from subbundle.surface.local import WeightedCloud
from subbundle.surface.prepare import Prepared
from subbundle.surface.project import Settled
from subbundle.triangles import clip

# Fraction of the typical density from which on a vertex counts as seen by the scan.
SUPPORT = 0.1
# Holes narrower than so many windows are none: the cut at a rim leaves them where the density falls.
NARROW = 2.0


def trim(
    settled: Settled, faces: IntArray, cloud: WeightedCloud, scan: Prepared, defect: float, *, closed: bool
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Vertices, faces and standard errors of the mesh; where it is not ``closed``, cut where the ``cloud`` ends."""
    vertices, error = settled.points, settled.error
    supported = settled.support > SUPPORT
    if not closed:
        beyond = border.excess_near_border(cloud, vertices, faces, scan.window, scan.pilot.noise)
        outside = clip.outer_region(faces, beyond)
        faces, edges, t = clip.cut(faces, outside)
        if len(faces) == 0:
            raise ValueError("points must lie around a surface; what was found ends at once. Pass a wider bandwidth.")
        start, end = vertices[edges[:, 0]], vertices[edges[:, 1]]
        vertices = np.concatenate([vertices, start + t[:, None] * (end - start)])
        supported = np.concatenate([supported, supported[edges[:, 0]]])
        error = np.concatenate([error, error[edges].max(axis=1)])
    faces = repair.keep_large_parts(vertices, faces, supported)
    widest = np.inf if closed else max(defect, NARROW * scan.window)
    vertices, faces, rows = repair.make_manifold(vertices, faces, widest)
    new = len(vertices) - len(rows)
    supported = np.concatenate([supported[rows], np.ones(new, np.bool_)])
    error = np.concatenate([error[rows], np.full(new, np.inf)])
    faces = repair.keep_large_parts(vertices, faces, supported)
    faces = outliers.without_bodies(scan.points, vertices, faces, scan.window)
    faces, old = repair.compact(faces, len(vertices))
    return clip.smoothed(vertices[old], faces), faces, error[old]
