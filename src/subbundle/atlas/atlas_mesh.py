"""A triangle mesh of the blended surface of an atlas of rank 2.

A fine grid in the coordinates of every chart, and the border of its domain, are mapped to points and blended. Charts
extend about a bandwidth beyond the cloud. On a straight border of it the local mean drifts inward by

    |P (m − p)| = √(2/π) a,

and points of larger drift are left out; one length scale inside the border the drift is e^(−½)/(2 Φ(1)) of that. A
Poisson-disk sample of the others, first of those of larger drift, along the border, is the set of vertices; they are
triangulated by the tangent planes there, blended as well (`subbundle.triangles`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from subbundle._types import FloatArray, Status
from subbundle._validation import as_positive
from subbundle.atlas.base import normals_of
from subbundle.atlas.blending import Blended
from subbundle.atlas.tuning import OUTERMOST, VERTICES_APART
from subbundle.charts.base import InvertibleChart
from subbundle.geodesics.start import directions
from subbundle.triangles.finish import finish
from subbundle.triangles.mesh import Mesh
from subbundle.triangles.poisson_disk import spread
from subbundle.triangles.tangential_delaunay import triangulate

if TYPE_CHECKING:
    from subbundle.atlas.atlas import Atlas

# |P (m − p)| on a straight border, in length scales.
_DRIFT = float(np.sqrt(2.0 / np.pi))


def mesh_of(atlas: Atlas, spacing: float | None, opening: float, n_jobs: int | None) -> Mesh:
    """See `Atlas.mesh`."""
    if atlas.bundle.rank != 2:
        raise ValueError(f"a triangle mesh needs charts of rank 2; these have rank {atlas.bundle.rank}.")
    scale = float(atlas.bundle.length_scale)
    opening = as_positive(opening, "opening", hint="It is half a width in length scales; 2 is usual.") * scale
    apart = VERTICES_APART * scale if spacing is None else as_positive(spacing, "spacing")
    starts = np.concatenate([_grid(chart, VERTICES_APART * apart) for chart in atlas.charts])
    blended = atlas.project(starts[spread(starts, VERTICES_APART * apart)])
    tangents, drift = atlas.tangents(blended), np.full(len(blended.points), np.inf)
    seen = blended.status == Status.OK
    drift[seen] = _drift(atlas, blended.points[seen], tangents[seen])
    chosen = np.flatnonzero(drift <= 1.0)
    inside = float(np.exp(-0.5) / (2.0 * ndtr(1.0)))
    border = np.maximum(np.where(drift > inside, drift, 0.0), _outermost(atlas, blended))[chosen]
    chosen = chosen[spread(blended.points[chosen], apart, border)]
    vertices, tangents = np.ascontiguousarray(blended.points[chosen]), np.ascontiguousarray(tangents[chosen])
    faces = triangulate(vertices, tangents, 2.0 * max(opening, apart), n_jobs)
    if len(faces) == 0:
        raise ValueError(
            f"the charts must be wider than the mesh: no three vertices {apart:.3g} apart make a triangle. Pass a "
            "smaller spacing."
        )
    done = finish(vertices, faces)
    mesh = Mesh(done.vertices, done.faces)
    if mesh.ambient_dim == 3:
        mesh = Mesh(done.vertices, done.faces, normals_of(mesh.tangents))
    return mesh


def _grid(chart: InvertibleChart, side: float) -> FloatArray:
    """Points [n, dim] of ``chart`` on a square grid of its coordinates, and along the border of its domain."""
    line = np.arange(-np.ceil(chart.radius / side), np.ceil(chart.radius / side) + 1.0) * side
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    # Just inside: on the border the weight of a chart is zero.
    circle = directions(2, int(np.ceil(2.0 * np.pi * chart.radius / side)))
    edge = circle * (0.999 * chart.extent_along(circle))[:, None]
    points = chart.inverse_transform(np.concatenate([grid[chart.inside(grid)], edge]))
    return points[np.isfinite(points).all(axis=1)]


def _drift(atlas: Atlas, points: FloatArray, tangents: FloatArray) -> FloatArray:
    """|P (m − p)| over its value on a border; 0 for bundles in closed form, whose means are the points."""
    inward = np.einsum("ndk,nd->nk", tangents, atlas.bundle.frame(points).mean - points)
    drift: FloatArray = np.linalg.norm(inward, axis=1) / (_DRIFT * atlas.bundle.length_scale)
    return np.where(np.isfinite(drift), drift, np.inf)


def _outermost(atlas: Atlas, blended: Blended) -> FloatArray:
    """d_j/r_j [batch] of the chart in which it is least, 1 on the border of the atlas; 0 below `OUTERMOST`."""
    reach = atlas.charts.extent_along(blended.coordinates, blended.charts)
    fraction = np.linalg.norm(blended.coordinates, axis=1) / reach
    least = np.full(len(blended.points), np.inf)
    np.minimum.at(least, blended.rows, fraction)
    return np.where(np.isfinite(least) & (least > OUTERMOST), least, 0.0)
