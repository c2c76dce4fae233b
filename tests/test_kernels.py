"""The radial profiles against NumPy's exp, their definitions and differences."""

import numba as nb
import numpy as np
import pytest

from subbundle import kernels
from subbundle.cloud import Cloud
from subbundle.local.gather import ball, slope_row
from subbundle.local.rows import weigh_rows

# exp_minus is only ever inlined into loops, so it is tested in one.


@nb.njit
def exp_minus_of(x):
    result = np.empty(x.size)
    for i in range(x.size):
        result[i] = kernels.exp_minus(x[i])
    return result


@nb.njit(fastmath=True)
def exp_minus_fast(x):
    result = np.empty(x.size)
    for i in range(x.size):
        result[i] = kernels.exp_minus(x[i])
    return result


@pytest.mark.parametrize("loop", [exp_minus_of, exp_minus_fast], ids=["strict", "fastmath"])
def test_exp_minus_is_exp_over_its_range(loop):
    x = np.concatenate([np.linspace(0.0, 25.0, 20001), np.geomspace(1e-18, 1.0, 500), [0.0]])
    # The stated bound; seven squarings multiply a rounding of 1e-16 by at most 128.
    np.testing.assert_allclose(loop(x), np.exp(-x), rtol=1e-13, atol=0.0)
    assert loop(np.zeros(1))[0] == 1.0


def test_exp_minus_falls_monotonically_up_to_rounding():
    values = exp_minus_of(np.linspace(0.0, 25.0, 5001))
    assert (np.diff(values) < 0.0).all()


def test_the_range_of_exp_minus_holds_the_reach():
    for dim in (2, 3, 4, 1000):
        assert 0.5 * kernels.gaussian_reach(dim) <= 25.0


def blocked_weights(cloud, point, bandwidth, kernel, apart=-1.0, rank=2):
    """φ and ψ of all observations in leaf order, from the kernels for few dimensions."""
    rows, result = cloud.at(np.arange(cloud.n_points)), np.zeros((2, cloud.n_points))
    code, reach = kernels.CODES[kernel], kernels.reach_of(kernel, rank, cloud.dim)
    general = None if cloud.dim == 3 and code != kernels.GAUSSIAN else True
    found = np.empty(len(cloud.blocks), np.int64)
    # In three dimensions φ is not written beside ψ.
    for place, slopes in enumerate((None, True)):
        near = np.empty((cloud.dim + 1 + place, 0))
        near, count, shift, _, _ = ball(cloud.tree, point, bandwidth, code, reach, apart, slopes, general, found, near)
        weights = near[slope_row(code, cloud.dim) if slopes else cloud.dim, :count]
        for n in np.flatnonzero(weights):
            apart_from = np.abs(rows - point - near[: cloud.dim, n]).max(axis=1)
            result[place, apart_from == apart_from.min()] = weights[n]
    return result[0], result[1], shift


def row_weights(cloud, point, bandwidth, kernel, apart=-1.0, rank=2):
    """The same from the kernel for many dimensions."""
    n = cloud.n_points
    places, phi, psi = np.empty(n, np.int64), np.empty(n), np.empty(n)
    code, reach = kernels.CODES[kernel], kernels.reach_of(kernel, rank, cloud.dim)
    count, shift = weigh_rows(cloud.rows, cloud.boxes, point, bandwidth, code, reach, apart, places, phi, psi)
    result = np.zeros((2, n))
    result[0, places[:count]], result[1, places[:count]] = phi[:count], psi[:count]
    return result[0], result[1], shift


CASES = [(blocked_weights, 2), (blocked_weights, 3), (blocked_weights, 5), (blocked_weights, 16), (row_weights, 17)]
CASES += [(row_weights, 40)]


@pytest.mark.parametrize("kernel", kernels.CODES)
@pytest.mark.parametrize(("weights", "dim"), CASES)
def test_weights_are_the_profiles_of_the_table(weights, dim, kernel):
    rng = np.random.default_rng(dim)
    cloud = Cloud(rng.normal(size=(333, dim)))
    rows = cloud.at(np.arange(333))
    for bandwidth in np.sqrt(dim) * np.array([0.2, 0.5, 2.0]):
        for point in (rows[7], rows[7] + 0.1, 3.0 * rows[8]):
            phi, psi, shift = weights(cloud, point, bandwidth, kernel)
            t = ((rows - point) ** 2).sum(axis=1) / bandwidth**2
            if kernel == "gaussian":
                # Relative to the nearest observation, unless that is so near that nothing can underflow.
                assert shift == pytest.approx(t.min(), rel=1e-13) or (shift == 0.0 and t.min() < 5.0)
                reach = kernels.gaussian_reach(dim)
                expected_phi = expected_psi = np.where(t - shift < reach, np.exp(-0.5 * (t - shift)), 0.0)
            else:
                assert shift == 0.0
                power, end = (4, 8.0) if kernel == "quartic" else (6, 16.0)
                u = np.maximum(1.0 - t / end, 0.0)
                expected_phi, expected_psi = u**power, 2.0 * power / end * u ** (power - 1)
            # Rounding of t, up to 1e-16 times t ≤ 100, on values of at most one.
            np.testing.assert_allclose(phi, expected_phi, atol=1e-13)
            np.testing.assert_allclose(psi, expected_psi, atol=1e-13)
            assert (phi >= 0.0).all()
            assert (psi >= 0.0).all()


