"""What the bundle on a manifold is: the paper's definition step by step, the metric in the second moment, full rank."""

from __future__ import annotations

import numpy as np
import pytest
from manifold_clouds import BANDWIDTH, GENERAL, around, cloud, inside, middle

import subbundle as sb
from subbundle.bundles._riemannian_differences import Differences
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Kendall, Product, Sphere
from subbundle.spaces.rows import flattened, orthonormal_bases, retract, shaped

CENTERINGS = ("recentred", "local", "none")
SPACES = [Sphere(2), Hyperbolic(2), *GENERAL[:4]]


def by_the_definition(space, data, point, bandwidth, centering):
    """The projector on the bundle of rank 1 as a matrix of R^D, with weights, means and moments spelt out."""
    points, base = shaped(space, data), shaped(space, point)

    def weights(at):
        w = np.exp(-0.5 * (space.dist(points, at) / bandwidth) ** 2)
        return w / w.sum()

    logs = flattened(space, space.log(points, base))
    mean = weights(base) @ logs
    centre = base
    if centering == "recentred":
        centre = space.exp(shaped(space, mean), base)
        logs = flattened(space, space.log(points, centre))
    if centering == "local":
        logs = logs - mean
    # As an endomorphism of R^D: u ↦ Σ w h(v, u) v.
    covectors = flattened(space, space.flat(shaped(space, logs), centre))
    values, vectors = np.linalg.eig((weights(centre)[:, None] * logs).T @ covectors)
    first = shaped(space, np.real(vectors[:, np.argmax(np.real(values))]))
    first = first / np.sqrt(space.inner_product(first, first, centre))
    if centering == "recentred":
        first = space.parallel_transport(first, centre, base)
    return np.outer(first.ravel(), space.flat(first, base).ravel())


@pytest.mark.parametrize("centering", CENTERINGS)
@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_the_subspace_is_the_papers(space, centering):
    data, points = cloud(space), inside(space, 3)
    frame = RiemannianSubbundle(data, 1, BANDWIDTH, space=space, centering=centering).frame(points)
    for row, point in enumerate(points):
        expected = by_the_definition(space, data, point, BANDWIDTH, centering)
        # The kernel is cut where it has fallen to 1e-10.
        np.testing.assert_allclose(
            frame.vectors[row] @ frame.duals[row].T, expected, atol=1e-7 * np.abs(expected).max()
        )


def test_leaving_the_metric_out_changes_the_subspace_and_changing_the_basis_does_not():
    """The paper's lemma: in coordinates the moment is Σ w v vᵀ h, and v vᵀ alone only in an orthonormal basis."""
    space = SPD(2)
    # Far from the identity the coordinates of the matrices are far from orthonormal.
    base = np.array([[9.0, 2.0], [2.0, 0.7]])
    rng = np.random.default_rng(0)
    data = around(space, base.ravel(), rng.standard_normal((80, 3)) * [0.5, 0.2, 0.2])
    bundle = RiemannianSubbundle(data, 1, 0.6, space=space, centering="none")
    ours = shaped(space, bundle.frame(base.reshape(1, 4)).vectors[0, :, 0])
    logs = space.log(shaped(space, data), base)
    weights = np.exp(-0.5 * (space.dist(shaped(space, data), base) / 0.6) ** 2)

    def leading(basis, with_metric):
        """First eigenvector of the second moment in coordinates of ``basis`` [3, 2, 2], as a matrix of unit length."""
        columns = basis.reshape(3, 4).T
        coordinates = np.linalg.lstsq(columns, logs.reshape(-1, 4).T, rcond=None)[0]
        moment = (weights * coordinates) @ coordinates.T
        if with_metric:
            moment = moment @ np.array([[space.inner_product(a, b, base) for b in basis] for a in basis])
        values, vectors = np.linalg.eig(moment)
        first = np.einsum("i,ijk->jk", np.real(vectors[:, np.argmax(np.real(values))]), basis)
        first = first / np.sqrt(space.inner_product(first, first, base))
        return first * np.sign(np.sum(first * ours))

    entries = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
    skewed = np.einsum("ij,jkl->ikl", rng.standard_normal((3, 3)), entries)
    for basis in (entries, skewed):
        # The kernel is cut at 1e-10; entries are of size 5.
        np.testing.assert_allclose(leading(basis, with_metric=True), ours, atol=1e-7)
    naive = [leading(basis, with_metric=False) for basis in (entries, skewed)]
    angles = [np.degrees(np.arccos(np.clip(space.inner_product(wrong, ours, base), -1.0, 1.0))) for wrong in naive]
    assert min(angles) > 2.0
    assert np.abs(naive[0] - naive[1]).max() > 0.1


def test_a_turned_tangent_basis_changes_nothing(monkeypatch):
    space = SPD(2)
    data, points = cloud(space), inside(space, 2)
    covectors = np.random.default_rng(0).standard_normal(points.shape)
    bundle = RiemannianSubbundle(data, 1, BANDWIDTH, space=space)
    before, original = bundle.field(points, covectors), SPD.tangent_basis
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    monkeypatch.setattr(SPD, "tangent_basis", lambda self, x: np.einsum("ij,...jkl->...ikl", turn, original(self, x)))
    after = bundle.field(points, covectors)
    np.testing.assert_allclose(after.velocity, before.velocity, atol=1e-12)
    # Two differences of H over other neighbours, each accurate to 1e-9 of forces of size 10.
    np.testing.assert_allclose(after.force, before.force, atol=1e-7)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("centering", CENTERINGS)
