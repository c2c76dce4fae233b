"""Projection onto the ridge of any bundle, from its frames alone.

On a known manifold offsets are logs, steps are taken by exp and neighbouring frames are transported to the point in
parallel; in R^d these are differences, sums and the identity. With μ = log_p(m(p)), the step of order 1 is
(I − P) μ, and of order 2

    (I − P) μ − ½ Σ_a λ_a II(e_a, e_a) + ½ II(Pμ, Pμ),        II(u, v) = (I − P) DP[u] v,

DP by central differences: the local mean of a curved cloud lies on the concave side, by half of II contracted with the
second moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray, Status, StatusArray
from subbundle.bundles.base import Frame, Subbundle
from subbundle.bundles.surroundings import Surroundings, surrounding_dim, surroundings_of
from subbundle.local.model import LocalModel, partial_model
from subbundle.local.settings import Plan, pairs
from subbundle.local.standard_errors import widened

# Half-width of the differences, in length scales: their error is its square, 1e-4 of the correction.
_DIFFERENCE = 1e-2


def ridge_by_frames(bundle: Subbundle, points: FloatArray, plan: Plan) -> LocalModel:
    """Project ``points`` [batch, dim] onto the ridge of ``bundle``; reach and continuation of the plan are not used."""
    n, dim, k = *points.shape, bundle.rank
    around = surroundings_of(bundle)
    codimension = max(surrounding_dim(bundle) - k, 1)
    current = points.copy()
    status = np.full(n, Status.NOT_CONVERGED, np.int8)
    offsets, steps = np.full(n, np.inf), np.zeros(n, np.int64)
    tangents, forms = np.full((n, dim, k), np.nan), np.full((n, k * (k + 1) // 2, dim), np.nan)
    log_mass, variance = np.full(n, -np.inf), np.full(n, np.nan)
    mean, values = np.full((n, dim), np.nan), np.full((n, dim), np.nan)
    for _ in range(plan.max_steps):
        rows = np.flatnonzero(status == Status.NOT_CONVERGED)
        if rows.size == 0:
            break
        frame = bundle.frame(current[rows])
        with np.errstate(divide="ignore"):
            log_mass[rows] = np.log(frame.density)
        outcome = frame.status
        status[rows[outcome != Status.OK]] = outcome[outcome != Status.OK]
        good = np.flatnonzero(outcome == Status.OK)
        rows, frame = rows[good], _rows_of(frame, good)
        forms[rows] = _second_form(bundle, around, current[rows], frame)
        shift = around.displacement(current[rows], frame.mean)
        step = _across(frame, shift)
        if plan.order == 2:
            step = step - 0.5 * _curvature_bias(frame, forms[rows], _along(frame, shift))
        tangents[rows], variance[rows] = frame.vectors, _variance(bundle, frame)
        mean[rows], values[rows] = frame.mean, frame.eigenvalues
        moved = around.move(current[rows], step)
        offsets[rows] = around.distance(current[rows], moved)
        current[rows] = moved
        steps[rows] += 1
        status[rows[offsets[rows] <= plan.tol]] = Status.OK
    # Bundles in closed form have no noise; for others the window is taken as Gaussian.
    widths = np.full(n, bundle.length_scale)
    return partial_model(
        current, tangents, forms, mean=mean, eigenvalues=values, widths=widths, log_mass=log_mass,
        residual=variance * codimension, noise=np.sqrt(widened(variance, widths**2)), offsets=offsets, steps=steps,
        status=status,
    )  # fmt: skip


def _across(frame: Frame, vectors: FloatArray) -> FloatArray:
    """(I − P) applied to ``vectors`` [batch, dim]."""
    return np.asarray(vectors - np.einsum("bdk,bk->bd", frame.vectors, _along(frame, vectors)))


def _variance(bundle: Subbundle, frame: Frame) -> FloatArray:
    """Second moment per normal direction."""
    k, dim = bundle.rank, surrounding_dim(bundle)
    if dim == k:
        return np.zeros(len(frame.vectors))
    return np.asarray(frame.eigenvalues[:, k:dim].sum(axis=1) / (dim - k))


def _second_form(bundle: Subbundle, around: Surroundings, points: FloatArray, frame: Frame) -> FloatArray:
    """II(e_a, e_b), a ≤ b, as vectors [batch, pairs, dim]; zero where a neighbour has no frame."""
    k = bundle.rank
    width = _DIFFERENCE * bundle.length_scale
    turned = np.zeros((k, k, *points.shape))
    for a in range(k):
        ends = [around.move(points, side * width * frame.vectors[:, :, a]) for side in (1.0, -1.0)]
        (ahead, outcome), (behind, outcome_behind) = (_across_there(bundle, around, frame, end, points) for end in ends)
        known = (outcome == Status.OK) & (outcome_behind == Status.OK)
        turned[a][:, known] = ((behind - ahead) / (2.0 * width))[:, known]
    both = [0.5 * (turned[a, b] + turned[b, a]) for a, b in pairs(k)]
    return np.stack([_across(frame, vectors) for vectors in both], axis=1)


def _across_there(
    bundle: Subbundle, around: Surroundings, frame: Frame, ends: FloatArray, points: FloatArray
) -> tuple[FloatArray, StatusArray]:
    """(I − P) e_b [k, batch, dim] with the projector at ``ends``, compared at ``points``; and its status."""
    there = bundle.frame(ends)
    transported = []
    for b in range(bundle.rank):
        moved = around.transport(np.ascontiguousarray(frame.vectors[:, :, b]), points, ends)
        transported.append(around.transport(_across(there, moved), ends, points))
    return np.stack(transported), there.status


def _along(frame: Frame, vectors: FloatArray) -> FloatArray:
    """Components [batch, k] in the frame."""
    duals = frame.vectors if frame.duals is None else frame.duals
    return np.asarray(np.einsum("bdk,bd->bk", duals, vectors))


def _curvature_bias(frame: Frame, forms: FloatArray, tangential: FloatArray) -> FloatArray:
    """Σ_ab (λ_a δ_ab − τ_a τ_b) II(e_a, e_b)."""
    k = frame.vectors.shape[2]
    total = np.zeros_like(forms[:, 0])
    for pair, (a, b) in enumerate(pairs(k)):
        own = frame.eigenvalues[:, a] if a == b else 0.0
        factor = own - (1.0 if a == b else 2.0) * tangential[:, a] * tangential[:, b]
        total += factor[:, None] * forms[:, pair]
    return total


def _rows_of(frame: Frame, rows: np.ndarray[Any, Any]) -> Frame:
    duals = None if frame.duals is None else frame.duals[rows]
    return Frame(
        frame.vectors[rows], frame.eigenvalues[rows], frame.mean[rows], frame.density[rows],
        frame.gap[rows], frame.status[rows], duals,
    )  # fmt: skip
