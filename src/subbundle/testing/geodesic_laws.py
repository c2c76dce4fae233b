"""Laws of geodesics: what is conserved, how long they are, where they point, how fast methods converge to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle.bundles.base import Subbundle
from subbundle.flow import ORDERS
from subbundle.testing._measure import at_most, coordinates_in, follow, unit_speed


def check_hamiltonian_conserved(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, *, length: float = 1.0, tol: float = 1e-8
) -> None:
    """H(γ(t), η(t)) = H(γ(0), η(0)) at 21 times over ``length``, within 100 times the tolerance of the integration."""
    run = follow(bundle, points, covectors, np.linspace(0.0, length * bundle.length_scale, 21), tol=tol)
    dim = bundle.ambient_dim
    field = bundle.field(run.points.reshape(-1, dim), run.covectors.reshape(-1, dim))
    energy = 0.5 * (run.covectors * field.velocity.reshape(run.points.shape)).sum(axis=2)
    drift = np.abs(energy / energy[:, :1] - 1.0).max(axis=1)
    at_most(drift, 100.0 * tol, "H is constant along geodesics, relative drift")


def check_time_homogeneity(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, *, length: float = 1.0, tol: float = 1e-8
) -> None:
    """exp_p(tη) = γ_η(t), for t = ¼, ½ and 1: positions agree within 100 tol L, covectors within 100 tol |η|."""
    unit = unit_speed(bundle, points, covectors) * (length * bundle.length_scale)
    times = np.array([0.25, 0.5, 1.0])
    along = follow(bundle, points, unit, times, tol=tol, unit_speed=False)
    for i, t in enumerate(times):
        ends = follow(bundle, points, t * unit, np.array([1.0]), tol=tol, unit_speed=False)
        away = np.linalg.norm(ends.points[:, 0] - along.points[:, i], axis=1) / bundle.length_scale
        at_most(away, 100.0 * tol, f"exp(tη) = γ(t) at t = {t}, distance")
        turned = np.linalg.norm(ends.covectors[:, 0] / t - along.covectors[:, i], axis=1)
        at_most(turned / np.linalg.norm(unit, axis=1), 100.0 * tol, f"η scales with time at t = {t}, relative error")


def check_unit_speed_length(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, *, length: float = 1.0, bound: float = 1e-6
) -> None:
    """A geodesic asked for by its length has that length.

    Measured without covectors: chords between neighbouring points, in the frame at their middle, |F⁺ (γ_{i+1} − γ_i)|,
    summed over 64 and over 128 chords; both are of second order and are extrapolated to fourth.
    """
    total = length * bundle.length_scale
    run = follow(bundle, points, covectors, np.linspace(0.0, total, 129), tol=1e-10)
    fine, coarse = (_polygon_length(bundle, run.points[:, ::stride]) for stride in (1, 2))
    measured = (4.0 * fine - coarse) / 3.0
    at_most(np.abs(measured / total - 1.0), bound, "the length of a geodesic is the one asked for, relative error")


def _polygon_length(bundle: Subbundle, curves: FloatArray) -> FloatArray:
    chords = np.diff(curves, axis=1)
    middles = 0.5 * (curves[:, 1:] + curves[:, :-1])
    vectors = bundle.frame(middles.reshape(-1, bundle.ambient_dim)).vectors
    pieces = np.linalg.norm(coordinates_in(vectors, chords.reshape(-1, bundle.ambient_dim)), axis=1)
    return np.asarray(pieces.reshape(chords.shape[:2]).sum(axis=1))


def check_horizontality(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, *, length: float = 1.0, bound: float = 1e-6
) -> None:
    """γ̇(t) lies in the subspace at γ(t): the part of γ̇ outside it is at most ``bound`` of γ̇.

    γ̇ by five-point differences of the points, of fourth order, at 5 places.
    """
    h = 0.01 * length * bundle.length_scale
    centres = h * np.array([2.0, 26.0, 50.0, 74.0, 98.0])
    times = (centres[:, None] + h * np.arange(-2, 3)).ravel()
    run = follow(bundle, points, covectors, times, tol=1e-11)
    curve = run.points.reshape(len(run.points), len(centres), 5, -1)
    tangent = (curve[:, :, 0] - 8.0 * curve[:, :, 1] + 8.0 * curve[:, :, 3] - curve[:, :, 4]) / (12.0 * h)
    vectors = bundle.frame(curve[:, :, 2].reshape(-1, bundle.ambient_dim)).vectors
    tangent = tangent.reshape(-1, bundle.ambient_dim)
    inside = np.einsum("bdi,bi->bd", vectors, coordinates_in(vectors, tangent))
    outside = np.linalg.norm(tangent - inside, axis=1) / np.linalg.norm(tangent, axis=1)
    worst = outside.reshape(len(run.points), -1).max(axis=1)
    at_most(worst, bound, "geodesics are horizontal, part of γ̇ outside the subspace")


def check_convergence_order(
    bundle: Subbundle,
    points: FloatArray,
    covectors: FloatArray,
    *,
    method: str,
    length: float = 1.0,
    steps: Sequence[int] | None = None,
) -> None:
    """The error at the end shrinks with the stated power of the step: log error against log step has that slope.

    The truth is dopri5 with tol = 1e-12; ``steps`` are the numbers of steps compared. dopri5 itself must have an error
    proportional to its tolerance: the slope of log error against log tol is 1. Slopes may be off by 0.3. Methods that
    are exact for a bundle (straight lines) pass: below 1e-11 the truth itself is uncertain.
    """
    total = length * bundle.length_scale
    times = np.array([total])
    truth = follow(bundle, points, covectors, times, tol=1e-12, max_steps=100_000).end_points
    settings: list[dict[str, Any]]
    if method == "dopri5":
        control = np.array([1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
        settings = [{"tol": tol} for tol in control]
        order = 1.0
    else:
        counts = np.array(steps if steps is not None else {1: (128, 256, 512)}.get(ORDERS[method], (16, 32, 64)))
        control = total / counts
        settings = [{"step": step} for step in control]
        order = float(ORDERS[method])
    ends = (follow(bundle, points, covectors, times, method=method, **setting).end_points for setting in settings)
    error = np.array([np.sqrt(((end - truth) ** 2).sum(axis=1).mean()) for end in ends]) / bundle.length_scale
    if error.max() < 1e-11:
        return
    slope = np.polyfit(np.log(control), np.log(np.maximum(error, 1e-16)), 1)[0]
    if not abs(slope - order) <= 0.3:
        what = "tolerances" if method == "dopri5" else "steps"
        raise AssertionError(
            f"Law broken: {method} must converge with slope {order:g}; it is {slope:.2f}, from errors {error} at "
            f"{what} {control}."
        )
