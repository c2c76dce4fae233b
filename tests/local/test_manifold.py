"""The local model on known manifolds: flat ones are R^m, geodesic spheres and circles have known curvatures."""

from dataclasses import fields

import numpy as np
import pytest

import subbundle as sb
from subbundle.local.logs import Observations
from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Kendall, Product, Sphere
from subbundle.spaces.rows import dist_rows, exp_rows, flattened, log_rows, orthonormal_bases


def bent(n, dim, rank=1, noise=0.03, seed=0):
    """A noisy bent sheet in R^dim."""
    rng = np.random.default_rng(seed)
    points = noise * rng.standard_normal((n, dim))
    points[:, :rank] = rng.uniform(-1.0, 1.0, (n, rank))
    points[:, rank] += 0.4 * (points[:, :rank] ** 2).sum(axis=1)
    return points


def same(curved, flat, vectors, rtol=1e-6):
    """That two ridges are equal, but for ``vectors``, which are in other coordinates."""
    np.testing.assert_array_equal(curved.status, flat.status)
    for field in fields(flat):
        if field.name not in {*vectors, "status"}:
            one, other = getattr(curved, field.name), getattr(flat, field.name)
            np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-9, err_msg=field.name)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("dim", "rank"), [(2, 1), (3, 1), (3, 2), (5, 2), (20, 1)])
def test_a_euclidean_space_is_r_d(dim, rank, order):
    data = bent(300, dim, rank)
    flat = sb.PrincipalSubbundle(data, rank, 0.25, kernel="gaussian")
    curved = sb.RiemannianSubbundle(data, rank, 0.25, space=Euclidean(dim))
    # Few enough steps that rounding is all that may differ; the first of a continuation is never the last.
    options = {"order": order, "tol": 1e-9, "max_steps": 4, "errors": True, "continuation": None}
    here, there = (sb.ridge_project(bundle, data[::20], **options) for bundle in (flat, curved))
    # A curve in R^20 has 18 more normal directions, along which the reduction keeps a rotated basis.
    same(there, here, {"tangents"} | ({"support_radius"} if dim == 20 else set()))
    projectors = [ridge.tangents @ ridge.tangents.transpose(0, 2, 1) for ridge in (here, there)]
    np.testing.assert_allclose(*projectors, atol=1e-7)
    isolated = data[:3] + 0.5 * np.eye(dim)[-1]
    moved, to = (sb.ridge_project(bundle, isolated, tol=1e-8, max_steps=60).points for bundle in (flat, curved))
    np.testing.assert_allclose(to, moved, atol=1e-6)


def test_diagonal_matrices_are_r_m():
    # diag(e^x, e^y) is a totally geodesic plane in the three dimensions of SPD(2), with |(dx, dy)| as its metric.
    plane = np.column_stack([bent(200, 2), np.zeros(200)])

    def matrices(points):
        return np.column_stack([np.exp(points[:, 0]), points[:, 2], points[:, 2], np.exp(points[:, 1])])

    flat = sb.PrincipalSubbundle(plane, 1, 0.25, kernel="gaussian")
    curved = sb.RiemannianSubbundle(matrices(plane), 1, 0.25, space=SPD(2))
    options = {"tol": 1e-9, "max_steps": 4, "errors": True, "continuation": None}
    here, there = (
        sb.ridge_project(flat, plane[::9], **options),
        sb.ridge_project(curved, matrices(plane[::9]), **options),
    )
    same(there, here, {"points", "tangents", "second_form"})
    np.testing.assert_allclose(there.points, matrices(here.points), atol=1e-8)
    # Tangent arrays are diag(e^x dx, e^y dy), and a tangent has either sign.
    scale, entries = matrices(here.points)[:, [0, 3]], [0, 3]
    tangents, lifted = there.tangents[:, entries, 0], scale * here.tangents[:, :2, 0]
    np.testing.assert_allclose(tangents * np.sign(np.sum(tangents * lifted, axis=1))[:, None], lifted, atol=1e-6)
    np.testing.assert_allclose(there.second_form[:, 0, 0, entries], scale * here.second_form[:, 0, 0, :2], atol=1e-6)


def sphere_around(space, base, radius, rank, n):
    """An even circle or sphere of the exponential map at ``base``, in its first rank + 1 directions."""
    turn = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(n)
    if rank == 1:
        turn = 2.0 * np.pi * np.arange(n) / n
        directions = np.column_stack([np.cos(turn), np.sin(turn)])
    else:
        height = 1.0 - (2.0 * np.arange(n) + 1.0) / n
        level = np.sqrt(1.0 - height**2)
        directions = np.column_stack([level * np.cos(turn), level * np.sin(turn), height])
    basis = orthonormal_bases(space, base[None]).vectors[0, : rank + 1]
    return exp_rows(space, base, radius * directions @ basis)


