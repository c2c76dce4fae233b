"""`reconstruct`: from an unoriented, noisy scan to a triangle mesh.

    prepare    noise, spacing and bandwidth from a few thousand neighbourhoods        `prepare`, `pilot`
    seeds      points on the second-order ridge, one per cell, with unsigned normals  `seeds`, `facing`
    orient     signs by summed votes between clusters; layers dropped                 `orient`, `layers`
    implicit   spectral Poisson, screened by the seeds                                `implicit`, `screening`
    level set  dual marching cubes; openings, handles and tunnels; curved edges split `level_set`, `openings`, `tunnels`
    project    vertices onto robust quadrics of local bandwidths, blended             `project`, `widths`, `blend`
               longer along crests; each side of thin walls onto its own              `thin_walls`
    trim       cut where the cloud ends; outliers listed                              `trim`, `outliers`

Normals and topology come from windows wide enough to be safe, positions from windows chosen for accuracy: the mesh is
as accurate as the local fits, and the grid leaves no trace but the pattern of the triangles.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray
from subbundle._validation import as_flag, as_points, as_positive
from subbundle.atlas.atlas import Atlas
from subbundle.surface import ambient, implicit, level_set, mesh_warnings, outliers, project, repair, tuning
from subbundle.surface import attributes as vertex_attributes
from subbundle.surface.facing import FacingPyramid
from subbundle.surface.local import WeightedCloud
from subbundle.surface.orient import orient
from subbundle.surface.prepare import LEAST_POINTS, Prepared, check_normals, prepare
from subbundle.surface.pyramid import Levels, Pyramid
from subbundle.surface.seeds import Seeds, find_seeds, find_seeds_facing
from subbundle.surface.thin_walls import SidedPyramid
from subbundle.surface.trim import trim
from subbundle.surface.widths import bandwidths
from subbundle.triangles.mesh import Mesh, Summary

# Ratio of actual to required cells above which a warning is issued.
_WIDENED = 1.25
# Quantiles of the coordinates that the object is certain to extend over.
_BULK = (0.01, 0.99)


def reconstruct(
    points: Any,
    *,
    bandwidth: float | str = "auto",
    normals: Any = None,
    closed: bool = False,
    opening: float = 3.0,
    attributes: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
    n_jobs: int | None = None,
) -> Mesh:
    """Make a triangle mesh of the surface that ``points`` [N, d] lie around, d ≥ 3, or of an atlas of charts.

    Normals are not required, but used if given. The points may be noisy, of varying density and contain outliers.
    Several objects become several connected components; those with less than 0.4 % of the area of the largest one are
    dropped.

    Parameters
    ----------
    points : array-like [N, d], or Atlas
        At least 100. Rows that occur more than once count once. For d > 3 see `surface.ambient`. Of an
        `Atlas` of rank 2, the mesh of the blended surface, `Atlas.mesh`.
    bandwidth : float or "auto"
        Standard deviation of the window for normals and topology; features narrower than about two of it merge.
        "auto" takes 1.1 times the larger of 1.8 noise levels and 1.5 spacings.
    closed : bool
        Close the surface over every opening, by membranes. By default borders stay open. A surface that is not
        orientable cannot be closed and stays as it is; an open sheet gets a second side, with a warning.
    normals : array-like [N, 3], optional
        Normals of the points, all outward, as some scanners give them. Walls closer than a bandwidth that face
        opposite ways are then separated. For d = 3 only.
    opening : float
        Half the width, in bandwidths, up to which a patch without observations is bridged by a membrane; wider ones
        stay open. ``mesh.summary`` lists both.
    attributes : mapping of str to array-like [N] or [N, c], optional
        Colours (uint8) and other values of the points, to be interpolated at the vertices.
    progress : callable, optional
        Called with the name of every stage when it begins.
    n_jobs : int or None
        Threads; None for all cores. The mesh is the same to the bit.

    Returns
    -------
    Mesh
        Manifold, its faces oriented outward, those of open height fields upward (+z); ``mesh.summary`` reports
        estimates and stages, and which points are outliers;
        ``mesh.attributes["standard_error"]`` has the standard errors of the vertices (infinite on membranes).
        On a non-orientable surface, like a Möbius band, orientations of neighbouring faces agree except across a seam.

    Notes
    -----
    Memory: about 100 bytes per point, and at most 1.1 GB for the grid; where finer cells would need more, cells are
    wider and the mesh is coarser.

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
        if normals is not None:
            raise ValueError("normals go with points; an Atlas has its own. Leave them out, or pass the points.")
        return _of_atlas(points, bandwidth, closed, opening, attributes, n_jobs)
    rows = as_points(points, "points")
    rows = rows if rows.shape[1] > 3 else as_points(rows, "points", dim=3)
    if len(rows) < LEAST_POINTS:
        raise ValueError(f"points must be at least {LEAST_POINTS} to estimate a surface; got {len(rows)}.")
    given = vertex_attributes.check(attributes, len(rows))
    closed = as_flag(closed, "closed")
    opening = as_positive(opening, "opening", hint="It is half a width in bandwidths; 3 is usual.")
    clock = _Clock(progress)
    jobs = resolve_jobs(n_jobs)
    if rows.shape[1] > 3:
        if normals is not None:
            raise ValueError(f"normals go with points in R³; these are in R^{rows.shape[1]}. Leave them out.")
        return _in_ambient_space(rows, given, clock, bandwidth=bandwidth, closed=closed, opening=opening, n_jobs=jobs)

    unit = None if normals is None else check_normals(normals, rows)
    clock.stage("estimating noise and density")
    scan = prepare(rows, unit, bandwidth, jobs)
    cloud = WeightedCloud(scan.points, scan.weights, n_jobs=jobs)
    clock.stage("seeds on the surface")
    seeds, cell = _seeds(cloud, scan)
    clock.stage(f"orienting {len(seeds.points)} seeds")
    seeds, orientable = _oriented(seeds, scan, cell)
    grid = implicit.grid_around(seeds.points, scan.cell)
    if grid.cell > _WIDENED * scan.cell:
        mesh_warnings.warn_of_wider_cells(scan.cell, grid.cell)
    clock.stage(f"implicit function on {' × '.join(map(str, grid.shape))} cells")
    half_width, closed = opening * scan.window, closed and orientable
    if orientable:
        widest = np.inf if closed else half_width
        found = level_set.orientable_level_set(seeds, grid, scan, widest, n_jobs=jobs, stage=clock.stage)
    else:
        found = level_set.non_orientable_level_set(seeds, grid, half_width, clock.stage)
    clock.stage(f"projecting {len(found.vertices)} vertices")
    across = repair.vertex_normals(found.vertices, found.faces)
    levels = _levels(cloud, scan, found, across if orientable else None, grid.cell)
    projected = project.refine(levels, found.vertices, across, found.faces, found.unseen, scan.pilot, grid.cell)
    clock.stage("borders and small components")
    if closed:
        mesh_warnings.warn_of_extrapolation(projected, found.faces, found.unseen)
    vertices, faces, error = trim(projected, found.faces, cloud, scan, tuning.SEEN_CELLS * grid.cell, closed=closed)
    side = repair.vertex_normals(vertices, faces, orientable)
    values = vertex_attributes.interpolate(rows, given, vertices, grid.cell)
    values.setdefault("standard_error", error)
    away = outliers.flagged(rows, vertices, side, grid.cell, scan.window)
    mesh = Mesh(vertices, faces, side, values)
    mesh_warnings.warn_of_fragments(mesh, scan.window, closed=closed)
    mesh_warnings.warn_of_points_beside(rows[away], mesh, scan.window, len(rows))
    summary = Summary(
        n_points=len(rows), n_used=len(scan.points), n_seeds=len(seeds.points), noise=scan.pilot.noise,
        spacing=scan.pilot.spacing, bandwidth=scan.window, cell=grid.cell, orientable=orientable,
        seconds=clock.end(), outliers=away, bridged=found.openings.bridged, left_open=found.openings.left,
        handles_cut=tuple(found.handles.tolist()), handles_at=found.places, used_normals=scan.facing is not None,
        left_out=outliers.left_out(rows[away], seeds.points, vertices, tuning.SEEN_CELLS * grid.cell),
    )  # fmt: skip
    return replace(mesh, summary=summary)


