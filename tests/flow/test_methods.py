"""Stated properties of each method: order, symplecticity, the order of the states between the steps."""

import numpy as np
import pytest

from subbundle.bundles.analytic import Heisenberg, SphereTangent
from subbundle.flow import METHODS, ORDERS, integrate
from subbundle.flow.dopri5 import _ERROR, _STAGES, Interpolant
from subbundle.testing import check_convergence_order


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bundle", [Heisenberg(), SphereTangent(4)], ids=repr)
def test_stated_order_is_observed(bundle, method):
    points, covectors = np.random.default_rng(11).normal(size=(2, 5, bundle.ambient_dim))
    slope = check_convergence_order(bundle, points, covectors, method=method)
    # Errors of neighbouring orders enter: a tenth of a power for the coarse steps. An adaptive method's error follows
    # its tolerance less closely, because steps come in whole numbers.
    assert slope == pytest.approx(1 if method == "dopri5" else ORDERS[method], abs=0.3 if method == "dopri5" else 0.1)


def one_step_derivative(bundle, point, covector, method, step):
    """Derivative [2 dim, 2 dim] of the map (p, η) → (p′, η′) of one step, by central differences.

    The velocity is linear and the force quadratic in η, so a step of arc length step·√(2H) with the covector scaled to
    unit speed is a step of time ``step`` with the covector as it is.
    """
    dim = len(point)
    difference = 1e-4
    shifts = np.concatenate([np.eye(2 * dim), -np.eye(2 * dim)]) * difference
    states = np.concatenate([point, covector]) + shifts
    speed = np.sqrt((states[:, dim:] * bundle.field(states[:, :dim], states[:, dim:]).velocity).sum(axis=1))
    # The longest step allowed is twice the arc length, so that each neighbour takes a single one.
    ends = [
        integrate(bundle, y[None, :dim], y[None, dim:], np.array([step]), method=method, step=2.0 * step * v)
        for y, v in zip(states, speed, strict=True)
    ]
    after = np.array([np.concatenate([run.end_points[0], run.end_covectors[0]]) for run in ends])
    return (after[: 2 * dim] - after[2 * dim :]).T / (2.0 * difference)


def symplectic_defect(method):
    bundle = Heisenberg()
    J = one_step_derivative(bundle, np.array([0.3, -0.2, 0.1]), np.array([0.5, 0.7, 1.1]), method, 0.2)
    omega = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])
    return np.abs(J.T @ omega @ J - omega).max()


def test_implicit_midpoint_is_symplectic_and_the_explicit_ones_are_not():
    # Central differences with 1e-4: an error of order 1e-8 times third derivatives.
    assert symplectic_defect("implicit_midpoint") < 1e-6
    # First-order methods that are not symplectic miss by the square of the step, 0.04, times derivatives of order one.
    assert symplectic_defect("euler") > 1e-3
    assert symplectic_defect("semi_implicit_euler") > 1e-3


def test_implicit_midpoint_keeps_the_hamiltonian_over_many_turns():
    point, covector = np.array([[0.4, 0.0, 0.0]]), np.array([[0.0, 1.0, 2.0]])

    def drift(method):
        run = integrate(Heisenberg(), point, covector, np.linspace(0.0, 100.0, 401), method=method, step=0.25)
        dim = run.points.shape[-1]
        field = Heisenberg().field(run.points.reshape(-1, dim), run.covectors.reshape(-1, dim))
        energy = (run.covectors.reshape(-1, dim) * field.velocity).sum(axis=1)
        return np.abs(energy / energy[0] - 1.0).max()

    # H is quadratic in (p, η) along a fixed η_z, and the midpoint rule keeps quadratic invariants: rounding and the
    # 1e-12 of the iteration remain, over 400 steps. Euler multiplies |u|² by 1 + (h w)² = 1.25 in every step.
    assert drift("implicit_midpoint") < 1e-9
    assert drift("euler") > 1.0
    assert drift("semi_implicit_euler") > 1e-3


def test_states_between_the_steps_are_of_fourth_order():
    # y' = i y on [2, 1, 1] states (real and imaginary part); one step from 1, compared with exp(iθh).
    def slope(y):
        return np.stack([-y[1], y[0]])

    steps = np.array([0.4, 0.2, 0.1, 0.05])
    errors, ends, estimates = [], [], []
    for h in steps:
        start = np.array([[[1.0]], [[0.0]]])
        slopes = [slope(start)]
        for coefficients in _STAGES:
            state = start + h * sum(c * k for c, k in zip(coefficients, slopes, strict=True))
            slopes.append(slope(state))
        middle = Interpolant(start, state, slopes, np.array([h]))
        theta = np.linspace(0.0, 1.0, 11)
        values = middle(np.zeros(11, np.int64), theta)
        truth = np.exp(1j * theta * h)
        errors.append(np.abs(values[:, 0] + 1j * values[:, 1] - truth).max())
        ends.append(np.abs(state[0, 0, 0] + 1j * state[1, 0, 0] - truth[-1]))
        estimates.append(np.abs(h * sum(c * k for c, k in zip(_ERROR, slopes, strict=True))).max())

    # Local errors: one power more than the global order. Slopes of a regression over a factor 8 are good to 0.2.
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(5.0, abs=0.2)
    assert np.polyfit(np.log(steps), np.log(ends), 1)[0] == pytest.approx(6.0, abs=0.2)
    assert np.polyfit(np.log(steps), np.log(estimates), 1)[0] == pytest.approx(5.0, abs=0.2)


def test_states_between_the_steps_are_as_accurate_as_those_at_their_ends():
    times = np.linspace(0.0, 6.0, 1001)
    for tol in (1e-5, 1e-7, 1e-9):
        run = integrate(SphereTangent(1), np.array([[1.0, 0]]), np.array([[0, 1.0]]), times, tol=tol)
        away = np.hypot(run.points[0, :, 0] - np.cos(times), run.points[0, :, 1] - np.sin(times))
        # Per step the error is below tol; some tens of steps, whose errors add.
        assert away.max() < 50 * tol


def test_semi_implicit_euler_keeps_the_hamiltonian_worse_than_euler():
    # The paper found it too: H is not separable, so the semi-implicit method is not symplectic. On great circles the
    # force is exact, and the drift is the method's alone.
    starts, covectors = np.tile([[0.0, -1.0, 0.0]], (3, 1)), np.eye(3)[[0, 2, 0]] + [[0, 0, 0], [0, 0, 0], [0, 0, 1.0]]

    def drift(method):
        run = integrate(SphereTangent(2), starts, covectors, np.linspace(0.0, 3.0, 151), method=method, step=0.02)
        velocity = SphereTangent(2).field(run.points.reshape(-1, 3), run.covectors.reshape(-1, 3)).velocity
        energy = np.sum(velocity**2, axis=1).reshape(3, -1)
        return np.abs(energy / energy[:, :1] - 1.0).max()

    assert drift("semi_implicit_euler") > drift("euler") > 0.0
