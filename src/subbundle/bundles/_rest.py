"""Points projected onto the ridge of a principal subbundle, in the working coordinates of its cloud and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray
from subbundle.bundles._reduction import Coordinates
from subbundle.cloud import Cloud
from subbundle.kernels import GAUSSIAN
from subbundle.local.model import LocalModel, walk
from subbundle.local.settings import Plan, Settings


def rest_in(
    cloud: Cloud, coordinates: Coordinates, settings: Settings, points: FloatArray, plan: Plan, n_jobs: int | None
) -> LocalModel:
    """The local model where ``points`` [batch, d] come to rest, in their coordinates; ``cloud`` is in working ones."""
    working, _, directions = coordinates.enter(points)
    plan = replace(
        plan,
        kernel=settings.kernel,
        reach=plan.reach if settings.kernel == GAUSSIAN else settings.reach,
        codimension=max(coordinates.span - plan.rank, 1),
        log_share=settings.log_share,
        min_gap=settings.min_gap,
    )
    found = walk(cloud, working, settings.widths, np.empty(0), plan, resolve_jobs(n_jobs))
    leave, centre = coordinates.leave, coordinates.centre
    return replace(
        found,
        points=leave(found.points, directions) + centre,
        mean=leave(found.mean, directions) + centre,
        tangents=np.stack([leave(found.tangents[:, :, i], directions) for i in range(plan.rank)], axis=2),
        forms=np.stack([leave(found.forms[:, i], directions) for i in range(found.forms.shape[1])], axis=1),
        basis=None,
    )
