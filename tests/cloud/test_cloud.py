"""The cloud: input, precision, memory."""

import pickle
import re

import numpy as np
import pytest

from subbundle.cloud import Cloud
from subbundle.cloud.build import LEAF
from subbundle.cloud.tuning import BLOCK_DIM


@pytest.mark.parametrize("dim", [1, 2, 3, BLOCK_DIM, BLOCK_DIM + 1, 30])
@pytest.mark.parametrize("n", [2, LEAF - 1, LEAF, LEAF + 1, 1000])
def test_points_come_back_in_the_order_given(dim, n):
    points = np.random.default_rng(n).normal(size=(n, dim)) * 100.0
    cloud = Cloud(points)
    assert (cloud.n_points, cloud.dim) == (n, dim)
    # One subtraction and one addition of the centre, each rounded to 1e-16 of the extent.
    np.testing.assert_allclose(cloud.points, points, atol=4e-16 * cloud.size)


def test_coordinates_are_centred_on_the_bounding_box():
    points = np.random.default_rng(0).uniform(size=(500, 4)) + np.array([1e6, -5.0, 0.0, 3e4])
    cloud = Cloud(points)
    centred = cloud.at(np.arange(500))
    np.testing.assert_allclose(cloud.centre, 0.5 * (points.min(axis=0) + points.max(axis=0)), rtol=1e-15)
    np.testing.assert_allclose(centred.min(axis=0), -centred.max(axis=0), atol=1e-9)  # 1e6 · 2.2e-16, twice
    assert cloud.size == pytest.approx(np.linalg.norm(np.ptp(points, axis=0)), rel=1e-15)


def test_map_coordinates_keep_their_millimetres():
    # Coordinates on a grid of 2⁻¹⁰ m, moved by whole metres: every number is exact, and so must be what is stored.
    near = np.round(np.random.default_rng(1).uniform(-50.0, 50.0, size=(400, 3)) * 1024) / 1024
    far = near + np.array([500_000.0, 5_400_000.0, 300.0])
    a, b = Cloud(near), Cloud(far)
    np.testing.assert_array_equal(a.blocks, b.blocks)
    np.testing.assert_array_equal(a.boxes, b.boxes)


@pytest.mark.parametrize("dim", [3, 20])
def test_many_kinds_of_array_are_read(dim, tmp_path):
    # Small integers, which all of these kinds hold exactly.
    expected = np.random.default_rng(3).integers(-99, 99, size=(150, dim)).astype(float)
    np.save(tmp_path / "points.npy", expected)
    frozen = expected.copy()
    frozen.setflags(write=False)
    kinds = {
        "float32": expected.astype(np.float32),
        "float16": expected.astype(np.float16),
        "longdouble": expected.astype(np.longdouble),
        "int16": expected.astype(np.int16),
        "big-endian": expected.astype(">f8"),
        "list": expected.tolist(),
        "Fortran order": np.asfortranarray(expected),
        "every second row": np.repeat(expected, 2, axis=0)[::2],
        "reversed": expected[::-1].copy()[::-1],
        "read-only": frozen,
        "memory-mapped": np.load(tmp_path / "points.npy", mmap_mode="r"),
        "unmasked": np.ma.masked_array(expected),
    }
    plain = Cloud(expected)
    for name, points in kinds.items():
        cloud = Cloud(points)
        np.testing.assert_array_equal(cloud.points, plain.points, err_msg=name)
        np.testing.assert_array_equal(cloud.order, plain.order, err_msg=name)
        assert cloud.boxes.dtype == np.float64
    np.testing.assert_array_equal(kinds["read-only"], expected)


def test_the_input_is_not_changed_and_not_kept():
    points = np.random.default_rng(0).normal(size=(200, 20))
    before = points.copy()
    cloud = Cloud(points)
    np.testing.assert_array_equal(points, before)
    points[:] = 7.0
    np.testing.assert_allclose(cloud.points, before, atol=1e-14)  # rounding of the centring


