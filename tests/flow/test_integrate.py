"""The integrators against geodesics known in closed form, and the properties of the entry point."""

import numpy as np
import pytest

from subbundle import Status
from subbundle.bundles.analytic import Constant, Heisenberg, SphereTangent
from subbundle.flow import METHODS, integrate

TIMES = np.array([0.0, 0.3, 0.35, 1.0, 1.7])


def great_circles(points, covectors, times):
    """γ and η [batch, n_times, dim]. Only the tangential part of η moves; the radial part c = p·η/|p|² grows by

    ċ = (ṗ·η + p·η̇)/|p|² = |ṗ|²/|p|², and η = γ̇ + c γ.
    """
    radius = np.linalg.norm(points, axis=1)[:, None]
    radial = (points * covectors).sum(axis=1, keepdims=True) / radius**2
    tangent = covectors - radial * points
    speed = np.linalg.norm(tangent, axis=1)[:, None]
    angle = (times * speed / radius)[:, :, None]
    a, b = points[:, None], (tangent * radius / speed)[:, None]
    curve = a * np.cos(angle) + b * np.sin(angle)
    velocity = (speed / radius)[:, :, None] * (b * np.cos(angle) - a * np.sin(angle))
    return curve, velocity + (radial + times * (speed / radius) ** 2)[:, :, None] * curve


def heisenberg_helices(points, covectors, times):
    """[batch, n_times, 3]: with ζ = x + iy and u = a + ib, u(t) = u₀ exp(i η_z t); z is the swept area."""
    zeta = (points[:, 0] + 1j * points[:, 1])[:, None]
    w = covectors[:, 2:]
    u = (covectors[:, 0] + 1j * covectors[:, 1])[:, None] + 0.5j * w * zeta
    turn = np.expm1(1j * w * times) / (1j * w)  # ∫ exp(iwt) dt
    centre = zeta - u / (1j * w)
    plane = zeta + u * turn
    z = points[:, 2:] + 0.5 * ((np.conj(centre) * u * turn).imag + np.abs(u) ** 2 * times / w)
    return np.stack([plane.real, plane.imag, z], axis=2)


def straight_lines(bundle, points, covectors, times):
    velocity = covectors @ bundle.vectors @ bundle.vectors.T
    return points[:, None] + times[:, None] * velocity[:, None]


def accuracy(method):
    """Options of the method, and a bound of the error over some units of arc length (orders are tested apart)."""
    step = 1 / 128
    return {
        "dopri5": ({"tol": 1e-9}, 1e-7),  # the tolerance times some tens of steps
        "rk4": ({"step": step}, 10 * step**4),
        "implicit_midpoint": ({"step": step}, 10 * step**2),
        "euler": ({"step": step}, 50 * step),
        "semi_implicit_euler": ({"step": step}, 50 * step),
    }[method]


def starts(dim, n=6, seed=3):
    points, covectors = np.random.default_rng(seed).normal(size=(2, n, dim))
    return points, covectors


@pytest.mark.parametrize("method", METHODS)
def test_great_circles(method):
    points, covectors = starts(4)
    how, bound = accuracy(method)
    run = integrate(SphereTangent(3), points, covectors, TIMES, method=method, **how)
    np.testing.assert_array_equal(run.status, Status.OK)
    curve, momentum = great_circles(points, covectors, TIMES)
    assert np.abs(run.points - curve).max() < bound
    assert np.abs(run.covectors - momentum).max() < 20 * bound  # covectors grow to many times their length


@pytest.mark.parametrize("method", METHODS)
def test_heisenberg_helices_with_their_height(method):
    points, covectors = starts(3)
    how, bound = accuracy(method)
    run = integrate(Heisenberg(), points, covectors, TIMES, method=method, **how)
    np.testing.assert_array_equal(run.status, Status.OK)
    assert np.abs(run.points - heisenberg_helices(points, covectors, TIMES)).max() < bound


def test_heisenberg_from_the_origin_is_the_textbook_formula():
    # z(t) = |u|²/(2w²) (wt − sin wt); one turn of the helix closes the circle and sweeps its area.
    w = 2.0
    times = np.array([0.5, 2 * np.pi / w])
    run = integrate(Heisenberg(), np.zeros((1, 3)), np.array([[3.0, 4.0, w]]), times, tol=1e-10)
    np.testing.assert_allclose(run.points[0, :, 2], 25 / (2 * w**2) * (w * times - np.sin(w * times)), atol=1e-7)
    np.testing.assert_allclose(run.points[0, 1], [0.0, 0.0, np.pi * (5 / w) ** 2], atol=1e-7)


