"""Fans of geodesics on spheres: how they spread, where they fold, where they are cut."""

import numpy as np
import pytest

from subbundle import Status
from subbundle.bundles.analytic import Constant, SphereTangent
from subbundle.bundles.base import Field
from subbundle.charts.fan import angular, interleave, jacobi_fields, trace
from subbundle.charts.fan_domain import Ending, count_endings, domain_of, folds, shortcuts
from subbundle.geodesics.start import directions

POLE = np.array([0.0, 0.0, 1.0])
TOL = 1e-8


def sphere_fan(unit, n_steps=60, step=0.05, **options):
    rank = unit.shape[1]
    base = np.eye(rank + 1)[-1]
    return trace(SphereTangent(rank), base, np.eye(rank + 1)[:, :rank], unit, step, n_steps, TOL, **options)


def test_nodes_and_velocities_are_those_of_great_circles():
    fan = sphere_fan(directions(2, 12))
    r, u = fan.distances, fan.directions
    assert fan.points.shape == (12, 61, 3)
    x = np.concatenate([np.sin(r)[None, :, None] * u[:, None], np.broadcast_to(np.cos(r)[:, None] - 1, (12, 61, 1))], 2)
    v = np.concatenate([np.cos(r)[None, :, None] * u[:, None], np.broadcast_to(-np.sin(r)[:, None], (12, 61, 1))], 2)
    np.testing.assert_allclose(fan.points, x, atol=1e-6)  # 1e-8 per step over some tens of steps
    np.testing.assert_allclose(fan.velocities, v, atol=1e-6)
    np.testing.assert_allclose(fan.reached, 3.0)
    np.testing.assert_allclose(fan.ends, x[:, -1], atol=1e-6)


def test_stages_change_nothing_but_what_is_left_out():
    whole = sphere_fan(directions(2, 6))
    staged = sphere_fan(directions(2, 6), stage=17, useful=lambda fan: np.arange(6) != 2)
    kept = np.arange(6) != 2
    np.testing.assert_allclose(staged.points[kept], whole.points[kept], atol=1e-6)
    assert staged.reached[2] == pytest.approx(17 * 0.05)
    np.testing.assert_array_equal(staged.real[2], np.arange(61) <= 17)
    np.testing.assert_array_equal(staged.status, Status.OK)


def test_interleaved_fans_are_the_fan_of_all_directions():
    unit = directions(2, 16)
    both = interleave(sphere_fan(unit[::2], n_steps=40), sphere_fan(unit[1::2], n_steps=60))
    whole = sphere_fan(unit, n_steps=60)
    np.testing.assert_array_equal(both.directions, unit)
    np.testing.assert_allclose(both.points[:, :41], whole.points[:, :41], atol=1e-6)
    assert np.isnan(both.points[::2, 41:]).all()
    assert both.status.dtype == np.int8


def test_angular_derivative_has_order_six():
    errors = []
    for n in (16, 32):
        theta = 2 * np.pi * np.arange(n) / n
        values = np.exp(np.sin(theta))[:, None, None]
        truth = np.cos(theta)[:, None, None] * values
        errors.append(np.abs(angular(values, np.ones((n, 1), bool)) - truth).max())
    assert errors[0] / errors[1] > 2**5.5


def test_angular_derivative_beside_missing_neighbours():
    n = 64
    theta = 2 * np.pi * np.arange(n) / n
    values, real = np.sin(theta)[:, None, None], np.ones((n, 1), bool)
    real[10] = real[15] = real[17] = False
    values[~real[:, 0]] = np.nan
    result = angular(values, real)[:, 0, 0]
    assert np.isnan(result[[10, 15, 17]]).all()
    assert np.isnan(result[16])  # alone between two gaps
    good = np.isfinite(result)
    # One-sided differences of three intervals and more: h³/4 = 2e-4 at the worst.
    np.testing.assert_allclose(result[good], np.cos(theta)[good], atol=5e-4)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_jacobi_fields_are_sines(rank):
    fan = sphere_fan(directions(rank, 24 if rank == 2 else 3000), n_steps=20 if rank > 2 else 60, step=0.1)
    rows = slice(None) if rank == 2 else slice(0, 3000, 300)
    fields = jacobi_fields(fan)[rows]
    singular = np.linalg.svd(fields[:, 1:], compute_uv=False)
    truth = np.broadcast_to(np.abs(np.sin(fan.distances[1:]))[None, :, None], singular.shape)
    # Sixth order on the circle; fits over scattered neighbours 0.1 to 0.25 apart are of first order in their asymmetry.
    np.testing.assert_allclose(singular, truth, atol=1e-4 if rank == 2 else 0.06)
    np.testing.assert_allclose(np.einsum("lmdi,lmd->lmi", fields, fan.velocities[rows]), 0.0, atol=1e-9)


