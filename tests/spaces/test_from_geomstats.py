"""The built-in spaces against geomstats, and geomstats' spaces through the adapter."""

from __future__ import annotations

import sys
import types
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Kendall, Product, Space, Sphere, from_geomstats

with warnings.catch_warnings():
    # geomstats loads its backend through an import hook of the old kind.
    warnings.filterwarnings("ignore", message="BackendImporter", category=ImportWarning)
    pytest.importorskip("geomstats")
    import geomstats.backend
    from geomstats.geometry.complex_poincare_disk import ComplexPoincareDisk
    from geomstats.geometry.euclidean import Euclidean as GsEuclidean
    from geomstats.geometry.grassmannian import Grassmannian
    from geomstats.geometry.hermitian import Hermitian
    from geomstats.geometry.hyperboloid import Hyperboloid
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.matrices import Matrices
    from geomstats.geometry.minkowski import Minkowski
    from geomstats.geometry.poincare_ball import PoincareBall
    from geomstats.geometry.pre_shape import PreShapeSpace
    from geomstats.geometry.product_manifold import ProductManifold
    from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDMatrices
    from geomstats.geometry.special_orthogonal import SpecialOrthogonal
    from geomstats.information_geometry.normal import NormalDistributions


def spd(n):
    space = SPDMatrices(n, equip=False)
    space.equip_with_metric(SPDAffineMetric)
    return space


def shapes(landmarks, dim):
    total = PreShapeSpace(landmarks, dim)
    total.equip_with_group_action("rotations")
    total.equip_with_quotient()
    return total.quotient


# geomstats' formulas lose digits of their own (arccos near 1, logm), and its shape transport is RK4 with 100 steps.
PAIRS = [
    (Euclidean(3), lambda: GsEuclidean(3), 1e-14),
    (Sphere(2), lambda: Hypersphere(2), 1e-12),
    (Sphere(5), lambda: Hypersphere(5), 1e-12),
    (Hyperbolic(2), lambda: Hyperboloid(2), 1e-10),
    (SPD(2), lambda: spd(2), 1e-10),
    (SPD(3), lambda: spd(3), 1e-10),
    (SO(2), lambda: SpecialOrthogonal(2), 1e-10),
    (SO(3), lambda: SpecialOrthogonal(3), 1e-10),
    (SO(4), lambda: SpecialOrthogonal(4), 1e-10),
    (Kendall(5, 2), lambda: shapes(5, 2), 1e-9),
    (Kendall(5, 3), lambda: shapes(5, 3), 1e-7),
    (Product(Sphere(2), SPD(2)), lambda: ProductManifold([Hypersphere(2), spd(2)]), 1e-10),
]


@pytest.fixture(params=PAIRS, ids=lambda pair: repr(pair[0]))
def pair(request):
    space, make, tolerance = request.param
    return space, make(), tolerance


@pytest.fixture
def cloud(pair, rng):
    """Base points, points at distance 0.5 from them, and tangent vectors."""
    space = pair[0]
    x = space.random_point(4, rng)
    v = space.to_tangent(rng.standard_normal(x.shape), x)
    scale = (0.5 / np.sqrt(space.inner_product(v, v, x))).reshape(-1, *(1,) * len(space.shape))
    return x, space.exp(scale * v, x), v, space.to_tangent(rng.standard_normal(x.shape), x)


def test_built_in_spaces_agree_with_geomstats(pair, cloud):
    space, theirs, tolerance = pair
    x, y, v, w = cloud
    metric = theirs.metric
    assert theirs.shape == space.shape
    assert_allclose(space.exp(0.3 * v, x), metric.exp(0.3 * v, x), rtol=tolerance, atol=tolerance)
    assert_allclose(space.log(y, x), metric.log(y, x), rtol=tolerance, atol=tolerance)
    assert_allclose(space.dist(x, y), metric.dist(x, y), rtol=tolerance, atol=tolerance)
    assert_allclose(space.inner_product(v, w, x), metric.inner_product(v, w, x), rtol=tolerance, atol=tolerance)
    vector = np.arange(float(x.size)).reshape(x.shape)
    if not isinstance(space, Kendall):
        assert_allclose(space.to_tangent(vector, x), theirs.to_tangent(vector, x), rtol=tolerance, atol=10 * tolerance)
    assert theirs.belongs(space.random_point(3, np.random.default_rng(1))).all()


