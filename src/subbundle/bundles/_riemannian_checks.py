"""Whether observations, bandwidth and space suit each other, with advice when they do not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from subbundle._types import FloatArray, SubbundleWarning, all_finite
from subbundle.bundles._riemannian_geometry import flattened, shaped
from subbundle.kernels import gaussian_reach
from subbundle.spaces.base import Space, one_array

# Observations whose distances to all others are looked at for advice.
_LOOKED_AT = 64
# Violation up to which an observation is a point of the space but for rounding, and is left as it is.
_ROUNDING = 1e-9


def check_space(space: Any) -> None:
    """Raise when ``space`` is not a manifold that observations can lie on."""
    if not isinstance(space, Space):
        hint = (
            "Write space=sb.spaces.from_geomstats(space)."
            if type(space).__module__.startswith("geomstats")
            else "Pass for example space=sb.spaces.Sphere(2)."
        )
        raise TypeError(f"space must be a manifold of sb.spaces; got {space!r}. {hint}")


def as_observations(points: Any, space: Any) -> FloatArray:
    """Observations of a space, ``[N, *shape]`` or ``[N, D]``, as flat rows [N, D] on it, or an error in words."""
    check_space(space)
    array = one_array(points, "points", space.shape)
    axes = 1 + len(space.shape)
    if axes > 2 and array.ndim == 2 and array.shape[1] == space.ambient_dim:
        array = array.reshape(-1, *space.shape)
    valid = space.validate(array, "points")
    if valid.ndim != axes:
        wanted = ", ".join(map(str, space.shape))
        raise ValueError(f"points must hold observations of {space!r}, shape (N, {wanted}); got shape {valid.shape}.")
    loose = space.violation(valid) > _ROUNDING
    if loose.any():
        valid = valid.copy()
        valid[loose] = space.projection(valid[loose])
    return np.ascontiguousarray(flattened(space, valid))


def aligned(space: Space, rows: FloatArray) -> FloatArray:
    """On a quotient: of each orbit the representative nearest to that of the first row; elsewhere the rows
    themselves."""
    points = shaped(space, rows)
    if space.vertical_basis(points[0]).shape[0] == 0:
        return rows
    turned = flattened(space, space.exp(space.log(points, points[0]), points[0]))
    return np.where(all_finite(turned)[:, None], turned, rows)


def check_cut_locus(space: Space, bandwidth: float, rows: FloatArray, row: FloatArray) -> None:
    """Raise because an observation, ``row`` [D], has others of ``rows`` [N, D] in reach on its cut locus."""
    points, point = shaped(space, rows), shaped(space, row)
    cut = np.flatnonzero(space.at_cut_locus(points, point))
    distance = float(space.dist(points[cut], point).min())
    enough = distance / np.sqrt(gaussian_reach(space.dim))
    raise ValueError(
        f"points must not lie on each other's cut locus within reach of the kernel, where no single shortest geodesic "
        f"joins them (antipodes, on a sphere); two observations at distance {distance:.3g} do, for "
        f"bandwidth={bandwidth:g}. Use a bandwidth below {enough:.3g}, or leave one of them out."
    )


def check_bandwidth(space: Space, bandwidth: float, rank: int, rows: FloatArray, effective: float) -> None:
    """Raise when a typical point has too few neighbours; warn when the kernel spans the whole cloud."""
    if effective >= rank + 1 and effective < 0.5 * len(rows):
        return
    some = rows[(np.arange(min(_LOOKED_AT, len(rows))) * len(rows)) // min(_LOOKED_AT, len(rows))]
    distance = np.sort([space.dist(shaped(space, rows), shaped(space, row)) for row in some], axis=1)
    if effective < rank + 1:
        advice = float(np.median(distance[:, min(4 * (rank + 1), len(rows) - 1)]))
        raise ValueError(
            f"bandwidth must reach at least rank + 1 = {rank + 1} neighbours at a typical point; "
            f"bandwidth={bandwidth:g} gives {effective:.2g} effective neighbours. Try bandwidth={advice:.3g} or more."
        )
    size = float(distance[:, -1].max())
    if bandwidth > size:
        warnings.warn(
            f"bandwidth={bandwidth:g} is larger than the whole cloud (diameter {size:.3g}): every point sees all "
            "observations alike, and the subspaces are those of one tangent PCA. Try a bandwidth below "
            f"{0.1 * size:.3g}.",
            SubbundleWarning,
            stacklevel=4,
        )