def test_folds_are_found_where_the_spread_ends():
    # sin r / r falls to 0.1 at r = 2.8523.
    np.testing.assert_allclose(folds(sphere_fan(directions(2, 64))), 2.8523, atol=2e-3)
    short = sphere_fan(directions(2, 64), n_steps=50)
    np.testing.assert_array_equal(folds(short), np.inf)
    # A field that reverses its orientation between two nodes without ever being small is a fold as well.
    coarse = sphere_fan(directions(2, 64), n_steps=4, step=1.2)
    assert (folds(coarse) < np.pi + 1e-6).all()


def test_flat_fans_neither_fold_nor_meet():
    fan = trace(Constant(np.eye(3)[:, :2]), np.zeros(3), np.eye(3)[:, :2], directions(2, 16), 0.25, 40, TOL)
    np.testing.assert_array_equal(folds(fan), np.inf)
    np.testing.assert_array_equal(shortcuts(fan, 1.0), np.inf)
    domain = domain_of(fan, 1.0, 10.0)
    assert domain.injectivity_radius == np.inf
    np.testing.assert_allclose(domain.extents, 10.0)
    assert count_endings(domain.endings) == {"reached the radius": 16}


@pytest.mark.parametrize("step", [0.03, 0.1])
def test_the_two_sides_of_a_circle_meet_half_way(step):
    fan = sphere_fan(directions(1, 2), n_steps=int(6 / step), step=step)
    # First order in the distance to the nearest node of the other side, half a step at most: (step/2)³/6.
    np.testing.assert_allclose(shortcuts(fan, 0.2), np.pi, atol=1e-3)
    domain = domain_of(fan, 0.2, 6.0)
    np.testing.assert_array_equal(domain.endings, Ending.SHORTCUT)
    assert domain.injectivity_radius == pytest.approx(np.pi, abs=1e-3)


def test_abandoned_geodesics_count_as_folded():
    fan = sphere_fan(directions(2, 64), n_steps=40, stage=10, useful=lambda fan: np.arange(64) != 5)
    domain = domain_of(fan, 0.2, 2.0)
    assert count_endings(domain.endings) == {"reached the radius": 63, "met its neighbours (fold)": 1}
    border = domain.border(0.2)
    np.testing.assert_allclose(border[[4, 5]], 0.5)
    np.testing.assert_allclose(border[[3, 6]], 2.0)


class Slit:
    """A plane in R^3 whose field is not defined where x = 1, which steps pass undetected."""

    ambient_dim, rank, length_scale, is_costly = 3, 2, 1.0, False
    plane = Constant(np.eye(3)[:, :2])

    def frame(self, points):
        return self.plane.frame(points)

    def field(self, points, covectors):
        found = self.plane.field(points, covectors)
        lost = np.abs(points[:, 0] - 1.0) < 1e-9
        velocity, force = (np.where(lost[:, None], np.nan, part) for part in (found.velocity, found.force))
        return Field(velocity, force, np.where(lost, np.int8(Status.GAP_CLOSED), found.status))


def test_geodesics_end_before_a_node_without_a_field():
    fan = trace(Slit(), np.zeros(3), np.eye(3)[:, :2], directions(2, 8), 0.25, 40, TOL)
    # The geodesic along x has its node 4 in the slit; those beside it pass at other distances, between nodes.
    expected = np.full(8, 10.0)
    expected[0] = 0.75
    np.testing.assert_allclose(fan.reached, expected)
    assert fan.status[0] == Status.NOT_FINITE
    np.testing.assert_allclose(fan.ends[0], [0.75, 0.0, 0.0], atol=1e-12)
    assert np.isfinite(fan.end_velocities).all()
    assert fan.real[0].sum() == 4
