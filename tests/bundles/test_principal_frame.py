"""Frames of the principal subbundle against NumPy, with every observation in every sum."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from subbundle import PrincipalSubbundle, Status
from subbundle.bundles._evaluator import Evaluator
from subbundle.cloud import Cloud
from subbundle.kernels import CODES, gaussian_reach
from subbundle.local.moments import eigh
from subbundle.local.settings import CENTERINGS, Settings, constant_widths

CHOICES = list(product(CENTERINGS, ("gaussian", "compact")))


def cut(expected, point):
    """Bound on the relative change of moments by ending the Gaussian at its reach.

    Each of the N observations lacks at most c = exp(−reach/2) of its weight, at a squared distance of at most reach a²:
    the second moment changes by at most N c reach a² / s. The compact kernel has rounding only.
    """
    if expected.kernel == "compact":
        return 1e-12
    points = (point, expected.mean(point)) if expected.centering == "recentred" else (point,)
    reach = gaussian_reach(min(point.size, 4) if point.size > 3 else 3)
    mass = min(expected.profile(at).sum() for at in points)
    return 1e-12 + 4.0 * len(expected.data) * np.exp(-0.5 * reach) * reach / mass


def assert_frame(frame, row, expected, point):
    """Compare one row of a frame with the reference."""
    rank, area = expected.rank, expected.bandwidth**2
    moment, (values, _) = expected.moment(point), expected.eigen(point)
    bound = cut(expected, point) * (area + values[0])
    np.testing.assert_allclose(frame.eigenvalues[row], np.maximum(values, 0.0), atol=bound)
    np.testing.assert_allclose(frame.mean[row], expected.mean(point), atol=cut(expected, point) * expected.bandwidth)
    vectors = frame.vectors[row]
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-12)  # rounding of an eigensolver
    np.testing.assert_allclose(moment @ vectors, vectors * values[:rank], atol=2.0 * bound + 1e-13 * values[0])
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(rank)]
    assert (largest > 0.0).all()
    gap = values[rank - 1] - values[rank]
    # Davis–Kahan: the projector moves by the change of Σ over the gap, √(2k) of it in the Frobenius norm.
    turned = vectors @ vectors.T - expected.projector(point)
    assert np.linalg.norm(turned) <= 2.0 * np.sqrt(2.0 * rank) * (bound + 1e-14 * values[0]) / gap
    assert frame.gap[row] == pytest.approx(gap / values[rank - 1], abs=4.0 * bound / values[rank - 1])


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize(("dim", "rank"), [(2, 1), (3, 1), (3, 2), (5, 2), (5, 4), (16, 2), (17, 2), (17, 16), (20, 3)])
def test_frame_is_that_of_numpy(reference, wavy_cloud, dim, rank, centering, kernel):
    data = wavy_cloud(dim, 301, seed=dim)
    bundle = PrincipalSubbundle(data, rank, 0.7, centering=centering, kernel=kernel)
    expected = reference(data, rank, 0.7, centering, kernel)
    points = np.vstack([data[:3], 0.5 * (data[3:5] + data[5:7]), data[7] + 0.2])
    frame = bundle.frame(points)
    for row, point in enumerate(points):
        assert_frame(frame, row, expected, point)
        mass = np.exp(expected.log_mass(point))
        assert frame.density[row] * bundle.typical_mass == pytest.approx(mass, rel=cut(expected, point))


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
def test_frame_in_a_hundred_dimensions(reference, wavy_cloud, centering, kernel):
    data = wavy_cloud(100, 240, seed=1)
    bundle = PrincipalSubbundle(data, 2, 0.7, centering=centering, kernel=kernel)
    expected = reference(data, 2, 0.7, centering, kernel)
    points = np.vstack([data[:1], data[1:2] + 0.02])
    frame = bundle.frame(points)
    for row, point in enumerate(points):
        assert_frame(frame, row, expected, point)


@pytest.mark.parametrize("centering", CENTERINGS)
def test_frame_with_fewer_neighbours_than_dimensions(reference, wavy_cloud, centering):
    # More observations than dimensions, so that nothing is reduced; but fewer are in reach of the compact kernel.
    data = wavy_cloud(40, 150, seed=2)
    bundle = PrincipalSubbundle(data, 2, 0.25, centering=centering, kernel="compact")
    expected = reference(data, 2, 0.25, centering, "compact")
    points = data[np.linalg.norm(data, axis=1).argsort()[:4]]
    frame = bundle.frame(points)
    for row, point in enumerate(points):
        assert 2 < np.count_nonzero(expected.profile(point)) < 40
        assert_frame(frame, row, expected, point)


@pytest.mark.parametrize("centering", CENTERINGS)
def test_frame_in_a_thousand_dimensions_with_sixty_observations(reference, wavy_cloud, centering):
    data = wavy_cloud(1000, 60)
    bundle = PrincipalSubbundle(data, 2, 0.8, centering=centering)
    expected = reference(data, 2, 0.8, centering, "gaussian")
    points = np.vstack([data[:1], data[1:2] + 0.005])
    frame = bundle.frame(points)
    for row, point in enumerate(points):
        assert_frame(frame, row, expected, point)
        assert np.count_nonzero(frame.eigenvalues[row]) <= 61


def test_frame_in_a_thousand_dimensions_that_the_data_fills(reference, wavy_cloud):
    # The evaluator itself: making a bundle takes a sample of hundreds of points, which is too slow for a test.
    data = wavy_cloud(1000, 1010)
    cloud = Cloud(data)
    widths = constant_widths(0.8, 0.0, 1000)
    settings = Settings(2, widths, CODES["gaussian"], gaussian_reach(1000), CENTERINGS["local"], -np.inf, 1e-3)
    expected = reference(data, 2, 0.8, "local", "gaussian")
    values, vectors, mean, log_mass, status = Evaluator(cloud, 1).frame(settings, (data[:1] - cloud.centre))
    np.testing.assert_allclose(values[0], expected.eigen(data[0])[0], atol=1e-10)  # the tail of the Gaussian
    np.testing.assert_allclose(mean[0] + cloud.centre, expected.mean(data[0]), atol=1e-10)
    np.testing.assert_allclose(vectors[0] @ vectors[0].T, expected.projector(data[0]), atol=1e-9)
    assert log_mass[0] == pytest.approx(expected.log_mass(data[0]), abs=1e-9)
    assert status[0] == Status.OK


@pytest.mark.parametrize(
    ("kernel", "marginal"), [("gaussian", stats.norm()), ("compact", stats.beta(7.5, 7.5, loc=-4.0, scale=8.0))]
)
def test_density_is_one_half_on_a_straight_border_and_one_inside(kernel, marginal):
    # A half plane: ½ on the border, and what the window's marginal has beyond one and two bandwidths outside it. That
    # of (1 − |x|²/16)⁶ over the plane is ∝ (1 − x²/16)^6.5, a beta distribution on [−4, 4].
    x, y = np.meshgrid(np.arange(0.05, 8.0, 0.1), np.arange(-4.0, 4.0, 0.1))
    data = np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)])
    bundle = PrincipalSubbundle(data, 2, 0.5, kernel=kernel)
    density = bundle.frame(np.array([[4.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-0.5, 0.0, 0.0], [-1.0, 0.0, 0.0]])).density
    # A sum on a grid of a fifth of a bandwidth instead of the integral; the typical mass is that of the median.
    expected = [1.0, 0.5, marginal.sf(1.0), marginal.sf(2.0)]
    np.testing.assert_allclose(density / density[0], expected, atol=1e-3)
    assert density[0] == pytest.approx(1.0, abs=0.02)


def test_circle_has_its_tangent_and_the_mean_of_the_von_mises_distribution():
    # On a uniform circle seen from radius ρ the weights are von Mises with κ = ρ/a²: m = (I₁(κ)/I₀(κ)) p/|p|.
    angles = 2.0 * np.pi * np.arange(4000) / 4000
    bundle = PrincipalSubbundle(np.column_stack([np.cos(angles), np.sin(angles)]), 1, 0.3, kernel="gaussian")
    where, radius = np.array([0.3, 1.9, 4.4]), np.array([0.9, 1.0, 1.2])
    points = radius[:, None] * np.column_stack([np.cos(where), np.sin(where)])
    frame = bundle.frame(points)
    fine = 2.0 * np.pi * np.arange(100_000) / 100_000
    for i, kappa in enumerate(radius / 0.09):
        weights = np.exp(kappa * (np.cos(fine) - 1.0))
        resultant = weights @ np.cos(fine) / weights.sum()
        # Sums over a smooth periodic function converge exponentially; what is left is the tail of the Gaussian.
        np.testing.assert_allclose(frame.mean[i], resultant * points[i] / radius[i], atol=1e-8)
        tangential = weights @ np.sin(fine) ** 2 / weights.sum()
        assert frame.eigenvalues[i, 0] == pytest.approx(tangential, abs=1e-8)
        assert abs(frame.vectors[i, :, 0] @ points[i]) < 1e-8


@pytest.mark.parametrize("dim", [2, 3, 4, 9, 16])
def test_eigenpairs_of_small_matrices_are_those_of_lapack(dim):
    rng = np.random.default_rng(dim)
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    spectra = [
        rng.uniform(size=dim),
        np.ones(dim),
        np.r_[np.ones(dim // 2), np.full(dim - dim // 2, 1e-8)],
        np.r_[1.0, np.zeros(dim - 1)],
        np.zeros(dim),
        10.0 ** -np.arange(dim),
        1.0 + 1e-12 * np.arange(dim),
    ]
    for scale, spectrum in product((1.0, 1e-100, 1e100), spectra):
        for basis in (turn, np.eye(dim), np.eye(dim)[::-1]):
            matrix = scale * (basis * spectrum) @ basis.T
            matrix = 0.5 * (matrix + matrix.T)
            values, vectors = np.empty(dim), np.empty((dim, dim))
            eigh(matrix.copy(), None if dim == 3 and basis is turn else True, values, vectors)
            top = max(scale * spectrum.max(), 1e-300)
            # Backward stable: a few dim · 1e-16 of the norm.
            np.testing.assert_allclose(values / top, np.sort(scale * spectrum)[::-1] / top, atol=3e-15 * dim)
            np.testing.assert_allclose(vectors.T @ vectors, np.eye(dim), atol=3e-15 * dim)
            np.testing.assert_allclose(matrix @ vectors / top, vectors * values / top, atol=3e-15 * dim)
            assert (np.diff(values) <= 0.0).all()
            assert (values >= 0.0).all()
