"""From the points of a surface in R³ to a triangle mesh."""

from subbundle.meshing.mesh import Mesh, Summary
from subbundle.meshing.reconstruct import reconstruct

__all__ = ["Mesh", "Summary", "reconstruct"]
