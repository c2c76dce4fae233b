"""Points of R³ sorted into cubic bins: nearest neighbours and sums without a tree."""

from subbundle.bins.nearest import Bins

__all__ = ["Bins"]