@pytest.mark.parametrize("dim", [3, 20])
def test_a_copy_through_pickle_is_the_same(dim):
    cloud = Cloud(np.random.default_rng(0).normal(size=(100, dim)))
    copy = pickle.loads(pickle.dumps(cloud))
    np.testing.assert_array_equal(copy.points, cloud.points)
    np.testing.assert_array_equal(copy.boxes, cloud.boxes)


def test_memory_per_point_is_small():
    cloud = Cloud(np.random.default_rng(0).normal(size=(100_001, 3)))
    arrays = (cloud.boxes, cloud.corners, cloud.blocks, cloud.rows, cloud.order, cloud.weights)
    assert cloud.nbytes == sum(array.nbytes for array in arrays)
    # Three coordinates (24), a weight (8), a row number (4), and three boxes of six numbers for every leaf of 32 (4.5).
    assert cloud.nbytes / cloud.n_points < 41.0


def test_samples_are_distinct_and_spread_over_the_leaves():
    cloud = Cloud(np.random.default_rng(0).normal(size=(1000, 3)))
    for count in (1, 7, 500, 1000, 5000):
        places = cloud.sample(count)
        assert len(np.unique(places)) == min(count, 1000)
        assert places.min() >= 0
        assert places.max() < 1000
        np.testing.assert_array_equal(places, cloud.sample(count))
    assert np.ptp(np.diff(cloud.sample(300))) <= 1


NORMAL = np.random.default_rng(0).normal(size=(50, 3))


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        (
            np.where(np.arange(50)[:, None] == 7, np.nan, NORMAL),
            ValueError,
            "3 entries are NaN or infinite, first in row 7",
        ),
        (
            np.where(np.arange(50)[:, None] == 9, np.inf, NORMAL),
            ValueError,
            "first in row 9. Drop such rows with points",
        ),
        (NORMAL.astype(object), TypeError, "points must hold real numbers; got an array of dtype object"),
        (NORMAL.astype(str), TypeError, "points must hold real numbers; got an array of dtype <U32"),
        (NORMAL + 1j, TypeError, "dtype complex128. Pass the real and imaginary parts as separate columns"),
        (None, TypeError, "points must hold real numbers; got an array of dtype object"),
        ([[1.0, 2.0], [3.0]], ValueError, "points must be an array; got rows of unequal length"),
        (np.ma.masked_greater(NORMAL, 1.0), ValueError, "must have no masked entries; "),
        (NORMAL[0], ValueError, "shape (n_points, dim); got shape (3,). For a single point write points[None, :]"),
        (NORMAL[None], ValueError, "points must be a 2-D array, shape (n_points, dim); got shape (1, 50, 3)"),
        (3.0, ValueError, "got shape ()"),
        (NORMAL[:1], ValueError, "at least 2 observations of at least 1 coordinate; got (1, 3)"),
        (NORMAL[:, :0], ValueError, "at least 2 observations of at least 1 coordinate; got (50, 0)"),
        (np.empty((0, 3)), ValueError, "at least 2 observations of at least 1 coordinate; got (0, 3)"),
        (np.ones((50, 3)), ValueError, "points must not all be equal; all 50 rows are [1. 1. 1.]"),
        (1e80 * NORMAL, ValueError, "a diagonal between 1e-60 and 1e+60; it is "),
        (1e-80 * NORMAL, ValueError, "Multiply the coordinates by a common scale first"),
        (1e-200 * NORMAL, ValueError, "Multiply the coordinates by a common scale first"),
        (1e308 * np.sign(NORMAL), ValueError, "a diagonal between 1e-60 and 1e+60; it is inf"),
    ],
)
def test_bad_points_are_refused_with_a_reason(points, error, message):
    with pytest.raises(error, match=re.escape(message)):
        Cloud(points)
