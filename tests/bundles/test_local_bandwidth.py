"""A bandwidth that depends on the point: the function itself, its gradient in the force, and what must not change."""

import re

import numpy as np
import pytest

import subbundle as sb
from subbundle import LocalBandwidth, PrincipalSubbundle
from subbundle.testing import check_equivariance, check_n_jobs_invariance, check_subbundle

# Unrolled and general loops, both kernels and all centrings; rows for BLAS; Krylov spaces.
LOW = [(2, "local", "gaussian"), (3, "local", "gaussian"), (3, "recentred", "compact"), (3, "none", "compact")]
LOW += [(3, "recentred", "gaussian"), (3, "none", "gaussian"), (6, "local", "compact"), (6, "recentred", "gaussian")]
HIGH = [(20, "local", "gaussian"), (20, "recentred", "compact"), (50, "recentred", "gaussian"), (50, "none", "compact")]


def steep(data, size=0.9, smoothing=0.6):
    """Bandwidths that double from one end of the cloud to the other, along its longest axis."""
    landmarks = data[::11]
    axis = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)[2][0]
    along = landmarks @ axis
    return LocalBandwidth(landmarks, size * 2.0 ** ((along - along.mean()) / np.ptp(along)), smoothing)


def by_definition(field, point):
    """exp of the weighted mean of the logs."""
    squared = ((field.points - point) ** 2).sum(axis=1)
    weights = np.exp(-0.5 * (squared - squared.min()) / field.smoothing**2)
    return np.exp(weights @ np.log(field.values) / weights.sum())


