"""From the points of a surface in R³ to a triangle mesh."""

from subbundle.surface.reconstruct import reconstruct
from subbundle.triangles.mesh import Mesh, Summary

__all__ = ["Mesh", "Summary", "reconstruct"]
