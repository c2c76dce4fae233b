"""Geodesics of a subbundle: the curves, and the exponential map that sends covectors to their ends."""

from subbundle.geodesics.exp import exp
from subbundle.geodesics.geodesic import Geodesics, geodesic

__all__ = ["Geodesics", "exp", "geodesic"]