@pytest.mark.parametrize("space", [Euclidean(3), Sphere(3), Hyperbolic(3)], ids=repr)
def test_closed_form_and_differences_agree(space, centering, rank):
    data, points = cloud(space), inside(space, 4)
    covectors = np.random.default_rng(0).standard_normal(points.shape)
    # Two of the noisy directions are alike: a small gap between them is still open.
    bundle = RiemannianSubbundle(data, rank, BANDWIDTH, space=space, centering=centering, min_gap=1e-6)
    exact = bundle.field(points, covectors)
    velocity, force, status = Differences(space, np.column_stack([bundle._rows, np.ones(len(bundle._rows))]), 1).field(
        bundle._settings, points, covectors
    )
    assert (exact.status == sb.Status.OK).all()
    assert (status == sb.Status.OK).all()
    gap = bundle.frame(points).gap.min()
    scale = np.abs(exact.force).max()
    # The differences use a kernel lowered by 1e-10 at its end; an open gap g turns errors of moments into errors / g.
    np.testing.assert_allclose(velocity, exact.velocity, atol=1e-8 / gap * np.abs(exact.velocity).max())
    np.testing.assert_allclose(force, exact.force, atol=1e-7 / gap * scale)


@pytest.mark.parametrize(
    "space",
    [Sphere(4), Hyperbolic(3), SPD(3), SO(4), Kendall(5, 2), Kendall(4, 3), Product(Sphere(2), SPD(2))],
    ids=repr,
)
def test_in_full_rank_geodesics_are_the_manifolds_own(space):
    base = middle(space)
    rng = np.random.default_rng(5)
    # A cloud 3 bandwidths wide with no directions of its own: only its support matters.
    data = around(space, base, 0.3 / np.sqrt(space.dim) * rng.standard_normal((3 * space.dim + 3, space.dim)))
    bundle = RiemannianSubbundle(data, space.dim, 0.25, space=space, min_density=1e-100)
    direction = rng.standard_normal(space.dim)
    vector = shaped(space, direction / np.linalg.norm(direction) @ orthonormal_bases(space, base[None]).vectors[0])
    x = shaped(space, base)
    curve = sb.geodesic(bundle, base, space.flat(vector, x).ravel(), length=0.5, n_points=5, tol=1e-8)
    expected = flattened(space, space.exp(curve.times.reshape(-1, *(1,) * len(space.shape)) * vector, x))
    assert curve.status == sb.Status.OK
    np.testing.assert_allclose(curve.points, expected, atol=1e-7 * np.abs(expected).max())
    # Along the way the covector stays the metric dual of the velocity.
    end = bundle.field(curve.points[-1:], curve.covectors[-1:])
    dual = flattened(space, space.flat(shaped(space, end.velocity), shaped(space, curve.points[-1:])))
    np.testing.assert_allclose(dual, curve.covectors[-1:], atol=1e-10 * np.abs(dual).max())
    assert bundle.frame(base[None]).gap[0] == 1.0


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_the_flow_stays_on_the_manifold(space):
    bundle = RiemannianSubbundle(cloud(space, 24), 1, BANDWIDTH, space=space)
    curves = sb.geodesic(bundle, inside(space, 1)[0], [[1.0], [-1.0]], length=2.0, n_points=21)
    reached = np.isfinite(curves.points).all(axis=2)
    assert reached.sum() > 10
    # At the default tolerance, over length 2 or to the end of the data.
    assert space.violation(shaped(space, curves.points[reached])).max() < 1e-9
    assert space.violation(shaped(space, curves.end_points)).max() < 1e-9


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_duals_give_coordinates(space):
    points = inside(space, 2)
    bundle = RiemannianSubbundle(cloud(space), 2, BANDWIDTH, space=space, min_gap=1e-9)
    frame = bundle.frame(points)
    pairing = np.einsum("bdi,bdj->bij", frame.duals, frame.vectors)
    np.testing.assert_allclose(pairing, np.broadcast_to(np.eye(2), pairing.shape), atol=1e-10)
    flat = space.flat(shaped(space, frame.vectors[:, :, 0]), shaped(space, points))
    np.testing.assert_allclose(flattened(space, flat), frame.duals[:, :, 0], rtol=1e-9, atol=1e-9)
    # Coordinates (1, 0) mean f_1 as initial velocity.
    start = sb.geodesic(bundle, points[0], [1.0, 0.0], times=[0.0, 1e-6])
    velocity = bundle.field(start.points[:1], start.covectors[:1]).velocity[0]
    np.testing.assert_allclose(velocity, frame.vectors[0, :, 0], atol=1e-9 * np.abs(velocity).max())


def test_points_off_the_manifold_are_projected_orthogonally():
    space = Hyperbolic(2)
    points = space.random_point(5, np.random.default_rng(0))
    normal = points * [-1.0, 1.0, 1.0]
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    for size in (1e-3, 1e-4):
        # Second order: the projection along the normal leaves the point where it was.
        assert np.abs(retract(space, points + size * normal) - points).max() < 20.0 * size**2
    np.testing.assert_array_equal(retract(space, points), points)


def test_shapes_do_not_depend_on_their_representatives():
    space = Kendall(4, 2)
    data, points = shaped(space, cloud(space)), inside(space, 2)
    angles = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, len(data))
    turns = np.stack([np.cos(angles), -np.sin(angles), np.sin(angles), np.cos(angles)], axis=1).reshape(-1, 2, 2)
    covectors = np.random.default_rng(1).standard_normal(points.shape)
    one, other = (
        RiemannianSubbundle(x, 1, BANDWIDTH, space=space).field(points, covectors) for x in (data, data @ turns)
    )
    np.testing.assert_allclose(one.velocity, other.velocity, atol=1e-12)
    # Rounding of the rotations, 1e-16, over the spacing of the differences.
    np.testing.assert_allclose(one.force, other.force, atol=1e-7)
