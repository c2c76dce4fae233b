"""Laws of geodesics: conserved Hamiltonian, homogeneity, length, horizontality, order of convergence."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle.bundles.base import Subbundle
from subbundle.flow import ORDERS
from subbundle.testing._measure import at_most, coordinates_in, follow, unit_speed

# Numbers of steps per length, by order, and tolerances: errors far above rounding, in the asymptotic regime.
_STEPS = {1: np.array([32, 64, 128]), 2: np.array([8, 16, 32]), 4: np.array([4, 8, 16])}
_TOLERANCES = np.array([1e-5, 1e-6, 1e-7, 1e-8])


def check_hamiltonian_conserved(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, *, length: float = 1.0, bound: float = 1e-6
) -> None:
    """H(γ(t), η(t)) = H(γ(0), η(0)) at 21 times over ``length``: relative drift at most ``bound``, with tol = 1e-8."""
    run = follow(bundle, points, covectors, np.linspace(0.0, length * bundle.length_scale, 21), tol=1e-8)
    dim = bundle.ambient_dim
    field = bundle.field(run.points.reshape(-1, dim), run.covectors.reshape(-1, dim))
    energy = 0.5 * (run.covectors * field.velocity.reshape(run.points.shape)).sum(axis=2)
    drift = np.abs(energy / energy[:, :1] - 1.0).max(axis=1)
    at_most(drift, bound, "H is constant along geodesics, relative drift")


def check_time_homogeneity(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, *, length: float = 1.0, tol: float = 1e-8
) -> None:
    """exp_p(tη) = γ_η(t), for t = ¼, ½ and 1: positions agree within 100 tol L, covectors within 100 tol |η|.

    For the field this means that the velocity is linear and the force quadratic in η. Both are checked first, with 3η,
    relative to |η| and to |η|²/L.
    """
    once, thrice = bundle.field(points, covectors), bundle.field(points, 3.0 * covectors)
    size = np.linalg.norm(covectors, axis=1)
    linear = np.linalg.norm(thrice.velocity / 3.0 - once.velocity, axis=1) / size
    at_most(linear, 1e-10, "the velocity is linear in η, relative error")
    quadratic = np.linalg.norm(thrice.force / 9.0 - once.force, axis=1) * bundle.length_scale / size**2
    at_most(quadratic, 1e-10, "the force is quadratic in η, relative error")
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
    """A geodesic of a given length has that length.

    Measured without covectors: chords between neighbouring points, in the frame at their middle, |F⁺ (γ_{i+1} − γ_i)|,
    summed over 64 and over 128 chords; both are of second order and are extrapolated to fourth.
    """
    total = length * bundle.length_scale
    run = follow(bundle, points, covectors, np.linspace(0.0, total, 129), tol=1e-10)
    fine, coarse = (_polygon_length(bundle, run.points[:, ::stride]) for stride in (1, 2))
    measured = (4.0 * fine - coarse) / 3.0
    at_most(np.abs(measured / total - 1.0), bound, "the length of a geodesic is the given one, relative error")


def _polygon_length(bundle: Subbundle, curves: FloatArray) -> FloatArray:
    chords = np.diff(curves, axis=1)
    middles = 0.5 * (curves[:, 1:] + curves[:, :-1])
    vectors = bundle.frame(middles.reshape(-1, bundle.ambient_dim)).vectors
    pieces = np.linalg.norm(coordinates_in(vectors, chords.reshape(-1, bundle.ambient_dim)), axis=1)
    return np.asarray(pieces.reshape(chords.shape[:2]).sum(axis=1))


def check_horizontality(
    bundle: Subbundle, points: FloatArray, covectors: FloatArray, *, length: float = 1.0, bound: float = 1e-6
) -> None:
    """γ̇(t) lies in the subspace at γ(t): the component of γ̇ outside it is at most ``bound`` of γ̇.

    γ̇ by five-point differences of the points, of fourth order, at 5 times.
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
    at_most(worst, bound, "geodesics are horizontal, fraction of γ̇ outside the subspace")


def check_convergence_order(
    bundle: Subbundle,
    points: FloatArray,
    covectors: FloatArray,
    *,
    method: str,
    length: float = 1.0,
    floor: float = 1e-11,
) -> float:
    """The error at the end of a geodesic falls with the stated power of the step, or with the tolerance.

    The reference is dopri5 with tol = 1e-12. For fixed-step methods the slope of log error against log step must not be
    below its order, less 0.3. For dopri5 the error must be at most 100 tol (1 + ``length``) at every tolerance. The
    observed slope is returned (for dopri5 against log tol, where it is about 1 if there are many steps).

    Errors below ``floor`` (times L) are left out: there rounding, or the truncation of the kernel, dominates. If
    fewer than two are above it (straight lines) the slope is NaN and passes.
    """
    times = np.array([length * bundle.length_scale])
    truth = follow(bundle, points, covectors, times, tol=1e-12, max_steps=100_000).end_points
    adaptive = method == "dopri5"
    name = "tol" if adaptive else "step"
    settings = _TOLERANCES if adaptive else length * bundle.length_scale / _STEPS[ORDERS[method]]
    ends = (follow(bundle, points, covectors, times, method=method, **{name: value}).end_points for value in settings)
    error = np.array([np.sqrt(((end - truth) ** 2).sum(axis=1).mean()) for end in ends]) / bundle.length_scale
    counted = error > floor
    if np.count_nonzero(counted) < 2:
        return np.nan
    slope = float(np.polyfit(np.log(settings[counted]), np.log(error[counted]), 1)[0])
    if adaptive:
        at_most(error[counted] / settings[counted], 100.0 * (1.0 + length), "the error of dopri5 over its tolerance")
    elif slope < ORDERS[method] - 0.3:
        raise AssertionError(
            f"Law broken: {method} must converge with slope {ORDERS[method]}; it is {slope:.2f}, from errors "
            f"{error[counted]} at steps {settings[counted]}."
        )
    return slope
