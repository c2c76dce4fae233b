"""The state of a fitted estimator as plain values and arrays, from which it is restored to the bit.

An estimator that can be saved has `_state`, which returns a dictionary that JSON can hold and one of arrays, and
`_restore`, which takes them back. The bundle and the kept components, which all of them have, are described here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subbundle._numbers import LARGEST
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.estimators._prepare import Prepared
from subbundle.selection.components import Components
from subbundle.spaces.description import describe, restore

State = tuple[dict[str, Any], dict[str, NDArray[Any]]]


@runtime_checkable
class HasState(Protocol):
    """An estimator that can be written to a file."""

    def _state(self) -> State: ...

    def _restore(self, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None: ...


def state_of(learned: Prepared) -> State:
    """The components and the bundle."""
    bundle, components = learned.bundle, learned.components
    own = bundle.parameters
    if "space" in own:
        own["space"] = describe(own["space"])
    used, own["bandwidth"] = own["bandwidth"], bundle.bandwidth
    values = {"bandwidth": learned.bandwidth, "noise": components.noise, "bundle": own}
    arrays = {"mean": components.mean, "axes": components.axes, "cloud": bundle.rows}
    local = learned.local_bandwidth
    if local is not None and bundle.varies:
        values["smoothing"] = local.smoothing
        arrays |= {"landmarks": local.points, "landmark_bandwidths": np.stack([local.values, used.values])}
    return values, arrays


def check_components(mean: NDArray[Any], axes: NDArray[Any]) -> None:
    """Raise when squares of ``mean`` would overflow, or ``axes`` are longer than unit vectors up to rounding."""
    if not (np.abs(mean) < LARGEST).all() or not (np.abs(axes) < 1.001).all():
        raise ValueError("mean must be finite and axes unit vectors")


def learned_from(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], n_jobs: int | None) -> Prepared:
    """The inverse of `state_of`."""
    mean, axes, cloud = (np.ascontiguousarray(arrays[key], dtype=np.float64) for key in ("mean", "axes", "cloud"))
    if axes.shape != (len(mean), cloud.shape[1]):
        raise ValueError(f"mean {mean.shape}, axes {axes.shape} and cloud {cloud.shape} do not fit each other")
    check_components(mean, axes)
    own = dict(values["bundle"])
    local = None
    if "landmarks" in arrays:
        fields = [
            LocalBandwidth(arrays["landmarks"], row, values["smoothing"]) for row in arrays["landmark_bandwidths"]
        ]
        local, own["bandwidth"] = fields
    bundle: PrincipalSubbundle | RiemannianSubbundle
    if "space" in own:
        bundle = RiemannianSubbundle(cloud, space=restore(own.pop("space")), **own, n_jobs=n_jobs)
    else:
        bundle = PrincipalSubbundle(cloud, **own, n_jobs=n_jobs)
    return Prepared(Components(mean, axes, float(values["noise"])), float(values["bandwidth"]), bundle, local)