def test_transport_agrees_with_geomstats(pair, cloud):
    space, theirs, tolerance = pair
    x, y, _, w = cloud
    if isinstance(space, Product):
        expected = space.join(
            *(
                f.metric.parallel_transport(*parts[:2], end_point=parts[2])
                for f, *parts in zip(theirs.factors, *(space.split(a) for a in (w, x, y)), strict=True)
            )
        )
    else:
        expected = theirs.metric.parallel_transport(w, x, end_point=y)
    assert_allclose(space.parallel_transport(w, x, y), expected, rtol=tolerance, atol=tolerance)


def test_the_adapter_equals_the_built_in_space(pair, cloud):
    space, theirs, tolerance = pair
    x, y, v, w = cloud
    wrapped = from_geomstats(theirs)
    assert isinstance(wrapped, Space)
    assert (wrapped.dim, wrapped.shape, wrapped.ambient_dim) == (space.dim, space.shape, space.ambient_dim)
    loose = {"rtol": 10 * tolerance, "atol": 10 * tolerance}
    assert_allclose(wrapped.exp(0.3 * v, x), space.exp(0.3 * v, x), **loose)
    assert_allclose(wrapped.log(y[None, :2], x[:2, None]), space.log(y[None, :2], x[:2, None]), **loose)
    assert_allclose(wrapped.dist(x[:2, None], y[None, :2]), space.dist(x[:2, None], y[None, :2]), **loose)
    assert_allclose(wrapped.inner_product(v, w, x), space.inner_product(v, w, x), **loose)
    assert_allclose(wrapped.to_tangent(v, x), v, **loose)
    assert_allclose(wrapped.flat(v, x), space.flat(v, x), rtol=1e-8, atol=1e-8)
    assert_allclose(wrapped.projection(x), x, **loose)
    assert wrapped.belongs(x).all()
    assert_array_equal(wrapped.validate(x), x)
    assert not wrapped.at_cut_locus(y, x).any()
    for mine, other in ((space.tangent_basis, wrapped.tangent_basis), (space.vertical_basis, wrapped.vertical_basis)):
        ours, given = mine(x), other(x)
        assert ours.shape == given.shape
        flat = [b.reshape(*b.shape[:2], space.ambient_dim) for b in (ours, given)]
        projectors = [np.swapaxes(b, 1, 2) @ b for b in flat]
        assert_allclose(projectors[1], projectors[0], atol=1e-9)


