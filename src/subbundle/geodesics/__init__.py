"""Geodesics of a subbundle: the curves, the exponential map, and sampled submanifolds."""

from subbundle.geodesics.geodesic import Geodesics, exp, geodesic
from subbundle.geodesics.start import directions
from subbundle.geodesics.submanifold import Submanifold, submanifold

__all__ = ["Geodesics", "Submanifold", "directions", "exp", "geodesic", "submanifold"]