def middle(space):
    return flattened(space, space.random_point(1, np.random.default_rng(1)))[0]


# Space, rank, radius r and curvature of a geodesic sphere: 1/tan r where the space has the curvature 1, and the like.
# SO(3) has the curvature ¼, shapes of triangles are a sphere of radius ½, and (planes of) matrices diag(e^x, e^y) flat.
SPHERES = [
    (Sphere(2), 1, 0.9, 1.0 / np.tan(0.9)),
    (Sphere(3), 2, 0.7, 1.0 / np.tan(0.7)),
    (Hyperbolic(2), 1, 0.8, 1.0 / np.tanh(0.8)),
    (SO(3), 1, 0.8, 0.5 / np.tan(0.4)),
    (Kendall(3, 2), 1, 0.5, 2.0 / np.tan(1.0)),
    (Product(Sphere(2)), 1, 0.6, 1.0 / np.tan(0.6)),
    (Sphere(20), 1, 0.8, 1.0 / np.tan(0.8)),
]


@pytest.mark.parametrize(("space", "rank", "radius", "curvature"), SPHERES, ids=str)
def test_geodesic_spheres_have_their_curvature(space, rank, radius, curvature):
    base, n = middle(space), 200 if rank == 1 else 1600
    widths = np.array([0.14, 0.2, 0.28]) * min(radius / 0.8, 1.0)
    data = sphere_around(space, base, radius, rank, n)
    start = exp_rows(space, base, 1.02 * log_rows(space, base, data[7 :: n // 3]))
    errors, forms = [], []
    for width in widths:
        bundle = sb.RiemannianSubbundle(data, rank, width, space=space)
        ridge = sb.ridge_project(bundle, start, tol=1e-7, max_steps=60, reach=7.0)
        np.testing.assert_array_equal(ridge.status, sb.Status.OK)
        inward = log_rows(space, ridge.points, base)
        distance = dist_rows(space, ridge.points, base)
        errors.append(np.abs(distance - radius).max())
        # II(t_a, t_b) = δ_ab κ n with n the unit normal to the centre.
        expected = np.eye(rank)[:, :, None] * curvature * (inward / distance[:, None])[:, None, None]
        forms.append(np.abs(ridge.second_form - expected).max())
        np.testing.assert_allclose(ridge.curvature, np.sqrt(rank) * curvature, rtol=7.0 * width**2)
    # The bias of the position is of the fourth order, that of the form of the second; the next terms are a² of these.
    assert np.polyfit(np.log(widths), np.log(errors), 1)[0] == pytest.approx(4.0, abs=0.5)
    assert np.polyfit(np.log(widths), np.log(forms), 1)[0] == pytest.approx(2.0, abs=0.5)


def test_a_great_circle_is_straight():
    space, angle = Sphere(2), 2.0 * np.pi * np.arange(200) / 200
    data = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(200)])
    start = space.projection(data[::40] + [0.0, 0.0, 0.05])
    ridge = sb.ridge_project(sb.RiemannianSubbundle(data, 1, 0.2, space=space), start, tol=1e-9)
    # By symmetry the plane is exact; what is left is rounding and the last step.
    np.testing.assert_allclose(ridge.points[:, 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(ridge.curvature, 0.0, atol=1e-7)
    np.testing.assert_allclose(ridge.shifts, np.arctan(0.05), rtol=1e-6)


def test_a_cylinder_in_a_product_has_the_curvatures_of_its_factors():
    space, colatitude = Product(Sphere(2), Euclidean(1)), 0.8
    angle, height = (grid.ravel() for grid in np.meshgrid(np.arange(80) * np.pi / 40, np.linspace(-0.6, 0.6, 20)))
    ring = np.sin(colatitude)
    level = np.full_like(angle, np.cos(colatitude))
    data = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), level, height])
    bundle = sb.RiemannianSubbundle(data, 2, 0.12, space=space)
    ridge = sb.ridge_project(bundle, data[len(data) // 2 : len(data) // 2 + 4], tol=1e-6)
    # Of the two principal curvatures one is 1/tan(colatitude), along the circle, and one 0; a² off.
    np.testing.assert_allclose(ridge.curvature, 1.0 / np.tan(colatitude), atol=0.03)
    np.testing.assert_allclose(np.linalg.norm(ridge.mean_curvature, axis=1), 0.5 / np.tan(colatitude), atol=0.02)
    np.testing.assert_allclose(ridge.mean_curvature[:, 3], 0.0, atol=1e-6)


@pytest.mark.parametrize(("space", "rank"), [(Sphere(2), 1), (Hyperbolic(2), 1), (Sphere(3), 2)], ids=str)
def test_standard_errors_cover_the_truth(space, rank):
    radius, noise, base = 0.9, 0.04, middle(space)
    n, width, seeds = (250, 0.2, 8) if rank == 1 else (2000, 0.18, 2)
    ratios, noises = [], []
    for seed in range(seeds):
        logs = log_rows(space, base, sphere_around(space, base, radius, rank, n))
        rng = np.random.default_rng(seed)
        data = exp_rows(space, base, logs * (1.0 + noise / radius * rng.standard_normal((n, 1))))
        bundle = sb.RiemannianSubbundle(data, rank, width, space=space)
        ridge = sb.ridge_project(bundle, data[:: n // 50], errors=True)
        ratios.append(np.abs(dist_rows(space, ridge.points, base) - radius) / ridge.position_error)
        noises.append(ridge.noise)
    # A nominal 95 % of some hundred windows: its standard deviation is 2 %.
    assert 0.90 < np.mean(np.concatenate(ratios) < 1.96) < 0.99
    assert np.median(np.concatenate(noises)) == pytest.approx(noise, rel=0.08)


def moved_by(space, rng):
    """An isometry of ``space`` as a function of rows."""
    if isinstance(space, SPD):
        factor = rng.standard_normal((2, 2)) + 2.0 * np.eye(2)
        return lambda rows: (factor @ rows.reshape(-1, 2, 2) @ factor.T).reshape(-1, 4)
    if isinstance(space, SO):
        left, right = space.random_point(2, rng)
        return lambda rows: (left @ rows.reshape(-1, 3, 3) @ right).reshape(-1, 9)
    turn = np.linalg.qr(rng.standard_normal((space.ambient_dim, space.ambient_dim)))[0]
    return lambda rows: rows @ turn


@pytest.mark.parametrize("space", [Sphere(2), Sphere(20), SPD(2), SO(3)], ids=repr)
def test_isometries_and_the_order_of_rows(space):
    base, rng = middle(space), np.random.default_rng(0)
    basis = orthonormal_bases(space, base[None]).vectors[0]
    data = exp_rows(space, base, 0.6 * bent(90, space.dim) @ basis)
    isometry = moved_by(space, rng)
    plain = sb.RiemannianSubbundle(data, 1, 0.2, space=space, n_jobs=1)
    other = sb.RiemannianSubbundle(isometry(data), 1, 0.2, space=space)
    options = {"errors": True, "tol": 1e-8, "max_steps": 60}
    here, there = sb.ridge_project(plain, data[:9], **options), sb.ridge_project(other, isometry(data[:9]), **options)
    np.testing.assert_array_equal(here.status, there.status)
    np.testing.assert_allclose(isometry(here.points), there.points, atol=1e-7)
    for name in ("curvature", "noise", "position_error", "tangent_error", "neighbours", "shifts"):
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), rtol=1e-4, atol=1e-7, err_msg=name)
    # To the bit, whatever the batch, the order of rows and observations, and the number of threads.
    mixed = sb.RiemannianSubbundle(data[::-1], 1, 0.2, space=space, n_jobs=2)
    backwards, alone = sb.ridge_project(mixed, data[8::-1], **options), sb.ridge_project(plain, data[4], **options)
    for field in fields(here):
        whole = getattr(here, field.name)
        np.testing.assert_array_equal(getattr(backwards, field.name)[::-1], whole, err_msg=field.name)
        np.testing.assert_array_equal(getattr(alone, field.name)[0], whole[4], err_msg=field.name)


@pytest.mark.parametrize("space", [Sphere(2), SO(3)], ids=repr)
def test_observations_without_a_logarithm(space):
    base = middle(space)
    basis = orthonormal_bases(space, base[None]).vectors[0]
    data = exp_rows(space, base, 0.5 * bent(100, space.dim) @ basis)
    antipode = exp_rows(space, data[:1], np.pi * orthonormal_bases(space, data[:1]).vectors[:, 0])
    assert np.isnan(log_rows(space, data[0], antipode)).all()
    bundle = sb.RiemannianSubbundle(data, 1, 0.15, space=space)
    with_one = sb.RiemannianSubbundle(np.vstack([data, antipode]), 1, 0.15, space=space)
    first, second = (sb.ridge_project(each, data[:3]) for each in (bundle, with_one))
    np.testing.assert_array_equal(second.status, sb.Status.OK)
    # Out of reach it has no weight: sums in another order.
    np.testing.assert_allclose(second.points, first.points, atol=1e-9)
    # At the antipode of an observation that is in reach there is no model.
    lost = sb.ridge_project(sb.RiemannianSubbundle(data, 1, 0.9, space=space), antipode)
    assert lost.status[0] not in (sb.Status.OK, sb.Status.NOT_CONVERGED)
    np.testing.assert_array_equal(lost.points, antipode)
    assert np.isinf(lost.outlier_scores[0])


def test_a_point_with_an_observation_in_reach_on_its_cut_locus_has_no_model():
    space = Sphere(2)
    angle = np.linspace(-0.6, 0.6, 60)
    arc = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(60)])
    both = np.vstack([arc, [[-1.0, 0.0, 0.0]]])
    bundle = sb.RiemannianSubbundle(arc, 1, 0.9, space=space, min_density=1e-6)
    bundle._near = Observations(space, both, np.ones(61))  # the constructor refuses such clouds
    ridge = sb.ridge_project(bundle, [[1.0, 0.0, 0.0], [np.cos(0.5), np.sin(0.5), 0.0]], reach=4.0)
    assert ridge.status.tolist() == [sb.Status.NOT_FINITE, sb.Status.OK]
    assert np.isnan(ridge.noise[0])