def test_the_adapter_transports_to_the_end_point_itself(pair, cloud):
    space, theirs, tolerance = pair
    x, y, _, w = cloud
    if isinstance(space, Kendall):
        y = y @ SO(space.landmark_dim).random_point(len(y), np.random.default_rng(8))
    wrapped = from_geomstats(theirs)
    moved = wrapped.parallel_transport(w, x, y)
    assert_allclose(moved, space.parallel_transport(w, x, y), rtol=10 * tolerance, atol=10 * tolerance)
    single = wrapped.parallel_transport(w[0], x[0], y[0])
    assert_allclose(single, moved[0], rtol=10 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize(
    "make",
    [lambda: PoincareBall(2), lambda: Grassmannian(4, 2), lambda: NormalDistributions(1)],
    ids=["PoincareBall", "Grassmannian", "NormalDistributions"],
)
def test_laws_of_spaces_that_are_not_built_in(make, rng):
    space = from_geomstats(make())
    x = space.random_point(3, rng)
    v = space.to_tangent(rng.standard_normal(x.shape), x)
    w = space.to_tangent(rng.standard_normal(x.shape), x)
    v *= (0.2 / np.sqrt(space.inner_product(v, v, x))).reshape(-1, *(1,) * len(space.shape))
    y = space.exp(v, x)
    # Numerical logs of geomstats stop at about 1e-6.
    assert_allclose(space.log(y, x), v, atol=1e-5)
    assert_allclose(space.dist(x, y), 0.2, atol=1e-5)
    basis = space.tangent_basis(x).reshape(3, space.dim, -1)
    assert_allclose(
        basis @ np.swapaxes(basis, 1, 2), np.broadcast_to(np.eye(space.dim), (3, space.dim, space.dim)), atol=1e-12
    )
    assert_allclose((space.flat(v, x) * w).reshape(3, -1).sum(1), space.inner_product(v, w, x), atol=1e-9)
    moved = space.parallel_transport(w, x, y)
    # The pole ladder is of second order: (0.2/16)² times curvature.
    assert_allclose(space.inner_product(moved, moved, y), space.inner_product(w, w, x), rtol=2e-3)
    assert not space.at_cut_locus(y, x).any()
    assert space.vertical_basis(x).shape == (3, 0, *space.shape)


def test_refused_rows_become_nan():
    space = from_geomstats(SpecialOrthogonal(3))
    half_turn = np.diag([-1.0, -1.0, 1.0])
    logs = space.log(np.stack([half_turn, np.eye(3)]), np.eye(3))
    assert np.isnan(logs[0]).all()
    assert_allclose(logs[1], 0.0)
    assert_array_equal(space.at_cut_locus(np.stack([half_turn, np.eye(3)]), np.eye(3)), [True, False])


def test_a_log_that_leads_elsewhere_becomes_nan():
    """For antipodal points geomstats returns the zero vector."""
    space = from_geomstats(Hypersphere(2))
    north, east = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    logs = space.log(np.stack([-north, east]), north)
    assert np.isnan(logs[0]).all()
    assert_allclose(logs[1], [0.5 * np.pi, 0.0, 0.0], atol=1e-15)
    assert_array_equal(space.at_cut_locus(np.stack([-north, east]), north), [True, False])
    assert np.isnan(space.parallel_transport(east, north, -north)).all()
    assert_allclose(space.dist(north, -north), np.pi)


def test_random_points_leave_the_global_generator_alone():
    space = from_geomstats(Hypersphere(2))
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = space.random_point(4, np.random.default_rng(3))
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert_array_equal(space.random_point(4, np.random.default_rng(3)), first)


def test_points_off_a_geomstats_space_are_refused():
    space = from_geomstats(Hypersphere(2))
    with pytest.raises(ValueError, match=r"points of geomstats' Hypersphere; the worst of 2, row 1, is off by 1"):
        space.validate(np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))


def test_only_riemannian_real_equipped_spaces():
    with pytest.raises(
        TypeError, match=r"must be a geomstats manifold with real points, such as Hypersphere\(2\); got 'sphere'"
    ):
        from_geomstats("sphere")
    with pytest.raises(ValueError, match="equipped with a metric; got Hypersphere without one"):
        from_geomstats(Hypersphere(2, equip=False))
    with pytest.raises(ValueError, match=r"takes Riemannian metrics; that of .* is indefinite"):
        from_geomstats(Minkowski(3))
    with pytest.raises(TypeError, match=r"with real points, such as .*; got .*Hermitian"):
        from_geomstats(Hermitian(2))
    with pytest.raises(TypeError, match=r"real points; those of .*ProductManifold.* are complex"):
        from_geomstats(ProductManifold([ComplexPoincareDisk(), ComplexPoincareDisk()]))


def test_other_backends_are_refused(monkeypatch):
    monkeypatch.setattr(geomstats.backend, "__name__", "geomstats.pytorch")
    with pytest.raises(RuntimeError, match=r"NumPy backend; it runs on 'pytorch'. Set .* GEOMSTATS_BACKEND=numpy"):
        from_geomstats(Matrices(2, 2))


def test_missing_geomstats_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "geomstats.backend", None)
    with pytest.raises(ImportError, match=r'pip install "subbundle\[geomstats\]"'):
        from_geomstats(types.SimpleNamespace())
