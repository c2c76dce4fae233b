"""Triangle meshes in R^d: their records, their topology, and triangulation of points with tangent planes."""

from subbundle.triangles.mesh import Mesh, Summary
from subbundle.triangles.tangential_delaunay import triangulate

__all__ = ["Mesh", "Summary", "triangulate"]