def test_heisenberg_straight_lines_from_the_dual_at_the_origin():
    run = integrate(Heisenberg(), np.zeros((1, 3)), np.array([[0.6, -0.8, 0.0]]), np.array([2.0]))
    np.testing.assert_allclose(run.points[0, 0], [1.2, -1.6, 0.0], atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_straight_lines(method):
    bundle = Constant(np.random.default_rng(0).normal(size=(5, 2)))
    points, covectors = starts(5)
    run = integrate(bundle, points, covectors, TIMES, method=method, **accuracy(method)[0])
    # Every method is exact on straight lines: what remains is the rounding of a few hundred sums.
    np.testing.assert_allclose(run.points, straight_lines(bundle, points, covectors, TIMES), atol=1e-12)
    np.testing.assert_allclose(run.covectors, np.repeat(covectors[:, None], 5, axis=1), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_unit_speed_makes_times_arc_lengths(method):
    points, covectors = starts(3)
    how, bound = accuracy(method)
    run = integrate(SphereTangent(2), points, 7.0 * covectors, TIMES, unit_speed=True, method=method, **how)
    tangent = covectors - points * ((points * covectors).sum(axis=1) / (points**2).sum(axis=1))[:, None]
    speed = np.linalg.norm(tangent, axis=1)
    np.testing.assert_allclose(run.speed, 7.0 * speed, rtol=1e-13)
    np.testing.assert_allclose(run.covectors[:, 0], covectors / speed[:, None], rtol=1e-13)
    assert np.abs(run.points - great_circles(points, covectors / speed[:, None], TIMES)[0]).max() < bound


@pytest.mark.parametrize("method", METHODS)
def test_covectors_without_speed_stay(method):
    # Rows: η vertical at the origin (H = 0), η = 0, and one that moves.
    covectors = np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    how, _ = accuracy(method)
    for unit_speed in (False, True):
        run = integrate(Heisenberg(), np.zeros((3, 3)), covectors, TIMES, unit_speed=unit_speed, method=method, **how)
        np.testing.assert_array_equal(run.status, Status.OK)
        np.testing.assert_array_equal(run.points[:2], 0.0)
        np.testing.assert_array_equal(run.covectors[:2], np.repeat(covectors[:2, None], 5, axis=1))
        np.testing.assert_array_equal(run.reached, TIMES[-1])
        np.testing.assert_array_equal(run.speed, [0.0, 0.0, 1.0])
        np.testing.assert_array_equal(run.end_covectors[:2], covectors[:2])


def test_rounding_errors_of_the_projection_are_not_followed():
    normal = np.array([[0.1, 0.2, 0.3]])
    run = integrate(SphereTangent(2), normal, 3.7 * normal, np.array([1.0]))
    np.testing.assert_array_equal(run.points[0, 0], normal[0])


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e200])
def test_speed_is_free(size):
    # Scaling η by any factor and time by its inverse changes no step, however near to overflow η is.
    points, covectors = starts(3)
    run = integrate(Heisenberg(), points, covectors, TIMES)
    scaled = integrate(Heisenberg(), points, covectors * size, TIMES / size)
    # Different rounding of η, amplified by a few turns of the helices.
    np.testing.assert_allclose(scaled.points, run.points, atol=1e-11)
    np.testing.assert_allclose(scaled.covectors / size, run.covectors, atol=1e-11)
    np.testing.assert_array_equal(scaled.n_evaluations, run.n_evaluations)


def test_outputs_do_not_change_the_steps():
    points, covectors = starts(3)
    few = integrate(SphereTangent(2), points, covectors, np.array([2.0]))
    many = integrate(SphereTangent(2), points, covectors, np.linspace(0.0, 2.0, 500))
    np.testing.assert_array_equal(few.points[:, 0], many.points[:, -1])
    np.testing.assert_array_equal(few.end_points, many.points[:, -1])
    np.testing.assert_array_equal(few.end_covectors, many.covectors[:, -1])
    np.testing.assert_array_equal(few.n_evaluations, many.n_evaluations)


