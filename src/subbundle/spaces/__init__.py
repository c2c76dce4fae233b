"""Known manifolds on which data may lie: spheres, hyperbolic space, matrices, rotations, shapes, products."""

from subbundle.spaces.base import BaseSpace, Space
from subbundle.spaces.euclidean import Euclidean
from subbundle.spaces.geomstats import from_geomstats
from subbundle.spaces.hyperbolic import Hyperbolic
from subbundle.spaces.kendall import Kendall
from subbundle.spaces.product import Product
from subbundle.spaces.rotations import SO
from subbundle.spaces.spd import SPD
from subbundle.spaces.sphere import Sphere

__all__ = [
    "SO",
    "SPD",
    "BaseSpace",
    "Euclidean",
    "Hyperbolic",
    "Kendall",
    "Product",
    "Space",
    "Sphere",
    "from_geomstats",
]
