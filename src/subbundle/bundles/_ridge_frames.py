"""The ridge {p : (I − P(p)) (m(p) − p) = 0} of a bundle known by its frames alone, as those in closed form are.

In closed form m(p) is the point itself, in full rank P is the identity: then every point is on it. The second
fundamental form is that of the bundle, II(u, v) = (I − P) DP[u] v, with DP by central differences.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.base import Frame, Subbundle
from subbundle.bundles.surroundings import surroundings_of
from subbundle.local.model import LocalModel, partial_model
from subbundle.local.settings import Plan, pairs

# Half-width of the differences, in length scales: their error is its square, 1e-4 of the second fundamental form.
_DIFFERENCE = 1e-2


def ridge_by_frames(bundle: Subbundle, points: FloatArray, plan: Plan) -> LocalModel:
    """The model at ``points`` [batch, dim], which are on the ridge of ``bundle``; no step is taken."""
    n, frame = len(points), bundle.frame(points)
    variance = frame.eigenvalues[:, plan.rank :].sum(axis=1) / plan.codimension
    with np.errstate(divide="ignore"):
        log_mass = np.log(frame.density)
    return partial_model(
        points, frame.vectors.copy(), _second_form(bundle, points, frame), mean=frame.mean,
        eigenvalues=frame.eigenvalues, widths=np.full(n, bundle.length_scale), log_mass=log_mass,
        noise=np.sqrt(variance), offsets=np.zeros(n), status=frame.status,
    )  # fmt: skip


def _across(frame: Frame, vectors: FloatArray) -> FloatArray:
    """(I − P) applied to ``vectors`` [batch, dim]."""
    duals = frame.vectors if frame.duals is None else frame.duals
    along = np.einsum("bdk,bd->bk", duals, vectors)
    return np.asarray(vectors - np.einsum("bdk,bk->bd", frame.vectors, along))


def _second_form(bundle: Subbundle, points: FloatArray, frame: Frame) -> FloatArray:
    """II(e_a, e_b), a ≤ b, as vectors [batch, pairs, dim]; zero where a neighbour has no frame."""
    k, around = bundle.rank, surroundings_of(bundle)
    width = _DIFFERENCE * bundle.length_scale
    turned = np.zeros((k, k, *points.shape))
    for a in range(k):
        for side in (1.0, -1.0):
            ends = around.move(points, side * width * frame.vectors[:, :, a])
            there = bundle.frame(ends)
            for b in range(k):
                moved = around.transport(np.ascontiguousarray(frame.vectors[:, :, b]), points, ends)
                turned[a, b] -= 0.5 * side / width * around.transport(_across(there, moved), ends, points)
            turned[a, :, there.status != Status.OK] = np.nan
    turned = np.nan_to_num(turned)
    both = [0.5 * (turned[a, b] + turned[b, a]) for a, b in pairs(k)]
    return np.stack([_across(frame, vectors) for vectors in both], axis=1)
