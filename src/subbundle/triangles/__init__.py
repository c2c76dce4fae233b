"""Triangle meshes in R^d: their records, their topology, and triangulating points whose tangent planes are known."""

from subbundle.triangles.mesh import Mesh, Summary
from subbundle.triangles.tangential_delaunay import triangulate

__all__ = ["Mesh", "Summary", "triangulate"]
