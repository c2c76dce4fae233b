"""`reconstruct`: from an unoriented, noisy scan to a triangle mesh.

    pilot      noise, spacing and bandwidth from a few thousand neighbourhoods        `pilot`, `thin`
    seeds      points on the second-order ridge, one per cell, with unsigned normals  `seeds`
    orient     signs by summed votes between clusters                                 `orient`
    implicit   spectral Poisson in a band around the seeds, levelled at the seeds     `implicit`
    extract    dual marching cubes; defects cut out, narrow holes filled              `extract`, `repair`
    project    vertices onto robust quadrics, each with its own bandwidth             `project`
    border     cut where the cloud ends                                               `border`

Normals and topology come from windows wide enough to be safe, positions from windows chosen for accuracy: the mesh is
as accurate as the local fits, and the grid leaves no trace but the pattern of the triangles.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, IntArray, SubbundleWarning
from subbundle._validation import as_points, as_positive
from subbundle.atlas.atlas import Atlas
from subbundle.surface import ambient, border, extract, implicit, pilot, project, repair, voxels
from subbundle.surface import attributes as carrying
from subbundle.surface.local import WeightedCloud
from subbundle.surface.orient import orient
from subbundle.surface.pyramid import Pyramid
from subbundle.surface.seeds import plant
from subbundle.surface.timing import Clock
from subbundle.surface.widths import ladder
from subbundle.triangles.mesh import Mesh, Summary

LEAST_POINTS = ambient.LEAST_POINTS
# Part of the typical density from which on a vertex counts as seen by the scan.
_SUPPORT = 0.1
# Part of the area of a closed surface that may lie where nothing was seen before a warning is due.
_INVENTED = 0.3
# Bandwidth, as a part of the size of the cloud, from which on a warning is due.
_COARSE = 0.1
# Half the width of the band around the seeds, in cells, below which it has holes.
_LEAST_BAND = 2.5
# Cells so much wider than wanted are worth a warning.
_WIDENED = 1.25
# More distinct points than this are replaced by voxel means, this part of a bandwidth wide.
_DENSE, _VOXEL = 400_000, 0.4
_PILOT_POINTS = 200_000
# The window of seeds and topology, in pilot bandwidths; the cells of the grid in those windows and in spacings.
_WINDOW, _CELL, _CELL_SPACINGS = 1.3, 0.5, 1.3


def reconstruct(
    points: Any,
    *,
    bandwidth: float | str = "auto",
    closed: bool = False,
    opening: float = 4.0,
    attributes: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
    n_jobs: int | None = None,
) -> Mesh:
    """Make a triangle mesh of the surface that ``points`` [N, d] lie around, d ≥ 3, or of an atlas of charts.

    No normals are needed. The points may be noisy, unevenly dense and sprinkled with outliers. Several objects become
    several parts; parts with less than 0.4 % of the area of the largest one are dropped.

    Parameters
    ----------
    points : array-like [N, d], or Atlas
        At least 100. Rows that occur more than once count once. For d > 3 see `surface.ambient`. Of an
        `Atlas` of rank 2, the mesh of the blended surface, `Atlas.mesh`.
    bandwidth : float or "auto"
        Standard deviation of the window for normals and topology; features narrower than about two of it merge.
        "auto" takes 1.3 times the larger of 1.8 noise levels and 1.5 spacings.
    closed : bool
        Close the surface over every opening, as Poisson reconstruction does. By default borders stay open. A surface
        that is not orientable cannot be closed and stays as it is; of an open sheet a balloon is made, with a warning.
    opening : float
        Width, in bandwidths, from which on a gap in the cloud is an opening that stays open; narrower gaps are bridged.
    attributes : mapping of str to array-like [N] or [N, c], optional
        Colours (uint8) and other values of the points, to be carried to the vertices.
    progress : callable, optional
        Called with the name of every stage when it begins.
    n_jobs : int or None
        Threads; None for all cores. The mesh is the same to the bit.

    Returns
    -------
    Mesh
        Manifold, its faces turned outward; ``mesh.summary`` says how it came about. Of a surface without sides, like
        a Möbius band, neighbouring faces are turned alike but for a seam.

    Notes
    -----
    Memory: about 100 bytes per point, and at most 1.1 GB for the grid; where finer cells would need more, they are made
    wider and the mesh coarser.

    Examples
    --------
    >>> import subbundle as sb
    >>> data = sb.datasets.torus(5000, noise=0.02, seed=0)
    >>> mesh = sb.reconstruct(data.points)
    >>> mesh.euler_characteristic, mesh.is_closed, mesh.n_components
    (0, True, 1)
    >>> bool(data.distance(mesh.vertices).mean() < 0.5 * data.distance(data.points).mean())
    True
    """
    if isinstance(points, Atlas):
        return _of_atlas(points, bandwidth, closed, opening, attributes, n_jobs)
    rows = as_points(points, "points")
    rows = rows if rows.shape[1] > 3 else as_points(rows, "points", dim=3)
    if len(rows) < LEAST_POINTS:
        raise ValueError(f"points must be at least {LEAST_POINTS} to tell a surface; got {len(rows)}.")
    given = carrying.check(attributes, len(rows))
    opening = as_positive(opening, "opening", hint="It is a width in bandwidths; 4 is usual.")
    clock = Clock(progress)
    jobs = resolve_jobs(n_jobs)
    if rows.shape[1] > 3:
        return _in_ambient_space(rows, given, clock, bandwidth=bandwidth, closed=closed, opening=opening, n_jobs=jobs)

    clock.stage("looking at noise and density")
    used, weights, side, first, window = _prepare(rows, bandwidth, jobs)
    cloud = WeightedCloud(used, weights, n_jobs=jobs)
    clock.stage("seeds on the surface")
    wanted = max(_CELL * window, _CELL_SPACINGS * first.spacing)
    seeds = plant(cloud, used, weights, window, wanted)
    _check_seeds(len(seeds.points), float(seeds.reliability.mean()) if len(seeds.points) else 0.0)
    grid = implicit.grid_around(seeds.points, wanted)
    if grid.cell > _WIDENED * wanted:
        _warn(
            f"the mesh is coarser than the scan: cells of {wanted:.3g} would need more memory than allowed, so they "
            f"are {grid.cell:.3g} wide. Reconstruct parts of the scan one by one, or pass a larger bandwidth."
        )
    clock.stage(f"orienting {len(seeds.points)} seeds")
    turned = orient(seeds, grid.cell)
    normals = seeds.normals * turned.signs[:, None]
    clock.stage(f"implicit function on {' × '.join(map(str, grid.shape))} cells")
    band = max(0.5 * opening * window / grid.cell, _LEAST_BAND)
    if turned.orientable:
        field, gauge = implicit.solve(seeds, normals, grid, band, closed=closed, n_jobs=jobs), None
    else:
        field, gauge = implicit.solve_locally(seeds, normals, grid, band)
        closed = False
    clock.stage("extracting triangles")
    vertices, faces = _triangles(field, gauge, grid, 2.0 * band * grid.cell)
    del field, gauge
    clock.stage(f"projecting {len(vertices)} vertices")
    across = repair.vertex_normals(vertices, faces)
    settled = project.settle(cloud, vertices, across, window, grid.cell)
    levels = Pyramid(cloud, used, weights, side=side, spacing=first.spacing, widest=float(ladder(first)[-1]))
    settled = project.refine(levels, settled, faces, first, grid.cell)
    clock.stage("borders and small parts")
    if closed:
        _check_closed(settled, faces)
    vertices, faces = _trim(settled, faces, window, first.noise, closed)
    carried = carrying.carry(rows, given, vertices, 0.5 * window)
    seconds = clock.end()
    summary = Summary(
        n_points=len(rows), n_used=len(used), n_seeds=len(seeds.points), noise=first.noise, spacing=first.spacing,
        bandwidth=window, cell=grid.cell, orientable=turned.orientable, seconds=seconds,
    )  # fmt: skip
    return Mesh(vertices, faces, repair.vertex_normals(vertices, faces, turned.orientable), carried, summary)


def _of_atlas(
    atlas: Atlas, bandwidth: float | str, closed: bool, opening: float, attributes: Any, n_jobs: int | None
) -> Mesh:
    """The mesh of an atlas, which has its bandwidth already."""
    if bandwidth != "auto" or closed or attributes:
        raise ValueError(
            "bandwidth, closed and attributes go with points; an Atlas has its bandwidth, its charts end where the "
            "cloud does, and it knows no attributes. Pass opening alone, or the points themselves."
        )
    return atlas.mesh(opening=opening, n_jobs=n_jobs)


def _in_ambient_space(rows: FloatArray, given: Mapping[str, Any], clock: Clock, **options: Any) -> Mesh:
    """The mesh of ``rows`` [N, d], d > 3; what lies in a flat of three dimensions is a surface in R³."""
    mesh = ambient.reconstruct_ambient(
        rows, given, clock.stage, lambda part: reconstruct(part, progress=clock.stage, **options), **options
    )
    assert mesh.summary is not None
    return replace(mesh, summary=replace(mesh.summary, seconds=clock.end()))


def _prepare(
    rows: FloatArray, bandwidth: float | str, jobs: int
) -> tuple[FloatArray, FloatArray | None, float, pilot.Pilot, float]:
    """Distinct or thinned-out points with weights and the side of their voxels, the first look, and the window."""
    hashes = voxels.row_hashes(rows)
    kept = voxels.distinct(rows, hashes)
    if kept is not None:
        rows, hashes = rows[kept], hashes[kept]
    if len(rows) < LEAST_POINTS:
        raise ValueError(f"points must hold at least {LEAST_POINTS} different rows; got {len(rows)}.")
    some = voxels.subset(rows, hashes, _PILOT_POINTS)
    few = WeightedCloud(some, n_jobs=jobs)
    if isinstance(bandwidth, str):
        if bandwidth != "auto":
            raise ValueError(f"bandwidth must be a positive number or 'auto'; got {bandwidth!r}.")
        seen = pilot.look(few)
    else:
        seen = pilot.look_at(few, as_positive(bandwidth, "bandwidth"), _WINDOW)
    first = seen.of_more_points(len(rows) / len(some), rescale=bandwidth == "auto")
    window = _WINDOW * first.bandwidth
    if window > _COARSE * few.size:
        _warn(
            f"the points are too few or too noisy for fine shapes: the bandwidth is {window:.3g}, the size of the "
            f"cloud {few.size:.3g}. Features narrower than two bandwidths are lost."
        )
    if len(rows) > _DENSE:
        means, weights = voxels.voxel_means(rows, None, _VOXEL * window)
        if len(means) < 0.8 * len(rows):
            return means, weights, _VOXEL * window, first, window
    return rows, None, 0.0, first, window


def _warn(message: str) -> None:
    warnings.warn(message, SubbundleWarning, stacklevel=3)


def _check_seeds(count: int, reliability: float) -> None:
    if count < 20 or reliability < 0.05:
        raise ValueError(
            f"points must lie around a surface; only {count} places with a clear tangent plane were found. "
            "Pass the points of a surface, or another bandwidth."
        )


def _triangles(field: Any, gauge: Any, grid: implicit.Grid, width: float) -> tuple[FloatArray, IntArray]:
    """The zero set of ``field`` (and its ``gauge``) as a manifold mesh, with holes narrower than ``width`` filled."""
    places, quads = extract.extract(field, gauge)
    if len(quads) == 0:
        raise ValueError("points must lie around a surface; no surface was found between the seeds.")
    vertices = grid.origin + grid.cell * places
    vertices, faces, _ = repair.make_manifold(vertices, extract.split_quads(vertices, quads), width)
    faces, old = repair.compact(faces, len(vertices))
    return vertices[old], faces


def _check_closed(settled: project.Settled, faces: IntArray) -> None:
    """Warn when a good part of a closed surface lies where nothing was seen."""
    seen = (settled.support > _SUPPORT)[faces].any(axis=1)
    area = np.linalg.norm(repair.face_normals(settled.points, faces), axis=1)
    invented = float(area[~seen].sum() / area.sum())
    if invented > _INVENTED:
        _warn(
            f"{100.0 * invented:.0f} % of the area of the closed surface lies where there are no points: the cloud "
            "looks like an open sheet, and what closes it is a guess. Leave closed=False, or pass a larger opening."
        )


def _trim(
    settled: project.Settled, faces: IntArray, window: float, noise: float, closed: bool
) -> tuple[FloatArray, IntArray]:
    """Cut off what lies beyond the cloud, drop small parts and unused vertices."""
    vertices = settled.points
    supported = settled.support > _SUPPORT
    if not closed:
        outside = border.outer_region(faces, border.excess(settled.drift, window, noise))
        faces, edges, t = border.cut(faces, outside)
        start, end = vertices[edges[:, 0]], vertices[edges[:, 1]]
        vertices = np.concatenate([vertices, start + t[:, None] * (end - start)])
        supported = np.concatenate([supported, supported[edges[:, 0]]])
    faces = repair.keep_large_parts(vertices, faces, supported)
    vertices, faces, _ = repair.make_manifold(vertices, faces, 0.0)
    faces, old = repair.compact(faces, len(vertices))
    return border.smoothed(vertices[old], faces), faces