class TestTheFunction:
    def test_it_is_the_weighted_mean_of_logs(self, wavy_cloud):
        data = wavy_cloud(3, 300)
        field = steep(data)
        expected = [by_definition(field, point) for point in data[:20]]
        np.testing.assert_allclose(field(data[:20]), expected, rtol=1e-13)  # rounding

    def test_its_gradient_is_that_of_differences(self, wavy_cloud):
        data = wavy_cloud(3, 300)
        field, points, h = steep(data), np.array(data[:10]), 1e-4
        _, gradient = field.with_gradient(points)
        differences = np.stack([(field(points + h * e) - field(points - h * e)) / (2 * h) for e in np.eye(3)], axis=1)
        # Differences of second order: (h/smoothing)² = 3e-8 of a gradient of order one.
        np.testing.assert_allclose(gradient, differences, atol=1e-7)

    def test_it_stays_between_its_values_however_far_away(self):
        field = LocalBandwidth([[0.0, 0.0], [1.0, 0.0]], [0.1, 0.4], smoothing=0.01)
        far = np.array([[1e6, 3.0], [-1e6, 0.0], [0.5, 1e5], [0.0, 0.0]])
        # Half way both have the same weight: the geometric mean.
        np.testing.assert_allclose(field(far), [0.4, 0.1, 0.2, 0.1], rtol=1e-9)

    def test_scaled(self, wavy_cloud):
        data = wavy_cloud(3, 300)
        np.testing.assert_allclose(steep(data).scaled(0.5)(data), 0.5 * steep(data)(data), rtol=1e-14)

    @pytest.mark.parametrize(
        ("points", "values", "smoothing", "message"),
        [
            ([[0.0, 1.0]], [0.1, 0.2], 1.0, "values must hold one bandwidth per landmark"),
            ([[0.0, 1.0]], [-0.1], 1.0, "values must be finite bandwidths above 0; the smallest is -0.1"),
            ([[0.0, 1.0]], [0.1], 0.0, "smoothing must be positive"),
        ],
    )
    def test_bad_input_is_refused_with_a_message(self, points, values, smoothing, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            LocalBandwidth(points, values, smoothing)

    def test_landmarks_of_another_space_are_refused(self, wavy_cloud):
        field = LocalBandwidth([[0.0, 0.0]], [0.5], 1.0)
        with pytest.raises(ValueError, match="landmarks of bandwidth must have as many coordinates as points, 3"):
            PrincipalSubbundle(wavy_cloud(3, 300), 2, field)


class TestTheBundle:
    @pytest.mark.parametrize(("dim", "centering", "kernel"), LOW + HIGH)
    def test_force_is_that_of_the_definition(self, reference, wavy_cloud, dim, centering, kernel):
        data = wavy_cloud(dim, 300 if dim < 20 else 150)
        rank, field = min(2, dim - 1), steep(data)
        bundle = PrincipalSubbundle(data, rank, field, centering=centering, kernel=kernel)
        rng = np.random.default_rng(2)
        point, covector = data[np.linalg.norm(data, axis=1).argmin()].copy(), rng.normal(size=dim)

        def energy(p):
            return reference(data, rank, by_definition(field, p), centering, kernel).hamiltonian(p, covector)

        found = bundle.field(point[None], covector[None]).force[0]
        way = rng.normal(size=(3, dim))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        for unit in way:
            slopes = [(energy(point + h * unit) - energy(point - h * unit)) / (2.0 * h) for h in (4e-3, 2e-3)]
            # Extrapolated differences, of fourth order: (h/a)⁴ = 4e-10 of |η|² / a, and rounding over h.
            size = covector @ covector / 0.9
            assert -found @ unit == pytest.approx((4.0 * slopes[1] - slopes[0]) / 3.0, abs=1e-8 * size)

    @pytest.mark.parametrize(("dim", "centering", "kernel"), [LOW[1], LOW[2], LOW[5], LOW[6], HIGH[0]])
    def test_every_law_holds(self, wavy_cloud, dim, centering, kernel):
        data = wavy_cloud(dim, 400, noise=0.05)
        bundle = PrincipalSubbundle(data, 2, steep(data, 0.7), centering=centering, kernel=kernel)
        points = data[np.linalg.norm(data, axis=1).argsort()[:2]]
        covectors = np.random.default_rng(1).normal(size=points.shape)
        check_subbundle(bundle, points, covectors, length=0.3, floor=1e-7 if kernel == "compact" else 1e-11)

    @pytest.mark.parametrize(("dim", "centering", "kernel"), [*LOW[:5], HIGH[0]])
    def test_a_function_that_is_constant_is_that_constant(self, wavy_cloud, dim, centering, kernel):
        data = wavy_cloud(dim, 300)
        rank, points = min(2, dim - 1), data[:5]
        covectors = np.random.default_rng(0).normal(size=points.shape)
        values = np.full(len(data[::20]), 0.9)
        values[0] = np.nextafter(0.9, 1.0)  # all equal, they would be taken for the one bandwidth
        field = LocalBandwidth(data[::20], values, 0.5)
        once, again = (
            PrincipalSubbundle(data, rank, a, centering=centering, kernel=kernel, min_density=1e-3)
            for a in (0.9, field)
        )
        assert again.local_bandwidth is field
        assert again.bandwidth == pytest.approx(0.9, rel=1e-14)
        # Rounding of exp(log 0.9), and of what it is amplified by: one over the gap.
        np.testing.assert_allclose(
            again.frame(points).eigenvalues, once.frame(points).eigenvalues, rtol=1e-11, atol=1e-14
        )
        expected, found = once.field(points, covectors), again.field(points, covectors)
        np.testing.assert_allclose(found.velocity, expected.velocity, atol=1e-12)
        np.testing.assert_allclose(found.force, expected.force, atol=1e-11)
        if centering == "local":
            expected, found = sb.ridge_project(once, points), sb.ridge_project(again, points)
            np.testing.assert_allclose(found.points, expected.points, atol=1e-12)
            np.testing.assert_allclose(found.noise, expected.noise, rtol=1e-10)

    @pytest.mark.parametrize("dim", [3, 20])
    def test_any_number_of_threads_gives_the_same_bits(self, wavy_cloud, dim):
        data = wavy_cloud(dim, 300, noise=0.05)
        points = data[np.linalg.norm(data, axis=1).argsort()[:3]]
        covectors = np.random.default_rng(3).normal(size=points.shape)
        check_n_jobs_invariance(
            lambda jobs: PrincipalSubbundle(data, 2, steep(data), n_jobs=jobs), points, covectors, length=0.3
        )

    def test_it_follows_the_data(self, wavy_cloud):
        data = np.array(wavy_cloud(3, 400, noise=0.05))
        points = data[np.linalg.norm(data, axis=1).argsort()[:2]]
        covectors = np.random.default_rng(3).normal(size=points.shape)
        values = steep(data, 0.7).values

        def moved(cloud, factor):
            return PrincipalSubbundle(cloud, 2, LocalBandwidth(cloud[::11], factor * values, factor * 0.6))

        check_equivariance(moved, data, points, covectors, length=0.3)

    def test_in_a_subspace_of_many_dimensions(self, wavy_cloud):
        flat = wavy_cloud(3, 300)
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 3)))[0]
        field = steep(flat)
        lifted = LocalBandwidth(field.points @ turn.T, field.values, field.smoothing)
        low, high = PrincipalSubbundle(flat, 2, field), PrincipalSubbundle(flat @ turn.T, 2, lifted)
        covectors = np.random.default_rng(1).normal(size=(4, 3))
        expected, found = low.field(flat[:4], covectors), high.field(flat[:4] @ turn.T, covectors @ turn.T)
        np.testing.assert_allclose(found.force, expected.force @ turn.T, atol=1e-10)  # rounding over the gap
        np.testing.assert_allclose(high.bandwidth_at(flat[:4] @ turn.T), field(flat[:4]), rtol=1e-12)

    def test_equal_values_are_one_bandwidth(self, wavy_cloud):
        data = wavy_cloud(3, 300)
        one, same = (PrincipalSubbundle(data, 2, a) for a in (0.9, LocalBandwidth([[9.0, 9.0, 9.0]], [0.9], 1.0)))
        assert same.local_bandwidth is None
        np.testing.assert_array_equal(one.frame(data[:9]).density, same.frame(data[:9]).density)

    def test_repr_and_length_scale_name_the_range(self, wavy_cloud):
        data = wavy_cloud(3, 300)
        bundle = PrincipalSubbundle(data, 2, steep(data))
        assert re.search(r"bandwidth=LocalBandwidth\(0\.\d+ to 1\.\d+ at 28 landmarks\)", repr(bundle))
        assert field_range(bundle)[0] <= bundle.length_scale < bundle.bandwidth < field_range(bundle)[1]