def _seeds(cloud: WeightedCloud, scan: Prepared) -> tuple[Seeds, float]:
    """Seeds of the scan, and the cell that they are spaced by."""
    # Seeds need be no finer than the cells of the largest grid; extreme coordinates, of outliers, are left out.
    cell = implicit.grid_around(np.quantile(scan.points, _BULK, axis=0), scan.cell).cell
    if scan.facing is not None:
        seeds = find_seeds_facing(scan.facing, scan.window, cell)
    else:
        seeds = find_seeds(cloud, scan.points, scan.weights, scan.window, cell, scan.pilot)
    mesh_warnings.require_seeds(len(seeds.points), float(seeds.reliability.mean()) if len(seeds.points) else 0.0)
    return seeds, cell


def _oriented(seeds: Seeds, scan: Prepared, cell: float) -> tuple[Seeds, bool]:
    """The seeds that are no outliers, oriented by votes or by the scanner's normals; whether they are orientable."""
    turned = orient(seeds, cell)
    signs, orientable = turned.signs, turned.orientable
    if scan.facing is not None:
        # The sign of the scanner's normals is that of most seeds relative to the outward orientation.
        signs, orientable = np.full(len(signs), -1.0 if float(np.mean(signs)) < 0.0 else 1.0), True
    # Dropped before a grid is made around them: outliers may lie far away.
    big = np.flatnonzero(np.bincount(turned.components)[turned.components] >= tuning.NEIGHBOURS)
    big = big if big.size else np.arange(len(signs))
    return replace(seeds, normals=seeds.normals * signs[:, None]).take(big), orientable


