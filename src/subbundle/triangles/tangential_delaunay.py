"""`triangulate`: a manifold triangle mesh with given points of a surface in R^d as its corners."""

from __future__ import annotations

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, IntArray
from subbundle.triangles.stars import candidates
from subbundle.triangles.stitch import stitch


def triangulate(points: FloatArray, tangents: FloatArray, opening: float, n_jobs: int | None = None) -> IntArray:
    """Faces [m, 3] of a surface through ``points`` [n, d] with ``tangents`` [n, d, 2] orthonormal.

    The points must be spread evenly, closer than the surface bends. Gaps narrower than ``opening`` are bridged; wider
    ones stay open, and so do borders. Sheets further apart than half of it are never joined. Faces are not turned
    alike; see `turning`.
    """
    found = candidates(points, tangents, 0.5 * opening, resolve_jobs(n_jobs))
    return stitch(points, tangents, found, opening)
