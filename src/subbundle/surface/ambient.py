"""Surfaces in R^d, d > 3: from noisy points to a triangle mesh with its vertices in R^d.

    subspace    directions of noise alone left out; with three coordinates left it is a surface in R³
    ridge       observations projected onto the second-order ridge, at the bandwidth of least estimated risk
    spread      a Poisson-disk sample of them, at least half a bandwidth apart, first along the borders
    triangles   the tangential Delaunay complex, stitched to a manifold (`subbundle.triangles`)

A surface of codimension two or more is no level set of one function, so the mesh is made of points of the ridge and
their tangent planes alone, and as accurate as they are. Beyond a border the local mean drifts inward by more than at a
straight one (`local.excess`); points of the ridge with more lie outside and are left out.

Principal components below the noise floor (`selection.components`) are left out if they are unrelated to the others:
were they functions on the surface, then neighbours in the components kept would be near each other in those left out
too. A quarter of the neighbours suffices, since several sheets may project to one point.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import BoolArray, FloatArray, Status, SubbundleWarning
from subbundle._validation import as_positive
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.charts.tuning import RESIDUAL_DEVIATIONS
from subbundle.selection.bandwidth import compare_bandwidths
from subbundle.selection.components import Components, all_components, components_above_noise
from subbundle.surface import attributes as vertex_attributes
from subbundle.surface import tuning
from subbundle.surface.local import SAMPLE, WeightedCloud, excess
from subbundle.surface.voxels import subset
from subbundle.triangles.finish import finish
from subbundle.triangles.mesh import Mesh, Summary
from subbundle.triangles.poisson_disk import hashes, spread
from subbundle.triangles.tangential_delaunay import triangulate

LEAST_POINTS = 100
# Bandwidth, as a fraction of the size of the cloud, from which on a warning is issued.
COARSE = 0.1


@dataclass(frozen=True, slots=True)
class Sheet:
    """Points of the ridge inside the borders: positions [n, r], tangents [n, r, 2], inward drift [n], in the units of
    the data; and the noise and the spacing of the observations."""

    points: FloatArray
    tangents: FloatArray
    drift: FloatArray
    noise: float
    spacing: float


def without_noise(rows: FloatArray) -> tuple[FloatArray, Components | None]:
    """The different ones of ``rows`` [N, d] in the directions [n, r] that are not noise alone, r ≥ 3, and these
    directions; None where they are all."""
    used = np.unique(rows, axis=0)
    if len(used) < LEAST_POINTS:
        raise ValueError(f"points must hold at least {LEAST_POINTS} different rows; got {len(used)}.")
    subspace = signal_subspace(used)
    return (subspace.enter(used), subspace) if subspace.axes.shape[1] < rows.shape[1] else (used, None)


def returned(mesh: Mesh, subspace: Components | None, rows: FloatArray, given: Mapping[str, NDArray[Any]]) -> Mesh:
    """``mesh`` of points of the ``subspace`` as one around ``rows`` [N, d], with the attributes ``given``."""
    vertices = mesh.vertices if subspace is None else subspace.leave(mesh.vertices)
    assert mesh.summary is not None
    values = vertex_attributes.interpolate(rows, given, vertices, mesh.summary.cell)
    return replace(
        mesh, vertices=vertices, normals=None, attributes=values, summary=replace(mesh.summary, n_points=len(rows))
    )


def reconstruct_ambient(
    points: FloatArray, stage: Callable[[str], None], *,
    bandwidth: float | str, closed: bool, opening: float, n_jobs: int,
) -> Mesh:  # fmt: skip
    """The mesh of different ``points`` [N, r], r > 3, by tangential Delaunay triangulation, reporting every stage."""
    if closed:
        raise ValueError(
            "closed=True needs a surface that divides its space, so one in R³; this one spans "
            f"{points.shape[1]} dimensions. Pass a larger opening to bridge gaps."
        )
    stage("choosing a bandwidth")
    width, remark = _width(points, bandwidth, n_jobs)
    bundle = PrincipalSubbundle(points, 2, width, n_jobs=n_jobs)
    stage("projecting points to the ridge")
    sheet = _sheet(bundle, points)
    if remark:  # only once there is a surface
        warnings.warn(remark, SubbundleWarning, stacklevel=4)
    apart = max(tuning.CELL_WINDOWS * width, tuning.CELL_SPACINGS * sheet.spacing)
    chosen = spread(sheet.points, apart, sheet.drift)
    corners = np.ascontiguousarray(sheet.points[chosen])
    stage(f"triangulating {len(corners)} vertices")
    faces = triangulate(corners, np.ascontiguousarray(sheet.tangents[chosen]), opening * width, n_jobs)
    if len(faces) == 0:
        raise ValueError(
            "points must lie around a surface; no two neighbouring points of the ridge agree on a triangle. Pass the "
            "points of a surface, or another bandwidth."
        )
    done = finish(corners, faces)
    summary = Summary(
        n_points=len(points), n_used=len(points), n_seeds=len(corners), noise=sheet.noise, spacing=sheet.spacing,
        bandwidth=width, cell=apart, orientable=done.orientable, seconds={},
    )  # fmt: skip
    return Mesh(done.vertices, done.faces, None, {}, summary)


def _width(points: FloatArray, bandwidth: float | str, n_jobs: int) -> tuple[float, str]:
    """The bandwidth given, or that of least risk, and a remark on it, or an empty string."""
    remark = ""
    if isinstance(bandwidth, str):
        if bandwidth != "auto":
            raise ValueError(f"bandwidth must be a positive number or 'auto'; got {bandwidth!r}.")
        choice = compare_bandwidths(points, 2, n_jobs=n_jobs)
        width, remark = choice.bandwidth, choice.remark
    else:
        width = as_positive(bandwidth, "bandwidth")
    return width, remark or remark_on(width, float(np.linalg.norm(np.ptp(points, axis=0))))


def remark_on(width: float, size: float) -> str:
    """What a bandwidth that is wide for a cloud of this ``size`` loses; empty where it is not."""
    if width <= COARSE * size:
        return ""
    return (
        f"the points are too few or too noisy for fine shapes: the bandwidth is {width:.3g}, the size of the cloud "
        f"{size:.3g}. Features narrower than two bandwidths are lost."
    )


def _sheet(bundle: PrincipalSubbundle, points: FloatArray) -> Sheet:
    """Points of the ridge of ``bundle``, learned from ``points`` [N, r], inside the borders of the cloud."""
    width = bundle.bandwidth
    ridge = ridge_project(bundle, subset(points, hashes(points), tuning.PATCH_OBSERVATIONS / bundle.typical_mass))
    good = (ridge.status == Status.OK) & (ridge.density > tuning.SUPPORT)
    if good.sum() < 20:
        raise ValueError(
            f"points must lie around a surface; only {int(good.sum())} observations with a ridge were found at "
            f"bandwidth {width:.3g}. Pass the points of a surface, or another bandwidth."
        )
    points, tangents = ridge.points[good], ridge.tangents[good]
    frame = bundle.frame(points)
    _check_flatness(frame.eigenvalues, width)
    noise = float(np.median(ridge.noise[good]))
    drift = np.linalg.norm(np.einsum("nri,nr->ni", tangents, frame.mean - points), axis=1)
    inside = excess(drift, width, noise) <= 0.0
    blur = (1.0 + (noise / width) ** 2) ** (0.5 * (points.shape[1] - 2))
    density = bundle.typical_mass * blur / (2.0 * np.pi * width**2)
    return Sheet(points[inside], tangents[inside], drift[inside], noise, float(density**-0.5))


def _check_flatness(eigenvalues: FloatArray, width: float) -> None:
    """Raise when typical neighbourhoods are those of a curve or a solid body."""
    first, second, third = np.median(eigenvalues[:, :3], axis=0)
    if second < tuning.SHEET_FLATNESS * first:
        shape = "a curve"
    elif third > tuning.NO_PLANE * second:
        shape = "a body of more than two dimensions, or noise as large as the object"
    else:
        return
    raise ValueError(
        f"points must lie around a surface; they resemble {shape}: the largest variances of a typical neighbourhood "
        f"are as 1 : {second / first:.2g} : {third / first:.2g} (a surface has 1 : 1 : 0) at bandwidth {width:.3g}. "
        "Pass the points of a surface, or a bandwidth at which they resemble one."
    )


_LEAST = 3


def signal_subspace(points: FloatArray) -> Components:
    """The smallest subspace, of dimension three at least, normal to which ``points`` [N, d] have only noise."""
    found = components_above_noise(points, at_least=_LEAST)
    if found.axes.shape[1] == points.shape[1]:
        return all_components(points)
    coordinates = found.enter(points)
    rest = points - found.leave(coordinates)
    if not rest.any():
        return found
    some = np.arange(len(points))[:: -(-len(points) // SAMPLE)]
    near = cKDTree(coordinates).query(coordinates[some], k=2)[1][:, 1]
    any_other = (some + len(points) // 2) % len(points)
    shuffled = np.random.default_rng(0).permutation(len(points))
    close = np.quantile(np.sum((rest[some] - rest[near]) ** 2, axis=1), tuning.UNRELATED_QUANTILE)
    usual = np.quantile(np.sum((rest[some] - rest[shuffled[any_other]]) ** 2, axis=1), tuning.UNRELATED_QUANTILE)
    # Rounding errors are noise as well.
    tiny = 1e-24 * float(np.sum(np.var(points, axis=0)))
    return found if close > tuning.UNRELATED * usual or usual < tiny else all_components(points)


def project_to_surface(
    observations: FloatArray, points: FloatArray, bandwidth: float, n_jobs: int
) -> tuple[FloatArray, BoolArray]:
    """``points`` [n, d] projected to the second-order ridge of ``observations`` [N, d], and which of them [n] arrive
    where there are observations, within three bandwidths; the others are unchanged. For d > 3 directions in which the
    observations have only noise are left out, as for the mesh."""
    if points.shape[1] == 3:
        fit = WeightedCloud(observations, n_jobs=n_jobs).fit(points, bandwidth, rounds=tuning.RIDGE_STEPS)
        near = cKDTree(observations).query(fit.points)[0] <= RESIDUAL_DEVIATIONS * bandwidth
        return np.where(near[:, None], fit.points, points), np.asarray(near)
    observations = np.unique(observations, axis=0)
    subspace = signal_subspace(observations)
    known, here = subspace.enter(observations), subspace.enter(points)
    if known.shape[1] == 3:
        moved, seen = project_to_surface(known, here, bandwidth, n_jobs)
    else:
        ridge = ridge_project(PrincipalSubbundle(known, 2, bandwidth, n_jobs=n_jobs), here)
        moved, seen = ridge.points, ridge.arrived
    return np.where(seen[:, None], subspace.leave(moved), points), np.asarray(seen)
