"""Learn the geometry of a point cloud from its principal subbundle and the geodesics that follow it.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Carried": "subbundle.manifolds.ridge",
    "Cloud": "subbundle.cloud",
    "Geodesics": "subbundle.geodesics.geodesic",
    "PrincipalSubbundle": "subbundle.bundles.principal",
    "Status": "subbundle._types",
    "Submanifold": "subbundle.manifolds.submanifold",
    "SubbundleWarning": "subbundle._types",
    "carry_to_ridge": "subbundle.manifolds.ridge",
    "exp": "subbundle.geodesics.exp",
    "geodesic": "subbundle.geodesics.geodesic",
    "submanifold": "subbundle.manifolds.submanifold",
}
_MODULES = ("bundles", "cloud", "datasets", "flow", "geodesics", "io", "kernels", "manifolds", "plot", "testing")

__all__ = [*_HOME, *_MODULES, "__version__"]

if TYPE_CHECKING:
    from subbundle import bundles, cloud, datasets, flow, geodesics, io, kernels, manifolds, plot, testing
    from subbundle._types import Status, SubbundleWarning
    from subbundle.bundles.principal import PrincipalSubbundle
    from subbundle.cloud import Cloud
    from subbundle.geodesics.exp import exp
    from subbundle.geodesics.geodesic import Geodesics, geodesic
    from subbundle.manifolds.ridge import Carried, carry_to_ridge
    from subbundle.manifolds.submanifold import Submanifold, submanifold


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"subbundle.{name}")
    else:
        raise AttributeError(f"module 'subbundle' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
