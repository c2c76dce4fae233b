"""What must hold in every space.

Unless said otherwise the tolerance 1e-12 stands for some hundred operations in double precision (1e-16 each) on
numbers up to about 30, the entries of random hyperbolic points, SPD matrices and their inverses.
"""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from subbundle.spaces import Space

ROUNDING = 1e-12


def euclid(space, a, b):
    """Entrywise product summed over the axes of a point."""
    return np.sum(a * b, axis=tuple(range(-len(space.shape), 0)))


def test_it_is_a_space(space):
    assert isinstance(space, Space)
    assert space.ambient_dim == np.prod(space.shape)
    assert 1 <= space.dim <= space.ambient_dim


def test_spaces_of_the_same_kind_and_size_are_equal(space):
    arguments = {
        "Kendall": lambda s: (s.landmarks, s.landmark_dim),
        "Product": lambda s: s.factors,
        "SPD": lambda s: (s.n,),
        "SO": lambda s: (s.n,),
    }.get(type(space).__name__, lambda s: (s.dim,))(space)
    twin = type(space)(*arguments)
    assert twin == space
    assert hash(twin) == hash(space)
    assert twin != object()


def test_random_points_belong(space, base):
    assert base.shape == (12, *space.shape)
    assert_allclose(space.violation(base), 0.0, atol=1e-14)
    assert space.belongs(base).all()
    assert_array_equal(space.validate(base), base)


def test_exp_stays_on_the_space(space, base, vector):
    assert_allclose(space.violation(space.exp(3.0 * vector, base)), 0.0, atol=1e-13)


def test_log_inverts_exp(space, base, vector):
    assert_allclose(space.log(space.exp(vector, base), base), vector, atol=ROUNDING)


def test_exp_inverts_log(space, base, rng):
    point = space.random_point(len(base), rng)
    # Shapes come back as another pre-shape of the same orbit, so the distance is compared.
    assert_allclose(space.dist(space.exp(space.log(point, base), base), point), 0.0, atol=1e-11)


def test_log_at_the_point_itself_is_zero(space, base):
    assert_allclose(space.log(base, base), 0.0, atol=1e-14)
    assert_allclose(space.dist(base, base), 0.0, atol=1e-14)
    assert_array_equal(space.exp(np.zeros_like(base), base), base)


def test_dist_is_the_norm_of_log(space, base, rng):
    point = space.random_point(len(base), rng)
    log = space.log(point, base)
    assert_allclose(space.dist(base, point), np.sqrt(space.inner_product(log, log, base)), rtol=ROUNDING)
    assert_allclose(space.dist(base, point), space.dist(point, base), rtol=ROUNDING)


def test_geodesics_have_constant_speed(space, base, vector):
    for time in (0.25, 0.5, 1.0):
        length = time * np.sqrt(space.inner_product(vector, vector, base))
        assert_allclose(space.dist(space.exp(time * vector, base), base), length, rtol=1e-11)


def test_triangle_inequality(space, rng):
    a, b, c = (space.random_point(20, rng) for _ in range(3))
    assert (space.dist(a, c) <= space.dist(a, b) + space.dist(b, c) + ROUNDING).all()


def test_log_is_tangent(space, base, rng):
    log = space.log(space.random_point(len(base), rng), base)
    assert_allclose(space.to_tangent(log, base), log, atol=ROUNDING)


def test_to_tangent_is_a_projection_onto_the_basis(space, base, other):
    assert_allclose(space.to_tangent(other, base), other, atol=ROUNDING)
    basis = space.tangent_basis(base)
    flat = basis.reshape(len(base), space.dim, -1)
    inside = np.einsum("bai,baj,bj->bi", flat, flat, other.reshape(len(base), -1))
    assert_allclose(inside.reshape(other.shape), other, atol=ROUNDING)


def test_tangent_basis_is_orthonormal_and_tangent(space, base):
    basis = space.tangent_basis(base)
    assert basis.shape == (len(base), space.dim, *space.shape)
    flat = basis.reshape(len(base), space.dim, -1)
    gram = flat @ np.swapaxes(flat, 1, 2)
    assert_allclose(gram, np.broadcast_to(np.eye(space.dim), gram.shape), atol=1e-13)
    assert_allclose(space.to_tangent(basis, base[:, None]), basis, atol=ROUNDING)


def test_the_basis_points_where_exp_goes(space, base):
    step = 1e-6
    basis = space.tangent_basis(base)
    ahead, behind = (space.exp(sign * step * basis, base[:, None]) for sign in (1.0, -1.0))
    # Central differences: truncation of order step² times third derivatives ~ 1e3 (SPD), rounding 1e-15/step.
    assert_allclose((ahead - behind) / (2.0 * step), basis, atol=1e-8)