def _levels(
    cloud: WeightedCloud, scan: Prepared, found: level_set.LevelSet, normals: FloatArray | None, cell: float
) -> Levels:
    """The observations that vertices are projected onto; ``normals`` [n, 3] outward, None if not orientable."""
    widest = float(bandwidths(scan.pilot)[-1])
    sizes: dict[str, Any] = {"side": scan.side, "spacing": scan.pilot.spacing, "widest": widest}
    if scan.facing is not None:
        return FacingPyramid(scan.facing, **sizes)
    levels = Pyramid(cloud, scan.points, scan.weights, **sizes)
    if normals is None:
        return levels
    return SidedPyramid(levels, scan, found.vertices[~found.unseen], normals[~found.unseen], cell)


def _of_atlas(
    atlas: Atlas, bandwidth: float | str, closed: bool, opening: float, attributes: Any, n_jobs: int | None
) -> Mesh:
    """The mesh of an atlas, which has its bandwidth already."""
    if str(bandwidth) != "auto" or closed or attributes:
        raise ValueError(
            "bandwidth, closed and attributes go with points; an Atlas has its bandwidth, its charts end where the "
            "cloud does, and it has no attributes. Pass opening alone, or the points themselves."
        )
    return atlas.mesh(opening=tuning.OPENING_WIDTH * opening, n_jobs=n_jobs)


def _in_ambient_space(rows: FloatArray, given: Mapping[str, Any], clock: _Clock, **options: Any) -> Mesh:
    """The mesh of ``rows`` [N, d], d > 3; rows in an affine subspace of dimension three are a surface in R³."""
    wider = options | {"opening": tuning.OPENING_WIDTH * options["opening"]}
    clock.stage("estimating dimensions")
    points, subspace = ambient.without_noise(rows)
    if points.shape[1] == 3:
        mesh = reconstruct(points, progress=clock.stage, **options)
    else:
        mesh = ambient.reconstruct_ambient(points, clock.stage, **wider)
    mesh = ambient.returned(mesh, subspace, rows, given)
    assert mesh.summary is not None
    return replace(mesh, summary=replace(mesh.summary, seconds=clock.end()))


class _Clock:
    """Reports the beginning of every stage, and records its seconds."""

    def __init__(self, report: Callable[[str], None] | None) -> None:
        self._report = report
        self._seconds: dict[str, float] = {}
        self._name, self._begin = "", time.perf_counter()

    def stage(self, name: str) -> None:
        """Begin the stage ``name``; the one before ends."""
        self.end()
        self._name = name
        if self._report is not None:
            self._report(name)

    def end(self) -> dict[str, float]:
        """End the last stage; the seconds of all."""
        now = time.perf_counter()
        if self._name:
            self._seconds[self._name] = now - self._begin
        self._begin = now
        return self._seconds
