"""The analytic bundles against their formulas, computed another way."""

import numpy as np
import pytest

from subbundle import Status
from subbundle.bundles.analytic import Constant, Heisenberg, SphereTangent
from subbundle.bundles.base import Subbundle

ROUNDING = 1e-13  # a few dozen operations on numbers of order one


def bundles():
    rng = np.random.default_rng(5)
    return [Heisenberg(), SphereTangent(1), SphereTangent(2), SphereTangent(9), Constant(rng.normal(size=(6, 3)))]


def queries(bundle, n=7, seed=0):
    return np.random.default_rng(seed).normal(size=(2, n, bundle.ambient_dim))


@pytest.mark.parametrize("bundle", bundles(), ids=repr)
def test_is_a_subbundle_and_describes_its_frame(bundle):
    points, _ = queries(bundle)
    frame = bundle.frame(points)
    assert isinstance(bundle, Subbundle)
    assert bundle.length_scale == 1.0
    assert frame.vectors.shape == (7, bundle.ambient_dim, bundle.rank)
    expected = [1.0] * bundle.rank + [0.0] * (bundle.ambient_dim - bundle.rank)
    np.testing.assert_array_equal(frame.eigenvalues, np.tile(expected, (7, 1)))
    np.testing.assert_array_equal(frame.mean, points)
    np.testing.assert_array_equal(frame.density, 1.0)
    np.testing.assert_array_equal(frame.gap, 1.0)
    np.testing.assert_array_equal(frame.status, Status.OK)


@pytest.mark.parametrize("bundle", bundles(), ids=repr)
def test_velocity_is_the_sum_over_the_frame(bundle):
    points, covectors = queries(bundle)
    for p, eta, velocity in zip(points, covectors, bundle.field(points, covectors).velocity, strict=True):
        F = bundle.frame(p[None]).vectors[0]
        np.testing.assert_allclose(velocity, F @ (F.T @ eta), atol=ROUNDING)


def test_heisenberg_frame_brackets_to_the_vertical():
    # [X, Y] = DY·X − DX·Y with the derivatives of X and Y by differences, which are exact for linear fields.
    bundle, p, h = Heisenberg(), np.array([0.3, -1.2, 0.5]), 0.5
    X, Y = bundle.frame(p[None]).vectors[0].T
    ahead = bundle.frame(np.stack([p + h * X, p + h * Y])).vectors
    bracket = (ahead[0, :, 1] - Y) / h - (ahead[1, :, 0] - X) / h
    np.testing.assert_allclose(bracket, [0.0, 0.0, 1.0], atol=ROUNDING)


@pytest.mark.parametrize("dim", [1, 2, 9])
def test_sphere_frame_spans_the_complement_of_the_radius(dim):
    bundle = SphereTangent(dim)
    points, _ = queries(bundle, 50)
    points[0] = -np.eye(dim + 1)[-1]  # both poles of the reflection
    points[1] = np.eye(dim + 1)[-1]
    for p, F in zip(points, bundle.frame(points).vectors, strict=True):
        np.testing.assert_allclose(F @ F.T, np.eye(dim + 1) - np.outer(p, p) / (p @ p), atol=ROUNDING)
        assert (F[np.abs(F).argmax(axis=0), np.arange(dim)] > 0).all()


def test_the_origin_of_the_spheres_has_no_tangent_space():
    points, covectors = np.array([[0.0, 0, 0], [0, 0, 2.0]]), np.ones((2, 3))
    frame, field = SphereTangent(2).frame(points), SphereTangent(2).field(points, covectors)
    np.testing.assert_array_equal(frame.status, [Status.GAP_CLOSED, Status.OK])
    np.testing.assert_array_equal(field.status, [Status.GAP_CLOSED, Status.OK])
    np.testing.assert_array_equal(frame.gap, [0.0, 1.0])
    assert np.isnan(frame.vectors[0]).all()
    assert np.isnan(field.velocity[0]).all()
    assert np.isnan(field.force[0]).all()
    np.testing.assert_array_equal(field.velocity[1], [1.0, 1.0, 0.0])


def test_constant_orthonormalises_any_basis():
    basis = np.array([[1.0, 1e-9], [1.0, 0.0], [0.0, 1e-9]])
    F = Constant(basis).frame(np.zeros((1, 3))).vectors[0]
    np.testing.assert_allclose(F.T @ F, np.eye(2), atol=ROUNDING)
    np.testing.assert_allclose(F @ (F.T @ basis), basis, atol=ROUNDING)
    assert not Constant(basis).vectors.flags.writeable


@pytest.mark.parametrize("bundle", [*bundles(), Constant(np.random.default_rng(1).normal(size=(1000, 4)))], ids=repr)
def test_rows_have_the_same_bits_in_every_batch(bundle):
    points, covectors = queries(bundle, 67)
    whole = bundle.field(points, covectors)
    frames = bundle.frame(points).vectors
    for size in (1, 2, 3, 8, 64):
        for begin in range(0, 67, size):
            part = slice(begin, begin + size)
            field = bundle.field(points[part], covectors[part])
            assert field.velocity.tobytes() == whole.velocity[part].tobytes()
            assert field.force.tobytes() == whole.force[part].tobytes()
            assert bundle.frame(points[part]).vectors.tobytes() == frames[part].tobytes()
    strided = bundle.field(np.asfortranarray(points)[::2], np.asfortranarray(covectors)[::2])
    assert strided.velocity.tobytes() == whole.velocity[::2].tobytes()


def test_messages_of_bad_input():
    with pytest.raises(ValueError, match=r"dim must be an integer >= 1 \(the dimension of the spheres\); got 0"):
        SphereTangent(0)
    with pytest.raises(ValueError, match="linearly independent columns; column 1 is a combination"):
        Constant(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="linearly independent columns; column 0"):
        Constant(np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"must have 1..2 columns of length 2; got shape \(2, 3\)"):
        Constant(np.ones((2, 3)))
    with pytest.raises(ValueError, match="points must have 3 coordinates per point"):
        Heisenberg().frame(np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"both have shape \(batch, 3\); got \(2, 3\) and \(1, 3\). Repeat"):
        Heisenberg().field(np.zeros((2, 3)), np.zeros((1, 3)))
    with pytest.raises(ValueError, match="covectors must be finite"):
        SphereTangent(2).field(np.ones((1, 3)), np.full((1, 3), np.nan))
