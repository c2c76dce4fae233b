"""The base point of a chart, chosen or given, and the chart there."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_choice, as_points
from subbundle.charts.chart import Chart
from subbundle.cloud import Cloud
from subbundle.estimators._on_manifold import central_rows
from subbundle.estimators._prepare import Prepared
from subbundle.geodesics.directions import default_count
from subbundle.selection.base_point import CANDIDATES, central_landmarks, central_points, first_on_ridge
from subbundle.spaces.base import Space
from subbundle.spaces.rows import as_observations

# Geodesics of a two-dimensional chart: its interpolant is then good to a hundredth of a bandwidth or better, far below
# the noise, at half the time of the thousandth that `Chart` aims at.
_RAYS = 256
# Rank up to which geodesics are followed in all directions: of more it takes a minute for a thousand rows.
_HIGHEST = 12
# Components up to which that many are followed; beyond, their number falls with the eighth power, as a step takes
# longer and thin data needs more of them, but not below a fraction.
_FEW_COMPONENTS, _LEAST_FRACTION = 8, 0.12


def find_base_point(learned: Prepared, base_point: Any, space: Space | None) -> FloatArray:
    """The base point [r] in the kept components, projected onto the ridge; ``space`` as the estimator has it."""
    bundle, components = learned.bundle, learned.components
    if isinstance(base_point, str):
        if as_choice(base_point, "base_point", ("frechet", "learned", "auto")) == "learned":
            candidates = central_landmarks(bundle, CANDIDATES)[0]
        elif space is None:
            candidates = central_points(Cloud(bundle.rows), CANDIDATES)
        else:
            candidates = bundle.rows[central_rows(bundle.rows, space)[:CANDIDATES]]
        wanted = f"one of the {len(candidates)} most central observations"
        hint = "Pass another bandwidth, or a base_point inside the data."
    else:
        given = (
            as_points(base_point, "base_point", dim=len(components.mean), ndim=1)[None]
            if space is None
            else as_observations(np.asarray(base_point)[None], space)
        )
        candidates, wanted = components.enter(given), "the given base_point"
        hint = "Choose a point on the data, for instance one of its rows."
    return first_on_ridge(bundle, candidates, wanted, hint)[1]


def first_chart(learned: Prepared, base: FloatArray, radius: float | str, space: Space | None) -> Chart:
    """The chart at ``base`` [r]: in many components of fewer geodesics, none longer than the data is wide."""
    bundle, rank = learned.bundle, learned.bundle.rank
    if rank > _HIGHEST:
        raise ValueError(
            f"n_components must be at most {_HIGHEST} for one chart, whose geodesics go in all directions; got {rank}. "
            f"Use AtlasEmbedding(n_components={rank}), which follows none."
        )
    fraction = (_FEW_COMPONENTS / learned.components.axes.shape[1]) ** 8
    if space is not None or fraction >= 1.0 or rank == 1:
        return Chart(bundle, base, radius, n_geodesics=_RAYS if rank == 2 else None)
    full = _RAYS if rank == 2 else default_count(rank)
    rays = int(max(fraction, _LEAST_FRACTION) * full)
    return Chart(bundle, base, radius, n_geodesics=rays, max_radius=Cloud(bundle.rows).size)