def test_vertical_basis_completes_the_tangent_basis(space, base):
    vertical = space.vertical_basis(base)
    count = vertical.shape[1]
    assert vertical.shape == (len(base), count, *space.shape)
    both = np.concatenate([vertical, space.tangent_basis(base)], axis=1).reshape(len(base), count + space.dim, -1)
    gram = both @ np.swapaxes(both, 1, 2)
    assert_allclose(gram, np.broadcast_to(np.eye(count + space.dim), gram.shape), atol=1e-13)
    assert_allclose(space.to_tangent(vertical, base[:, None]), 0.0, atol=ROUNDING)
    # Moving along the orbit changes the shape to second order only.
    moved = space.exp(1e-5 * vertical, base[:, None])
    assert_allclose(space.dist(moved, base[:, None]), 0.0, atol=1e-9)


def test_flat_is_the_metric(space, base, vector, other):
    covector = space.flat(vector, base)
    assert_allclose(euclid(space, covector, other), space.inner_product(vector, other, base), atol=1e-11)
    basis = space.tangent_basis(base)
    coefficients = np.einsum("bai,bi->ba", basis.reshape(len(base), space.dim, -1), covector.reshape(len(base), -1))
    inside = np.einsum("ba,bai->bi", coefficients, basis.reshape(len(base), space.dim, -1))
    assert_allclose(inside.reshape(base.shape), covector, atol=1e-11)


def test_inner_product_is_symmetric_bilinear_and_positive(space, base, vector, other):
    inner = space.inner_product
    assert_allclose(inner(vector, other, base), inner(other, vector, base), rtol=ROUNDING, atol=ROUNDING)
    combined = inner(2.0 * vector - 3.0 * other, other, base)
    assert_allclose(combined, 2.0 * inner(vector, other, base) - 3.0 * inner(other, other, base), rtol=1e-11)
    assert (inner(other, other, base) > 0.0).all()


def test_transport_is_an_isometry(space, base, vector, other, rng):
    end = space.random_point(len(base), rng)
    moved, moved_other = (space.parallel_transport(v, base, end) for v in (vector, other))
    assert_allclose(space.inner_product(moved, moved_other, end), space.inner_product(vector, other, base), atol=1e-9)
    assert_allclose(space.to_tangent(moved_other, end), moved_other, atol=1e-9)


def test_the_velocity_of_a_geodesic_is_parallel(space, base, rng):
    end = space.random_point(len(base), rng)
    moved = space.parallel_transport(space.log(end, base), base, end)
    assert_allclose(moved, -space.log(base, end), atol=1e-10)


def test_transport_back_is_the_inverse(space, base, other, rng):
    end = space.random_point(len(base), rng)
    back = space.parallel_transport(space.parallel_transport(other, base, end), end, base)
    assert_allclose(back, other, atol=1e-9)


def test_transport_in_two_steps_along_a_geodesic(space, base, vector, other):
    middle, end = space.exp(vector, base), space.exp(2.0 * vector, base)
    steps = space.parallel_transport(space.parallel_transport(other, base, middle), middle, end)
    assert_allclose(steps, space.parallel_transport(other, base, end), atol=1e-11)


def test_transport_is_the_limit_of_a_ladder(space, base, vector, other):
    """The pole ladder needs exp and log only; it is of second order in its rungs in general."""
    rungs = 64
    small = 1e-3
    end = space.exp(vector, base)
    carried, here = small * other, base
    for rung in range(rungs):
        there = space.exp((rung + 1) / rungs * vector, base)
        middle = space.exp(0.5 * space.log(there, here), here)
        tip = space.exp(carried, here)
        carried = -space.log(space.exp(-space.log(tip, middle), middle), there)
        here = there
    # The ladder ends at the exact pre-shape `end`; error (0.2/64)² and small² with constants of order one.
    assert_allclose(carried / small, space.parallel_transport(other, base, end), atol=2e-4)


def test_projection_is_idempotent_and_near(space, base, rng):
    disturbed = base + 1e-3 * rng.standard_normal(base.shape)
    once = space.projection(disturbed)
    assert space.belongs(once, 1e-12).all()
    assert_allclose(space.projection(once), once, atol=1e-14, rtol=1e-14)
    # Hyperbolic points move by the slope of the graph, below 1, times the disturbance.
    assert np.abs(once - disturbed).max() < 2e-2
    assert_allclose(space.projection(base), base, rtol=1e-14, atol=1e-14)


def test_violation_measures_a_disturbance(space, base):
    if type(space).__name__ == "Euclidean":
        assert_array_equal(space.violation(base), 0.0)
        return
    bad = base.copy()
    if space.shape == (1, 1):
        bad[3] = -1.0
    elif len(space.shape) == 2:
        bad[3, 0, -1] += 0.1
    else:
        bad[3, -1] += 0.1
    assert space.violation(bad)[3] > 1e-4
    assert list(np.nonzero(~space.belongs(bad))[0]) == [3]


def test_random_points_are_not_at_the_cut_locus(space, base, rng):
    assert not space.at_cut_locus(base, space.random_point(len(base), rng)).any()
