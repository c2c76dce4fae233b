"""Local means of many points at once against sums over all rows, and each point's bits whatever its block."""

import numpy as np
import pytest

from subbundle.cloud import Cloud
from subbundle.kernels import CODES, reach_of
from subbundle.local.shifts import local_means

RANK, DIM = 2, 20


def cloud_of(n, *, seed=0):
    """A noisy sheet twelve bandwidths long: not every row is in reach of a point."""
    rng = np.random.default_rng(seed)
    points = 0.02 * rng.standard_normal((n, DIM))
    points[:, :RANK] += rng.uniform(0.0, [2.4, 0.6], (n, RANK))
    return Cloud(points)


def found(cloud, points, widths, kernel, apart):
    mean, log_mass, effective = np.full_like(points, np.nan), np.empty(len(points)), np.empty(len(points))
    reach = reach_of(kernel, RANK, DIM)
    settings = CODES[kernel], reach, apart
    local_means(cloud.rows, cloud.weights, cloud.corners, points, widths, *settings, mean, log_mass, effective)
    return mean, log_mass, effective


@pytest.mark.parametrize("apart", [-1.0, 0.0])
@pytest.mark.parametrize("kernel", ["gaussian", "compact"])
@pytest.mark.parametrize("n", [7, 64, 1001])
def test_means_and_masses_are_the_sums_over_all_rows(n, kernel, apart):
    cloud = cloud_of(n)
    points = np.concatenate([cloud.rows[:: max(n // 5, 1)][:5], cloud.rows[:2] + 0.05])
    widths = np.linspace(0.15, 0.25, len(points))
    mean, log_mass, effective = found(cloud, points, widths, kernel, apart)
    for p, a, m, log_s, n_eff in zip(points, widths, mean, log_mass, effective, strict=True):
        t = ((cloud.rows - p) ** 2).sum(axis=1) / a**2
        rows, t = cloud.rows[t > apart], t[t > apart]
        phi = np.exp(-0.5 * t) if kernel == "gaussian" else np.maximum(1.0 - t / reach_of(kernel, RANK, DIM), 0.0) ** 6
        # The Gaussian is cut at 1e-11 of its largest value, and there are at most 1001 rows.
        assert log_s == pytest.approx(np.log(phi.sum()), abs=1e-8)
        assert n_eff == pytest.approx(phi.sum() ** 2 / (phi**2).sum(), rel=1e-7)
        np.testing.assert_allclose(m, phi @ rows / phi.sum(), atol=1e-8)


@pytest.mark.parametrize("kernel", ["gaussian", "compact"])
def test_a_point_has_the_same_bits_in_every_block(kernel):
    cloud = cloud_of(1001)
    points, widths = cloud.rows[::59].copy(), np.full(17, 0.1)
    together = found(cloud, points, widths, kernel, 0.0)
    for rows in (slice(3, 4), slice(5, 12), slice(None, None, -1)):
        some = found(cloud, np.ascontiguousarray(points[rows]), widths[rows], kernel, 0.0)
        for one, all_of_them in zip(some, together, strict=True):
            np.testing.assert_array_equal(one, all_of_them[rows])


def test_far_from_all_rows_there_is_no_mean():
    cloud = cloud_of(100)
    points = np.stack([cloud.rows[0], np.full(DIM, 50.0)])
    mean, log_mass, effective = found(cloud, points, np.full(2, 0.2), "compact", -1.0)
    assert np.isfinite(mean[0]).all()
    assert np.isnan(mean[1]).all()
    assert log_mass[1] == -np.inf
    assert effective[1] == 0.0
    # The Gaussian is relative to the nearest row, however far that is, up to 10⁶ bandwidths.
    mean, log_mass, _ = found(cloud, points, np.array([0.2, 1e-5]), "gaussian", -1.0)
    assert np.isnan(mean[1]).all()
    assert log_mass[1] == -np.inf
