"""Subbundles: the protocol, the principal subbundle of a cloud, and bundles in closed form."""

from subbundle.bundles.analytic import Constant, Heisenberg, SphereTangent
from subbundle.bundles.base import Field, Frame, Subbundle
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.bundles.principal import PrincipalSubbundle

__all__ = [
    "Constant",
    "Field",
    "Frame",
    "Heisenberg",
    "LocalBandwidth",
    "PrincipalSubbundle",
    "SphereTangent",
    "Subbundle",
]
