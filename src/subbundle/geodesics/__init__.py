"""Geodesics of a subbundle: the curves, the exponential map that sends covectors to their ends, and what they trace."""

from subbundle.geodesics.directions import directions
from subbundle.geodesics.exp import exp
from subbundle.geodesics.geodesic import Geodesics, geodesic
from subbundle.geodesics.submanifold import Submanifold, submanifold

__all__ = ["Geodesics", "Submanifold", "directions", "exp", "geodesic", "submanifold"]