def test_isolated_observations_are_given_neighbours():
    # In many dimensions an observation stands alone on its noise: without a continuation it stays there.
    space, rng = Sphere(12), np.random.default_rng(0)
    base = middle(space)
    basis = orthonormal_bases(space, base[None]).vectors[0]
    offsets = 0.1 * rng.standard_normal((300, 12))
    offsets[:, 0] = rng.uniform(-0.7, 0.7, 300)
    data = exp_rows(space, base, offsets @ basis)
    bundle = sb.RiemannianSubbundle(data, 1, 0.15, space=space, min_density=1e-6)
    off = []
    for continuation in (None, "auto"):
        ridge = sb.ridge_project(bundle, data[:40], continuation=continuation)
        logs = log_rows(space, base, ridge.points[ridge.arrived])
        off.append(np.sqrt(np.mean(np.sum((logs @ basis[1:].T) ** 2, axis=1))))
    # The noise is 0.1 √11 = 0.33, and the mean of ten or more neighbours at most a third of it away.
    assert off[0] > 0.2
    assert off[1] < 0.15


@pytest.mark.parametrize("flat", [False, True])
def test_full_rank_is_the_space_itself(flat):
    space, rng = Sphere(2), np.random.default_rng(0)
    data = space.projection(rng.standard_normal((200, 3)) * [1.0, 1.0, 0.0 if flat else 1.0])
    ridge = sb.ridge_project(sb.RiemannianSubbundle(data, 2, 0.4, space=space), data[:5])
    np.testing.assert_array_equal(ridge.status, sb.Status.OK)
    np.testing.assert_allclose(ridge.points, data[:5], atol=1e-12)
    np.testing.assert_allclose(np.einsum("nda,nd->na", ridge.tangents, data[:5]), 0.0, atol=1e-12)
    np.testing.assert_allclose(ridge.curvature, 0.0, atol=1e-9)
    np.testing.assert_array_equal(ridge.noise, 0.0)