def field_range(bundle):
    return bundle.local_bandwidth.values.min(), bundle.local_bandwidth.values.max()


@pytest.fixture(scope="module")
def sheet():
    """A plane whose noise grows from 0.02 to 0.1, with bandwidths in proportion."""
    rng = np.random.default_rng(0)
    flat = rng.uniform([0.0, 0.0], [4.0, 1.5], size=(12000, 2))
    noise = 0.02 + 0.02 * flat[:, 0]
    points = np.column_stack([flat, noise * rng.standard_normal(len(flat))])
    marks = np.array([[x, 0.75, 0.0] for x in np.linspace(0.0, 4.0, 17)])
    return points, noise, LocalBandwidth(marks, 3.0 * (0.02 + 0.02 * marks[:, 0]), 0.3)


class TestTheRidge:
    def test_noise_and_density_are_local(self, sheet):
        points, noise, field = sheet
        bundle = PrincipalSubbundle(points, 2, field)
        inside = (np.abs(points[:, 0] - 2.0) < 1.5) & (np.abs(points[:, 1] - 0.75) < 0.4)
        ridge = sb.ridge_project(bundle, points[inside][:600])
        level = ridge.noise / noise[inside][:600]
        # Twenty to two hundred neighbours: some tenths apart at a place, a few hundredths in the mean.
        assert np.median(level) == pytest.approx(1.0, abs=0.05)
        slope = np.polyfit(points[inside][:600, 0], level, 1)[0]
        assert abs(slope) < 0.05
        # Everywhere typical, though bandwidths, and masses with their squares, differ by factors of 3 and 9.
        assert np.quantile(ridge.density, 0.02) > 0.6
        assert np.quantile(ridge.density, 0.98) < 1.6

    def test_a_border_is_half_as_dense_wherever_it_is(self, sheet):
        points, _, field = sheet
        bundle = PrincipalSubbundle(points, 2, field)
        border = np.array([[x, 0.0, 0.0] for x in (0.6, 1.5, 2.5, 3.4)])
        # A half, to the noise of twenty neighbours.
        np.testing.assert_allclose(bundle.frame(border).density, 0.5, atol=0.15)

    def test_projecting_again_leaves_points_unchanged(self, sheet):
        points, _, field = sheet
        bundle = PrincipalSubbundle(points, 2, field)
        carried = sb.carry_to_ridge(bundle, np.array([[1.0, 0.7, 0.05], [3.0, 0.7, 0.1]]))
        again = sb.carry_to_ridge(bundle, carried.points)
        assert (carried.status == sb.Status.OK).all()
        # Steps shorter than 1e-6 length scales ended the iteration.
        assert (again.shifts < 1e-5 * bundle.length_scale).all()


def test_components_are_joined_by_the_local_bandwidth():
    rng = np.random.default_rng(0)
    fine = np.column_stack([rng.uniform(0.0, 1.0, (2, 1500)).T * [1.0, 1.0], np.zeros(1500)])
    beside = fine + [1.35, 0.0, 0.0]  # 0.35 away: out of reach at bandwidth 0.06
    coarse = np.column_stack([rng.uniform(0.0, 4.0, (2, 1500)).T + [6.0, 0.0], np.zeros(1500)])
    far = coarse + [4.35, 0.0, 0.0]  # as far, but in reach at 0.3
    points = np.concatenate([fine, beside, coarse, far])
    points[:, 2] = 0.01 * rng.standard_normal(len(points))
    marks = np.array([[0.5, 0.5, 0.0], [1.85, 0.5, 0.0], [8.0, 2.0, 0.0], [12.35, 2.0, 0.0]])
    bundle = PrincipalSubbundle(points, 2, LocalBandwidth(marks, [0.06, 0.06, 0.3, 0.3], 0.5))
    parts = sb.connected_components(bundle)
    assert parts.n_components == 3
    assert len({parts.labels[0], parts.labels[1500], parts.labels[3000]}) == 3
    assert parts.labels[3000] == parts.labels[4500]