@pytest.mark.parametrize("kernel", kernels.CODES)
@pytest.mark.parametrize(("weights", "dim"), [(blocked_weights, 3), (blocked_weights, 4), (row_weights, 17)])
def test_psi_is_minus_twice_the_slope_of_phi(weights, dim, kernel):
    # Two observations; the first stays nearest, so that the shift of the Gaussian does not move. The second is moved
    # radially, through the whole reach.
    h, point = 1e-4, np.zeros(dim)

    def at(t):
        data = np.zeros((40, dim))
        data[:, 0] = -np.sqrt(t) - np.arange(40.0)
        data[1, 0] = 0.5
        cloud = Cloud(data)
        place = int(np.flatnonzero(cloud.order == 0)[0])
        phi, psi, _ = weights(cloud, point - cloud.centre, 1.0, kernel)
        return phi[place], psi[place]

    for t in (0.5, 1.0, 4.0, 7.5, 7.999, 15.5, 15.999, 20.0, 45.0, 49.0):
        slope = (at(t + h)[0] - at(t - h)[0]) / (2.0 * h)
        # Differences of second order, h² φ‴ ≤ 1e-8, and rounding of 1e-13 over h.
        assert at(t)[1] == pytest.approx(-2.0 * slope, abs=2e-8)


@pytest.mark.parametrize("kernel", kernels.CODES)
@pytest.mark.parametrize(("weights", "dim"), [(blocked_weights, 3), (blocked_weights, 7), (row_weights, 17)])
def test_an_observation_and_its_duplicates_can_be_left_out(weights, dim, kernel):
    data = np.random.default_rng(2).normal(size=(100, dim))
    data[40:45] = data[3]
    cloud = Cloud(data)
    rows = cloud.at(np.arange(100))
    point = rows[int(np.flatnonzero(cloud.order == 3)[0])].copy()
    phi, psi, shift = weights(cloud, point, 3.0, kernel, apart=0.0)
    same = (rows == point).all(axis=1)
    assert same.sum() == 6
    np.testing.assert_array_equal(phi[same], 0.0)
    np.testing.assert_array_equal(psi[same], 0.0)
    nearest = ((rows - point) ** 2).sum(axis=1)[~same].min() / 9.0
    if kernel == "gaussian":
        assert phi[~same].max() == pytest.approx(np.exp(-0.5 * (nearest - shift)), rel=1e-12)
    assert phi[~same].max() > 0.0


@pytest.mark.parametrize(("weights", "dim"), [(blocked_weights, 3), (row_weights, 17)])
def test_nothing_weighs_out_of_reach_of_the_compact_kernel(weights, dim):
    cloud = Cloud(np.random.default_rng(1).normal(size=(70, dim)))
    phi, psi, _ = weights(cloud, np.full(dim, 100.0), 1.0, "compact")
    assert not phi.any()
    assert not psi.any()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_windows_of_equal_bandwidth_have_equal_second_moments_on_a_plane(rank):
    # Σ φ t r^(k−1) / Σ φ r^(k−1) = k for the Gaussian, and so for the compact profile whatever the dimension k.
    r = np.linspace(0.0, 8.0, 40001)
    reach = kernels.reach_of("compact", rank, 3)
    for phi in (np.exp(-0.5 * r**2), np.maximum(1.0 - r**2 / reach, 0.0) ** kernels.CODES["compact"]):
        moment = np.sum(phi * r ** (rank + 1)) / np.sum(phi * r ** (rank - 1))
        # The sum is a trapezoidal one whose ends vanish, or at k = 1 lack half of a step: 8/40000.
        assert moment == pytest.approx(rank, rel=4e-4)


@pytest.mark.parametrize("kernel", kernels.CODES)
def test_the_area_across_a_plane_is_the_slope_of_the_window_integrated_over_it(kernel):
    power, reach, rank, h = kernels.CODES[kernel], kernels.reach_of(kernel, 2, 3), 2, 1e-3
    t = np.linspace(0.0, 46.0, 400001)

    def integrated(height):
        phi = (
            np.exp(-0.5 * (t + height))
            if kernel == "gaussian"
            else np.maximum(1.0 - (t + height) / reach, 0.0) ** power
        )
        return phi.sum()  # dτ = π dt on a plane

    slope = (np.log(integrated(h)) - np.log(integrated(0.0))) / h
    # One-sided differences: h times the curvature, which is below 1/2.
    assert slope == pytest.approx(-0.5 / kernels.normal_area(power, reach, rank), rel=2e-3)