def test_the_number_of_fixed_steps_is_the_requested_one():
    bundle, point, covector = SphereTangent(2), np.array([[1.0, 0, 0]]), np.array([[0, 1.0, 0]])
    for length, step, steps in ((0.3, 0.001, 300), (1.0, 0.3, 4), (0.3, 0.1, 3), (0.1, 5.0, 1)):
        run = integrate(bundle, point, covector, np.array([length]), method="euler", step=step)
        assert run.n_evaluations[0] == steps + 1  # one at every state, the first included
        run = integrate(bundle, point, covector, np.array([length]), method="rk4", step=step)
        assert run.n_evaluations[0] == 4 * steps + 1


def test_empty_batch_and_time_zero():
    run = integrate(Heisenberg(), np.zeros((0, 3)), np.zeros((0, 3)), TIMES)
    assert run.points.shape == (0, 5, 3)
    points, covectors = starts(3)
    for method in METHODS:
        how, _ = accuracy(method)
        run = integrate(Heisenberg(), points, covectors, np.array([0.0]), method=method, **how)
        np.testing.assert_array_equal(run.points[:, 0], points)
        np.testing.assert_array_equal(run.covectors[:, 0], covectors)
        np.testing.assert_array_equal(run.status, Status.OK)


@pytest.mark.parametrize("method", METHODS)
def test_rows_have_the_same_bits_in_every_batch(method):
    points, covectors = starts(3, n=33)
    covectors *= np.geomspace(0.1, 10.0, 33)[:, None]
    how = {"tol": 1e-7} if method == "dopri5" else {"step": 0.1}
    whole = integrate(Heisenberg(), points, covectors, TIMES, method=method, **how)
    assert len(np.unique(whole.n_evaluations)) > 5  # rows do take different steps
    for part in ([0], [7, 3], list(range(32, -1, -1)), list(range(0, 33, 2))):
        run = integrate(Heisenberg(), points[part], covectors[part], TIMES, method=method, **how)
        assert run.points.tobytes() == whole.points[part].tobytes()
        assert run.covectors.tobytes() == whole.covectors[part].tobytes()
        np.testing.assert_array_equal(run.n_evaluations, whole.n_evaluations[part])


def test_high_dimension_has_the_same_bits_in_every_batch():
    points, covectors = starts(500, n=9)
    whole = integrate(SphereTangent(499), points, covectors, np.array([1.0, 5.0]))
    for i in range(9):
        run = integrate(SphereTangent(499), points[i : i + 1], covectors[i : i + 1], np.array([1.0, 5.0]))
        assert run.points.tobytes() == whole.points[i : i + 1].tobytes()


def test_messages_of_wrong_arguments():
    def ask(points=((0.0, 0, 0),), covectors=((1.0, 0, 0),), times=(1.0,), **how):
        return integrate(Heisenberg(), np.array(points), np.array(covectors), np.array(times), **how)

    with pytest.raises(ValueError, match=r"method must be one of 'dopri5', 'rk4'.*; got 'rk5'"):
        ask(method="rk5")
    with pytest.raises(ValueError, match=r"cannot choose a step.*pass step=\.\.\..*step=0.05\*bundle.length_scale"):
        ask(method="rk4")
    with pytest.raises(ValueError, match=r"rk4 takes steps of fixed length.*tol=0.1. Pass step="):
        ask(method="rk4", tol=0.1)
    with pytest.raises(ValueError, match=r"dopri5 chooses its own steps; got step=0.1. Pass tol="):
        ask(step=0.1)
    with pytest.raises(ValueError, match="tol must be positive and finite"):
        ask(tol=-1.0)
    with pytest.raises(ValueError, match="step must be positive and finite"):
        ask(method="euler", step=0.0)
    for times in ((1.0, 1.0), (-1.0, 1.0), (2.0, 1.0), ()):
        with pytest.raises(ValueError, match=r"times must be a 1-D array of increasing numbers, none negative"):
            ask(times=times)
    with pytest.raises(ValueError, match="times must be finite"):
        ask(times=(np.nan,))
    with pytest.raises(ValueError, match=r"one row each per trajectory; got \(1, 3\) and \(2, 3\)"):
        ask(covectors=((1.0, 0, 0), (0, 1.0, 0)))
    with pytest.raises(ValueError, match="max_steps must be an integer >= 1"):
        ask(max_steps=0)


def test_any_number_of_steps_may_be_allowed():
    found = integrate(SphereTangent(2), [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]], [1.0], max_steps=10**30)
    assert found.status.tolist() == [Status.OK]
