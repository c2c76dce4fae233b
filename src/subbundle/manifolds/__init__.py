"""Submanifolds traced by geodesics."""

from subbundle.manifolds.directions import directions
from subbundle.manifolds.submanifold import Submanifold, submanifold

__all__ = ["Submanifold", "directions", "submanifold"]
