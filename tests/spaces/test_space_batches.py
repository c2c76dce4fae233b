"""Batches: leading axes broadcast, and a row gives the same bits alone, in any batch and beside any other row."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal


def methods(space, x, y, v, w):
    """Every vectorised method, applied to base points x, points y, tangent vectors v and w at x."""
    return {
        "exp": space.exp(v, x),
        "log": space.log(y, x),
        "dist": space.dist(x, y),
        "inner_product": space.inner_product(v, w, x),
        "parallel_transport": space.parallel_transport(v, x, y),
        "to_tangent": space.to_tangent(v + w, x),
        "projection": space.projection(1.1 * y),
        "violation": space.violation(1.1 * y),
        "belongs": space.belongs(y),
        "at_cut_locus": space.at_cut_locus(y, x),
        "tangent_basis": space.tangent_basis(x),
        "vertical_basis": space.vertical_basis(x),
        "flat": space.flat(v, x),
    }


def test_batches_equal_single_points_to_the_bit(space, base, vector, other, rng):
    point = space.random_point(len(base), rng)
    batch = methods(space, base, point, vector, other)
    for row in range(len(base)):
        single = methods(space, base[row], point[row], vector[row], other[row])
        for name, value in single.items():
            assert_array_equal(batch[name][row], value, err_msg=name)


@pytest.mark.parametrize("size", [2, 3, 5, 8, 9])
def test_a_row_has_the_same_bits_in_batches_of_any_size(space, base, vector, other, rng, size):
    point = space.random_point(len(base), rng)
    whole = methods(space, base, point, vector, other)
    for first in (0, len(base) - size):
        rows = slice(first, first + size)
        for name, value in methods(space, base[rows], point[rows], vector[rows], other[rows]).items():
            assert_array_equal(value, whole[name][rows], err_msg=name)


def test_all_pairs_equal_a_loop_to_the_bit(space, base, vector, other, rng):
    bases, points = base[:3], space.random_point(5, rng)
    logs = space.log(points[None], bases[:, None])
    dists = space.dist(bases[:, None], points[None])
    cut = space.at_cut_locus(points[None], bases[:, None])
    moved = space.parallel_transport(vector[:3, None], bases[:, None], points[None])
    metric = space.inner_product(vector[:3, None], other[:3, None], bases[:, None])
    assert logs.shape == moved.shape == (3, 5, *space.shape)
    assert dists.shape == cut.shape == (3, 5)
    assert metric.shape == (3, 1)
    for b in range(3):
        assert_array_equal(space.log(points, bases[b]), logs[b])
        for n in range(5):
            assert_array_equal(space.log(points[n], bases[b]), logs[b, n])
            assert_array_equal(space.dist(bases[b], points[n]), dists[b, n])
            assert_array_equal(space.parallel_transport(vector[b], bases[b], points[n]), moved[b, n])


def test_several_vectors_at_one_base_point(space, base, rng):
    vectors = space.to_tangent(rng.standard_normal((4, *space.shape)), base[0])
    expected = [space.inner_product(a, b, base[0]) for a in vectors for b in vectors]
    gram = space.inner_product(vectors[:, None], vectors[None], base[0])
    assert_array_equal(gram.ravel(), expected)
    repeated = space.inner_product(vectors[0], vectors[1], base[:6, None])
    assert repeated.shape == (6, 1)
    assert space.exp(vectors, base[0]).shape == vectors.shape
    assert space.flat(vectors, base[0]).shape == vectors.shape
    assert space.to_tangent(vectors[0], base).shape == base.shape


def test_memory_layout_does_not_matter(space, base, vector, other, rng):
    point = space.random_point(len(base), rng)
    arrays = (base, point, vector, other)
    expected = methods(space, *arrays)
    layouts = [
        np.asfortranarray,
        lambda array: np.repeat(array, 2, axis=0)[::2],
        lambda array: np.repeat(array, 3, axis=-1)[..., ::3],
        lambda array: array[::-1].copy()[::-1],
    ]
    for layout in layouts:
        for name, value in methods(space, *map(layout, arrays)).items():
            assert_array_equal(value, expected[name], err_msg=name)


def test_inputs_are_left_alone(space, base, vector, other, rng):
    arrays = [base, space.random_point(len(base), rng), vector, other]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    methods(space, *arrays)
    for array, copy in zip(arrays, copies, strict=True):
        assert_array_equal(array, copy)


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_a_bad_row_disturbs_no_other(space, base, vector, other, rng, poison):
    point = space.random_point(len(base), rng)
    good = methods(space, base, point, vector, other)
    x, y = base.copy(), point.copy()
    x[4], y[7] = np.nan, poison
    with np.errstate(invalid="ignore", over="ignore"):
        bad = methods(space, x, y, vector, other)
    rows = [row for row in range(len(base)) if row not in (4, 7)]
    for name, value in good.items():
        assert_array_equal(bad[name][rows], value[rows], err_msg=name)
    assert np.isnan(bad["log"][4]).all()
    assert not bad["belongs"][7] or type(space).__name__ == "Euclidean"


def test_empty_batches(space, base):
    empty = base[:0]
    assert space.log(empty, base[0]).shape == (0, *space.shape)
    assert space.dist(empty, base[0]).shape == (0,)
    assert space.tangent_basis(empty).shape == (0, space.dim, *space.shape)
