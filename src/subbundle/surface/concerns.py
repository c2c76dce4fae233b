"""Warnings: when a mesh looks wrong for a scan, and what to try."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import IntArray
from subbundle.surface import tuning
from subbundle.surface.prepare import warn
from subbundle.surface.project import Settled
from subbundle.triangles.mesh import Mesh
from subbundle.triangles.topology import face_normals

# Fraction of the area of a closed surface that may lie where nothing was seen before a warning is due.
_INVENTED = 0.3
# Borders, connected components or handles from which on a mesh looks like crumbs and not like an object.
_MANY = 10


def seeds_found(count: int, reliability: float) -> None:
    """Raise when hardly any tangent plane was found."""
    if count < 20 or reliability < 0.05:
        raise ValueError(
            f"points must lie around a surface; only {count} places with a clear tangent plane were found. "
            "Pass the points of a surface, or another bandwidth."
        )


def cells_wider(wanted: float, cell: float) -> None:
    """Warn when cells had to be made wider than they should be."""
    warn(
        f"the mesh is coarser than the scan: cells of {wanted:.3g} would need more memory than allowed, so they "
        f"are {cell:.3g} wide. Reconstruct parts of the scan one by one, or pass a larger bandwidth."
    )


def invented_area(settled: Settled, faces: IntArray, unseen: NDArray[np.bool_]) -> None:
    """Warn when a good part of a closed surface lies where nothing was seen."""
    seen = ((settled.support > tuning.SUPPORT) & ~unseen)[faces].any(axis=1)
    area = np.linalg.norm(face_normals(settled.points, faces), axis=1)
    invented = float(area[~seen].sum() / area.sum())
    if invented > _INVENTED:
        warn(
            f"{100.0 * invented:.0f} % of the area of the closed surface lies where there are no points: the cloud "
            "looks like an open sheet, and what closes it is a guess. Leave closed=False, or pass a larger opening."
        )


def crumbled(mesh: Mesh, *, closed: bool) -> None:
    """Warn when the mesh has more borders, components or handles than an object that was scanned."""
    borders, components = mesh.n_border_loops, mesh.n_components
    handles = (2 * components - borders - mesh.euler_characteristic) // 2
    counts = ((borders, "borders"), (components, "connected components"), (handles, "handles"))
    signs = [f"{count} {name}" for count, name in counts if count > _MANY]
    if signs:
        found = " and ".join([", ".join(signs[:-1]), signs[-1]] if len(signs) > 1 else signs)
        other = "a larger opening or closed=True to bridge gaps, " if borders > _MANY and not closed else ""
        warn(
            f"the mesh has {found}, which is much for a scanned object: the scan may be sparse, thin or in layers "
            f"there. Try {other}a larger bandwidth, or the scanner's normals."
        )
