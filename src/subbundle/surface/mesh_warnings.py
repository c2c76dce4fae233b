"""Warnings: when a mesh is implausible for a scan, and what to try."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.bins import Bins
from subbundle.surface import tuning
from subbundle.surface.prepare import warn
from subbundle.surface.project import Projected
from subbundle.triangles.mesh import Mesh
from subbundle.triangles.topology import face_normals

# Fraction of the area of a closed surface without observations from which on a warning is issued.
_EXTRAPOLATED = 0.3
# Borders, connected components or handles near the resolution from which on a mesh is fragmented.
_MANY = 10


def require_seeds(count: int, reliability: float) -> None:
    """Raise when too few tangent planes were found."""
    if count < 20 or reliability < 0.05:
        raise ValueError(
            f"points must lie around a surface; only {count} seeds with a clear tangent plane were found. "
            "Pass the points of a surface, or another bandwidth."
        )


def warn_of_wider_cells(required: float, cell: float) -> None:
    """Warn that cells are wider than the scan resolves."""
    warn(
        f"the mesh is coarser than the scan: cells of {required:.3g} would need more memory than allowed, so they "
        f"are {cell:.3g} wide. Reconstruct regions of the scan one by one, or pass a larger bandwidth."
    )


def warn_of_extrapolation(projected: Projected, faces: IntArray, unseen: NDArray[np.bool_]) -> None:
    """Warn when a large fraction of a closed surface has no observations."""
    seen = ((projected.support > tuning.SUPPORT) & ~unseen)[faces].any(axis=1)
    area = np.linalg.norm(face_normals(projected.points, faces), axis=1)
    extrapolated = float(area[~seen].sum() / area.sum())
    if extrapolated > _EXTRAPOLATED:
        warn(
            f"{100.0 * extrapolated:.0f} % of the area of the closed surface lies where there are no points: the cloud "
            "resembles an open sheet, and its closure is extrapolated. Leave closed=False, or pass a larger opening."
        )


def warn_of_points_beside(points: FloatArray, mesh: Mesh, window: float, n_points: int) -> None:
    """Warn when ``points`` [o, 3] off the mesh, of ``n_points``, are too many and too near for outliers."""
    far = Bins(mesh.vertices, 0.5 * window).query(points)[0][:, 0] if len(points) else np.empty(0)
    beside = int(np.sum(far < tuning.RESOLVED * window))
    if 20 * beside > n_points:
        warn(
            f"{100.0 * beside / n_points:.0f} % of the points lie beside the surface, within two bandwidths, and are "
            "hardly outliers: two sides of a thin wall may be merged, or the scan may be in layers. Try a smaller "
            "bandwidth, or the scanner's normals."
        )


def warn_of_fragments(mesh: Mesh, window: float, *, closed: bool) -> None:
    """Warn when the mesh has more borders, components or small handles than is plausible for a scanned object."""
    borders, components = mesh.n_border_loops, mesh.n_components
    handles = (2 * components - borders - mesh.euler_characteristic) // 2
    # Handles as wide as the tunnels that observations may fill have that much area each; larger ones are resolved.
    handles = handles if mesh.area < handles * (np.pi * tuning.FILLED_WIDTH * window) ** 2 else 0
    counts = ((borders, "borders"), (components, "connected components"), (handles, "handles"))
    signs = [f"{count} {name}" for count, name in counts if count > _MANY]
    if signs:
        found = " and ".join([", ".join(signs[:-1]), signs[-1]] if len(signs) > 1 else signs)
        other = "a larger opening or closed=True to bridge gaps, " if borders > _MANY and not closed else ""
        warn(
            f"the mesh has {found}, which is unusual for a scanned object: the scan may be sparse, thin or in layers "
            f"there. Try {other}a larger bandwidth, or the scanner's normals."
        )
