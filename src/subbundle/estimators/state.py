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


def bundle_state(bundle: Any) -> State:
    """A bundle that was learned from data."""
    own = bundle.parameters
    if "space" in own:
        own["space"] = describe(own["space"])
    used, own["bandwidth"] = own["bandwidth"], bundle.bandwidth
    values, arrays = {"bundle": own}, {"cloud": bundle.rows}
    if bundle.varies:
        values["smoothing"] = used.smoothing
        arrays |= {"landmarks": used.points, "landmark_bandwidths": used.values[None]}
    return values, arrays


def state_of(learned: Prepared) -> State:
    """The components and the bundle."""
    components = learned.components
    values, arrays = bundle_state(learned.bundle)
    values |= {"bandwidth": learned.bandwidth, "noise": components.noise}
    arrays |= {"mean": components.mean, "axes": components.axes}
    if learned.local_bandwidth is not None and learned.bundle.varies:
        both = [learned.local_bandwidth.values, *arrays["landmark_bandwidths"]]
        arrays["landmark_bandwidths"] = np.stack(both)
    return values, arrays


def check_components(mean: NDArray[Any], axes: NDArray[Any]) -> None:
    """Raise when squares of ``mean`` would overflow, or ``axes`` are longer than unit vectors up to rounding."""
    if not (np.abs(mean) < LARGEST).all() or not (np.abs(axes) < 1.001).all():
        raise ValueError("mean must be finite and axes unit vectors")


def _local_bandwidth(values: Mapping[str, Any], arrays: Mapping[str, Any], row: int) -> LocalBandwidth | None:
    if "landmarks" not in arrays:
        return None
    return LocalBandwidth(arrays["landmarks"], arrays["landmark_bandwidths"][row], values["smoothing"])


def bundle_from(
    values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], n_jobs: int | None
) -> PrincipalSubbundle | RiemannianSubbundle:
    """The inverse of `bundle_state`."""
    cloud, own = np.ascontiguousarray(arrays["cloud"], dtype=np.float64), dict(values["bundle"])
    own["bandwidth"] = _local_bandwidth(values, arrays, -1) or own["bandwidth"]
    if "space" in own:
        return RiemannianSubbundle(cloud, space=restore(own.pop("space")), **own, n_jobs=n_jobs)
    return PrincipalSubbundle(cloud, **own, n_jobs=n_jobs)


def learned_from(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], n_jobs: int | None) -> Prepared:
    """The inverse of `state_of`."""
    mean, axes = (np.ascontiguousarray(arrays[key], dtype=np.float64) for key in ("mean", "axes"))
    if axes.shape != (len(mean), arrays["cloud"].shape[1]):
        shapes = f"mean {mean.shape}, axes {axes.shape} and cloud {arrays['cloud'].shape}"
        raise ValueError(f"{shapes} do not fit each other")
    check_components(mean, axes)
    components, bundle = Components(mean, axes, float(values["noise"])), bundle_from(values, arrays, n_jobs)
    return Prepared(components, float(values["bandwidth"]), bundle, _local_bandwidth(values, arrays, 0))