@pytest.mark.parametrize("centering", ["local", "recentred"])
@pytest.mark.parametrize("space", [Sphere(2), SPD(2), Sphere(20)], ids=repr)
def test_weights_count_like_repeated_observations(space, centering):
    base, rng = middle(space), np.random.default_rng(3)
    basis = orthonormal_bases(space, base[None]).vectors[0]
    data = exp_rows(space, base, 0.6 * bent(70, space.dim) @ basis)
    times = rng.integers(1, 4, 70)
    bundles = [
        sb.RiemannianSubbundle(points, 1, 0.2, space=space, centering=centering)
        for points in (sb.Cloud(data, weights=times), np.repeat(data, times, axis=0))
    ]
    here, there = (bundle.frame(data[:6]) for bundle in bundles)
    np.testing.assert_allclose(here.eigenvalues, there.eigenvalues, atol=1e-9)
    np.testing.assert_allclose(here.mean, there.mean, atol=1e-9)
    one, other = (bundle.field(data[:6], here.duals[:, :, 0]) for bundle in bundles)
    # Forces by differences are accurate to 1e-9 of their size, that of curvatures.
    np.testing.assert_allclose(one.force, other.force, rtol=1e-5, atol=1e-6)
    first, second = (sb.ridge_project(bundle, data[:6], errors=True, tol=1e-8, max_steps=60) for bundle in bundles)
    np.testing.assert_array_equal(first.status, second.status)
    for name in ("points", "noise", "neighbours", "curvature"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-5, atol=1e-7, err_msg=name)
    # Standard errors have Σ w²/v over Σ w² as one factor for all observations.
    np.testing.assert_allclose(first.position_error, second.position_error, rtol=0.2)
