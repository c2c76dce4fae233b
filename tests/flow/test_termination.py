"""Every way a trajectory can end before its time, and its status."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from subbundle import Status
from subbundle.bundles.analytic import Constant, Heisenberg, SphereTangent
from subbundle.bundles.base import Field
from subbundle.flow import METHODS, integrate

FIXED = [method for method in METHODS if method != "dopri5"]


@dataclass
class Bordered:
    """Straight lines along x in the plane, undefined beyond x = 1. Records the sizes of its batches."""

    beyond: str
    length_scale: float = 1.0
    is_costly: bool = False
    ambient_dim: int = 2
    rank: int = 1
    asked: list = field(default_factory=list)

    def frame(self, points):
        return Constant(np.array([[1.0], [0.0]])).frame(points)

    def field(self, points, covectors):
        assert np.isfinite(points).all()
        assert np.isfinite(covectors).all()
        self.asked.append(len(points))
        velocity = np.stack([covectors[:, 0], np.zeros(len(points))], axis=1)
        force = np.zeros_like(points)
        status = np.zeros(len(points), np.int8)
        outside = points[:, 0] > 1.0
        if self.beyond == "infinite":
            velocity[outside] = np.inf
        elif self.beyond == "singular":
            # A force that grows without bound at x = 1, faster than any step can follow.
            force[:, 1] = 1e3 / np.abs(1.0 - points[:, 0]) ** 3
        elif self.beyond != "nothing":
            status[outside] = Status[self.beyond]
            velocity[outside] = np.nan
            force[outside] = np.nan
        return Field(velocity, force, status)


TIMES = np.linspace(0.0, 2.0, 9)
# One row that meets the border after 0.8, one that never does, one that is slower.
POINTS = np.array([[0.2, 0.0], [0.2, 0.0], [-0.5, 3.0]])
COVECTORS = np.array([[1.0, 0.5], [-1.0, 0.5], [0.9, 0.0]])


@pytest.mark.parametrize("reason", ["LEFT_SUPPORT", "GAP_CLOSED"])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_dopri5_ends_within_a_thousandth_of_the_border(reason, scale):
    bundle = Bordered(reason, length_scale=scale)
    run = integrate(bundle, POINTS, COVECTORS, TIMES)
    np.testing.assert_array_equal(run.status, [Status[reason], Status.OK, Status[reason]])
    border = np.array([0.8, 1.5 / 0.9])
    speed = np.array([1.0, 0.9])
    short = (border - run.reached[[0, 2]]) * speed
    assert (short >= 0).all()
    assert (short <= 1e-3 * scale).all()
    assert run.reached[1] == TIMES[-1]
    reached = run.reached[:, None] >= TIMES
    np.testing.assert_array_equal(np.isfinite(run.points).all(axis=2), reached)
    np.testing.assert_array_equal(np.isfinite(run.covectors).all(axis=2), reached)
    np.testing.assert_allclose(run.end_points[:, 0], POINTS[:, 0] + COVECTORS[:, 0] * run.reached, rtol=1e-14)
    np.testing.assert_allclose(run.end_covectors, COVECTORS, rtol=1e-14)
    assert min(bundle.asked) == 1  # rows that have ended are not evaluated again


def test_a_border_costs_few_evaluations():
    run = integrate(Bordered("LEFT_SUPPORT"), POINTS[:1], COVECTORS[:1], TIMES)
    # Halving from the longest step, 2, to below 1e-3: 12 times at most, and at most one good step after each.
    assert run.n_evaluations[0] <= 6 * 2 * 12


@pytest.mark.parametrize("method", FIXED)
def test_fixed_steps_end_at_the_last_good_state(method):
    run = integrate(Bordered("LEFT_SUPPORT"), POINTS, COVECTORS, TIMES, method=method, step=0.25)
    np.testing.assert_array_equal(run.status, [Status.LEFT_SUPPORT, Status.OK, Status.LEFT_SUPPORT])
    # Steps of 0.25 from 0.2: the fourth would pass x = 1. The slower row takes steps of 0.225 from −0.5.
    np.testing.assert_allclose(run.end_points[:, 0], [0.95, -1.8, -0.5 + 6 * 0.225], rtol=1e-14)
    np.testing.assert_allclose(run.reached, [0.75, 2.0, 1.5], rtol=1e-14)
    np.testing.assert_array_equal(np.isfinite(run.points[:, :, 0]).sum(axis=1), [4, 9, 7])


@pytest.mark.parametrize("method", METHODS)
def test_overflow_has_a_status(method):
    how = {} if method == "dopri5" else {"step": 0.1}
    run = integrate(Bordered("infinite"), POINTS, COVECTORS, TIMES, method=method, **how)
    np.testing.assert_array_equal(run.status, [Status.NOT_FINITE, Status.OK, Status.NOT_FINITE])
    assert (run.end_points[:, 0] <= 1.0).all()


def test_lengths_that_overflow_have_a_status():
    run = integrate(Heisenberg(), np.zeros((1, 3)), np.array([[1e300, 0, 0]]), np.array([1e300]))
    np.testing.assert_array_equal(run.status, Status.NOT_FINITE)
    assert np.isnan(run.points).all()
    assert run.reached[0] == 0.0


def test_a_singular_force_underflows_the_step():
    run = integrate(Bordered("singular"), POINTS[:1], COVECTORS[:1], TIMES)
    np.testing.assert_array_equal(run.status, Status.STEP_UNDERFLOW)
    assert 0.7 < run.reached[0] < 0.8


@pytest.mark.parametrize("method", METHODS)
def test_too_many_steps(method):
    how = {} if method == "dopri5" else {"step": 0.25}
    run = integrate(
        SphereTangent(2), np.eye(3)[:1], np.eye(3)[1:2], np.array([0.5, 5.0]), method=method, max_steps=3, **how
    )
    np.testing.assert_array_equal(run.status, Status.TOO_MANY_STEPS)
    assert 0.0 < run.reached[0] < 5.0
    np.testing.assert_array_equal(np.isfinite(run.points[0, :, 0]), [run.reached[0] >= 0.5, False])
    arc = np.arctan2(run.end_points[0, 1], run.end_points[0, 0])
    # Three steps of at most first-order methods: the state belongs to the time reported, to within a step's error.
    assert abs(arc - run.reached[0]) < 0.1
    enough = integrate(
        Constant(np.eye(2)[:, :1]),
        np.zeros((1, 2)),
        np.ones((1, 2)),
        np.array([0.75]),
        method=method,
        max_steps=3,
        **how,
    )
    np.testing.assert_array_equal(enough.status, Status.OK)


def test_implicit_midpoint_reports_when_it_does_not_converge():
    # The helix turns with angular velocity 100 per length: half a step of 0.25 turns it by 12.5, no contraction.
    covectors = np.array([[1.0, 0.0, 100.0], [1.0, 0.0, 0.1]])
    run = integrate(Heisenberg(), np.zeros((2, 3)), covectors, TIMES, method="implicit_midpoint", step=0.25)
    np.testing.assert_array_equal(run.status, [Status.NOT_CONVERGED, Status.OK])
    np.testing.assert_array_equal(run.end_points[0], 0.0)
    np.testing.assert_array_equal(run.end_covectors[0], covectors[0])
    assert run.reached[0] == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_a_start_outside_has_a_status_and_stays(method):
    how = {} if method == "dopri5" else {"step": 0.25}
    points = np.array([[0.0, 0, 0], [1.0, 0, 0]])
    covectors = np.array([[0.0, 3.0, 0], [0.0, 3.0, 0]])
    for unit_speed in (False, True):
        run = integrate(SphereTangent(2), points, covectors, TIMES, unit_speed=unit_speed, method=method, **how)
        np.testing.assert_array_equal(run.status, [Status.GAP_CLOSED, Status.OK])
        assert run.reached[0] == 0.0
        np.testing.assert_array_equal(run.points[0, 0], points[0])
        np.testing.assert_array_equal(run.end_points[0], points[0])
        np.testing.assert_array_equal(run.end_covectors[0], covectors[0])
        assert np.isnan(run.points[0, 1:]).all()
        assert np.isnan(run.speed[0])


def test_a_hole_wider_than_the_length_scale_is_not_stepped_over():
    class Hole(Bordered):
        def field(self, points, covectors):
            result = super().field(points, covectors)
            result.status[(points[:, 0] > 5.3) & (points[:, 0] < 6.35)] = Status.LEFT_SUPPORT
            return result

    starts = np.stack([np.linspace(0.0, 3.0, 200), np.zeros(200)], axis=1)
    run = integrate(Hole("nothing"), starts, np.tile([1.0, 0.0], (200, 1)), np.array([20.0]))
    np.testing.assert_array_equal(run.status, Status.LEFT_SUPPORT)
    assert (run.end_points[:, 0] <= 5.3).all()
