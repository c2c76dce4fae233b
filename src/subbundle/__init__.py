"""Learn the geometry of a point cloud from its principal subbundle and the geodesics that follow it.

Names are loaded when they are first used, so that importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Functions, classes and exceptions.
_PUBLIC = {
    "Atlas": "subbundle.atlas.atlas",
    "AtlasEmbedding": "subbundle.estimators.atlas_embedding",
    "Chart": "subbundle.charts.chart",
    "Cloud": "subbundle.cloud",
    "GeodesicDistance": "subbundle.estimators.geodesic_distance",
    "LocalBandwidth": "subbundle.bundles.local_bandwidth",
    "Mesh": "subbundle.triangles.mesh",
    "PrincipalSubbundle": "subbundle.bundles.principal",
    "PrincipalSubmanifold": "subbundle.estimators.principal_submanifold",
    "QuadraticChart": "subbundle.charts.quadratic_chart",
    "RiemannianSubbundle": "subbundle.bundles.riemannian",
    "Status": "subbundle._types",
    "Subbundle": "subbundle.bundles.base",
    "SubbundleError": "subbundle._types",
    "SubbundleWarning": "subbundle._types",
    "SurfaceReconstructor": "subbundle.estimators.surface_reconstructor",
    "carry_to_ridge": "subbundle.bundles.ridge",
    "connected_components": "subbundle.geodesics.connected_components",
    "diagnose": "subbundle.diagnostics.report",
    "distance": "subbundle.geodesics.distance",
    "exp": "subbundle.geodesics.geodesic",
    "geodesic": "subbundle.geodesics.geodesic",
    "geodesic_between": "subbundle.geodesics.between",
    "load": "subbundle.saving",
    "log": "subbundle.geodesics.log",
    "pairwise_distance": "subbundle.geodesics.distance",
    "progress": "subbundle._progress",
    "ridge_project": "subbundle.bundles.ridge_project",
    "reconstruct": "subbundle.surface.reconstruct",
    "save": "subbundle.saving",
    "submanifold": "subbundle.geodesics.submanifold",
    "view": "subbundle.viewer.front",
}
# Records that functions return: not called by users, so not listed by `dir`, but needed in annotations and by
# `isinstance`.
_RECORDS = {
    "Blended": "subbundle.atlas.atlas",
    "Components": "subbundle.geodesics.connected_components",
    "Field": "subbundle.bundles.base",
    "Frame": "subbundle.bundles.base",
    "Geodesics": "subbundle.geodesics.geodesic",
    "Located": "subbundle.charts.chart",
    "Log": "subbundle.geodesics.log",
    "Report": "subbundle.diagnostics.report",
    "Ridge": "subbundle.bundles.ridge_project",
    "Submanifold": "subbundle.geodesics.submanifold",
}
_MODULES = (
    "bundles",
    "cloud",
    "comparisons",
    "datasets",
    "diagnostics",
    "distributed",
    "estimators",
    "flow",
    "geodesics",
    "io",
    "kernels",
    "plot",
    "scans",
    "selection",
    "spaces",
    "testing",
    "viewer",
)

__all__ = [*_PUBLIC, *_MODULES, "__version__"]
_REACHABLE = {**_PUBLIC, **_RECORDS}

if TYPE_CHECKING:
    from subbundle import bundles as bundles
    from subbundle import cloud as cloud
    from subbundle import comparisons as comparisons
    from subbundle import datasets as datasets
    from subbundle import diagnostics as diagnostics
    from subbundle import distributed as distributed
    from subbundle import estimators as estimators
    from subbundle import flow as flow
    from subbundle import geodesics as geodesics
    from subbundle import io as io
    from subbundle import kernels as kernels
    from subbundle import plot as plot
    from subbundle import scans as scans
    from subbundle import selection as selection
    from subbundle import spaces as spaces
    from subbundle import testing as testing
    from subbundle import viewer as viewer
    from subbundle._progress import progress as progress
    from subbundle._types import Status as Status
    from subbundle._types import SubbundleError as SubbundleError
    from subbundle._types import SubbundleWarning as SubbundleWarning
    from subbundle.atlas.atlas import Atlas as Atlas
    from subbundle.atlas.atlas import Blended as Blended
    from subbundle.bundles.base import Field as Field
    from subbundle.bundles.base import Frame as Frame
    from subbundle.bundles.base import Subbundle as Subbundle
    from subbundle.bundles.local_bandwidth import LocalBandwidth as LocalBandwidth
    from subbundle.bundles.principal import PrincipalSubbundle as PrincipalSubbundle
    from subbundle.bundles.ridge import carry_to_ridge as carry_to_ridge
    from subbundle.bundles.ridge_project import Ridge as Ridge
    from subbundle.bundles.ridge_project import ridge_project as ridge_project
    from subbundle.bundles.riemannian import RiemannianSubbundle as RiemannianSubbundle
    from subbundle.charts.chart import Chart as Chart
    from subbundle.charts.chart import Located as Located
    from subbundle.charts.quadratic_chart import QuadraticChart as QuadraticChart
    from subbundle.cloud import Cloud as Cloud
    from subbundle.diagnostics.report import Report as Report
    from subbundle.diagnostics.report import diagnose as diagnose
    from subbundle.estimators.atlas_embedding import AtlasEmbedding as AtlasEmbedding
    from subbundle.estimators.geodesic_distance import GeodesicDistance as GeodesicDistance
    from subbundle.estimators.principal_submanifold import PrincipalSubmanifold as PrincipalSubmanifold
    from subbundle.estimators.surface_reconstructor import SurfaceReconstructor as SurfaceReconstructor
    from subbundle.geodesics.between import geodesic_between as geodesic_between
    from subbundle.geodesics.connected_components import Components as Components
    from subbundle.geodesics.connected_components import connected_components as connected_components
    from subbundle.geodesics.distance import distance as distance
    from subbundle.geodesics.distance import pairwise_distance as pairwise_distance
    from subbundle.geodesics.geodesic import Geodesics as Geodesics
    from subbundle.geodesics.geodesic import exp as exp
    from subbundle.geodesics.geodesic import geodesic as geodesic
    from subbundle.geodesics.log import Log as Log
    from subbundle.geodesics.log import log as log
    from subbundle.geodesics.submanifold import Submanifold as Submanifold
    from subbundle.geodesics.submanifold import submanifold as submanifold
    from subbundle.saving import load as load
    from subbundle.saving import save as save
    from subbundle.surface.reconstruct import reconstruct as reconstruct
    from subbundle.triangles.mesh import Mesh as Mesh
    from subbundle.viewer.front import view as view


def __getattr__(name: str) -> Any:
    if name in _REACHABLE:
        value = getattr(import_module(_REACHABLE[name]), name)
    elif name in _MODULES:
        value = import_module(f"subbundle.{name}")
    else:
        raise AttributeError(f"module 'subbundle' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
