"""What the constructor, frame and field refuse, with which messages, and what they accept."""

import re
import warnings

import numpy as np
import pytest

from subbundle import Cloud, PrincipalSubbundle, Status, SubbundleWarning
from subbundle.bundles import Subbundle

NORMAL = np.random.default_rng(0).normal(size=(200, 3))


def refuses(error, message, *args, **kwargs):
    with pytest.raises(error, match=re.escape(message)):
        PrincipalSubbundle(*args, **kwargs)


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        (np.where(NORMAL > 2.0, np.nan, NORMAL), ValueError, "points must be finite; "),
        (np.where(NORMAL > 2.0, np.inf, NORMAL), ValueError, "Drop such rows with points[np.isfinite(points)"),
        (NORMAL.astype(object), TypeError, "points must hold real numbers; got an array of dtype object"),
        (NORMAL[0], ValueError, "points must be a 2-D array, shape (n_points, dim); got shape (3,)"),
        (NORMAL[:, :1], ValueError, "points must have at least 2 coordinates for a proper subspace; got 1"),
        (np.ones((9, 3)), ValueError, "points must not all be equal; all 9 rows are [1. 1. 1.]"),
        (NORMAL[:2], ValueError, "at least rank + 1 = 3 observations to span 2 directions; got 2"),
    ],
)
def test_bad_points(points, error, message):
    refuses(error, message, points, 2, 1.0)


@pytest.mark.parametrize("rank", [0, 3, -1, 100])
def test_rank_outside_its_range(rank):
    refuses(ValueError, f"rank must be an integer in 1..2 (a proper subspace of R^3); got {rank}", NORMAL, rank, 1.0)


@pytest.mark.parametrize("rank", [1.0, "2", None, True, [1]])
def test_rank_of_another_kind(rank):
    refuses(TypeError, f"rank must be an integer in 1..2 (a proper subspace of R^3); got {rank!r}", NORMAL, rank, 1.0)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan, np.inf, -np.inf])
def test_bandwidth_that_is_not_positive(bandwidth):
    message = f"bandwidth must be positive and finite; got {bandwidth!r}. It is the standard deviation of the Gaussian"
    refuses(ValueError, message, NORMAL, 2, bandwidth)


@pytest.mark.parametrize("bandwidth", ["1", None, True, [1.0], 1j])
def test_bandwidth_of_another_kind(bandwidth):
    refuses(TypeError, f"bandwidth must be a positive number; got {bandwidth!r}", NORMAL, 2, bandwidth)


@pytest.mark.parametrize("kernel", ["gaussian", "compact"])
@pytest.mark.parametrize("dim", [2, 3, 10, 30])
def test_a_bandwidth_far_too_small_is_refused_with_one_that_works(kernel, dim):
    data = np.random.default_rng(dim).normal(size=(500, dim))
    with pytest.raises(ValueError, match="effective neighbours") as caught:
        PrincipalSubbundle(data, 1, 1e-4, kernel=kernel)
    text = str(caught.value)
    assert text.startswith("bandwidth must reach at least rank + 1 = 2 neighbours at a typical point; bandwidth=0.0001")
    advised = float(re.search(r"Try bandwidth=(\S+) or more\.", text).group(1))
    assert PrincipalSubbundle(data, 1, advised, kernel=kernel).typical_mass > 0.0


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-160, 1e-30, 1e30, 1e160, 1e300])
@pytest.mark.parametrize("dim", [3, 20])
def test_a_bandwidth_of_another_order_of_magnitude_is_refused(bandwidth, dim):
    data = np.random.default_rng(dim).normal(size=(100, dim))
    message = f"bandwidth must be comparable with distances in the data; bandwidth={bandwidth:g}, but the cloud has the"
    refuses(ValueError, message, data, 2, bandwidth)


@pytest.mark.parametrize("dim", [3, 20])
def test_a_bandwidth_far_too_large_gives_global_pca_and_a_warning_at_the_caller(dim):
    data = np.random.default_rng(dim).normal(size=(100, dim)) * np.linspace(1.0, 0.3, dim)
    with pytest.warns(
        SubbundleWarning, match="is larger than the whole cloud .* one global PCA. Try a bandwidth below"
    ) as caught:
        bundle = PrincipalSubbundle(data, 2, 1e6)
    assert caught[0].filename == __file__
    frame = bundle.frame(data[:3])
    centred = data - data.mean(axis=0)
    top = np.linalg.svd(centred)[2][:2].T
    for vectors in frame.vectors:
        # Weights differ from 1/N by the squared ratio of size and bandwidth, 1e-11.
        np.testing.assert_allclose(vectors @ vectors.T, top @ top.T, atol=1e-9)


@pytest.mark.parametrize("centering", ["local", "recentred", "none"])
@pytest.mark.parametrize("dim", [3, 4, 5, 20])
def test_collinear_points_have_no_plane(dim, centering):
    line = np.outer(np.linspace(0.0, 1.0, 200), np.arange(1.0, dim + 1.0))
    message = "rank must not exceed the number of directions in the data; rank=2, but "
    refuses(ValueError, message, line, 2, 0.3 * dim, centering=centering)
    refuses(ValueError, "spans only 1" if dim == 3 else "span only 1", line, 2, 0.3 * dim, centering=centering)
    bundle = PrincipalSubbundle(line, 1, 0.3 * dim, centering=centering)
    frame = bundle.frame(line[90:110])
    np.testing.assert_array_equal(frame.status, Status.OK)
    direction = np.arange(1.0, dim + 1.0) / np.linalg.norm(np.arange(1.0, dim + 1.0))
    np.testing.assert_allclose(frame.vectors[:, :, 0], np.tile(direction, (20, 1)), atol=1e-12)


def test_collinear_points_far_from_the_origin_have_no_plane_either():
    line = np.outer(np.linspace(0.0, 1.0, 200), [1.0, 2.0, 3.0]) + np.array([5e5, 5.4e6, 100.0])
    refuses(ValueError, "spans only 1. Use rank=1, or a larger bandwidth.", line, 2, 0.3)


def test_a_plane_in_four_dimensions_has_no_three_directions():
    plane = np.random.default_rng(0).normal(size=(200, 2)) @ np.random.default_rng(1).normal(size=(2, 4))
    refuses(ValueError, "spans only 2. Use rank=2, or a larger bandwidth.", plane, 3, 0.5)


@pytest.mark.parametrize("kernel", ["gaussian", "compact"])
def test_duplicates_are_not_taken_for_neighbourhoods(kernel):
    data = np.repeat(NORMAL[:100], 40, axis=0)
    with pytest.raises(ValueError, match=r"spans only 0\. Use a larger bandwidth\.|Try bandwidth=(0\.[1-9]|1\.)"):
        PrincipalSubbundle(data, 2, 1e-4, kernel=kernel)
    bundle = PrincipalSubbundle(data, 2, 0.8, kernel=kernel)
    assert bundle.frame(np.zeros((1, 3))).status[0] == Status.OK


@pytest.mark.parametrize(("rank", "dim"), [(1, 2), (1, 3), (2, 3), (3, 5), (2, 20)])
def test_the_fewest_observations_that_span_the_rank_are_enough(rank, dim):
    data = np.random.default_rng(7).normal(size=(rank + 1, dim))
    size = np.linalg.norm(np.ptp(data, axis=0))
    bundle = PrincipalSubbundle(data, rank, 0.9 * size)
    frame = bundle.frame(data.mean(axis=0)[None])
    assert frame.status[0] == Status.OK
    edges = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)[2][:rank].T
    np.testing.assert_allclose(frame.vectors[0] @ frame.vectors[0].T, edges @ edges.T, atol=1e-10)


def test_two_observations_give_the_line_through_them():
    bundle = PrincipalSubbundle([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]], 1, 2.0)
    frame = bundle.frame([[0.5, 1.0, 1.0]])
    np.testing.assert_allclose(frame.vectors[0, :, 0], np.array([1.0, 2.0, 2.0]) / 3.0, atol=1e-14)
    # Both at distance 1.5 of the mean: the second moment is 1.5² along the line.
    np.testing.assert_allclose(frame.eigenvalues[0], [2.25, 0.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(frame.mean[0], [0.5, 1.0, 1.0], atol=1e-14)


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        ({"centering": "global"}, ValueError, "centering must be one of 'local', 'recentred', 'none'; got 'global'"),
        ({"centering": None}, ValueError, "centering must be one of 'local', 'recentred', 'none'; got None"),
        ({"kernel": "box"}, ValueError, "kernel must be one of 'auto', 'gaussian', 'compact', 'quartic'; got 'box'"),
        ({"min_density": -0.1}, ValueError, "min_density must be 0 or a positive number; got -0.1"),
        ({"min_density": "0.1"}, TypeError, "min_density must be 0 or a positive number; got '0.1'"),
        ({"min_gap": -1.0}, ValueError, "min_gap must be positive and finite; got -1.0"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be an integer >= 1 (or None for all cores); got 0"),
        ({"n_jobs": -2}, ValueError, "n_jobs must be an integer >= 1 (or None for all cores); got -2"),
        ({"n_jobs": 1.5}, TypeError, "n_jobs must be an integer >= 1 (or None for all cores); got 1.5"),
    ],
)
def test_bad_options(option, error, message):
    refuses(error, message, NORMAL, 2, 1.0, **option)


@pytest.mark.parametrize("dim", [3, 20])
def test_many_kinds_of_arrays_are_accepted(dim, tmp_path):
    exact = np.random.default_rng(1).integers(-40, 40, size=(150, dim)) / 16.0  # exact in every kind below
    np.save(tmp_path / "points.npy", exact)
    frozen = exact.copy()
    frozen.setflags(write=False)
    kinds = {
        "float64": exact,
        "float32": exact.astype(np.float32),
        "read-only": frozen,
        "memory-mapped": np.load(tmp_path / "points.npy", mmap_mode="r"),
        "Fortran order": np.asfortranarray(exact),
        "list": exact.tolist(),
        "strided": np.repeat(exact, 2, axis=1)[:, ::2],
        "cloud": Cloud(exact),
    }
    fields = {}
    for name, points in kinds.items():
        bundle = PrincipalSubbundle(points, 2, 2.0)
        queries = points[:5] if name != "cloud" else exact[:5]
        fields[name] = bundle.field(queries, queries)
        assert bundle.frame(queries).vectors.dtype == np.float64
    for name, field in fields.items():
        np.testing.assert_array_equal(field.force, fields["float64"].force, err_msg=name)
    integers = PrincipalSubbundle((16.0 * exact).astype(int), 2, 32.0)
    np.testing.assert_allclose(
        integers.field((16.0 * exact[:5]).astype(int), exact[:5]).velocity, fields["float64"].velocity, atol=1e-11
    )


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        (NORMAL[0], ValueError, "points must be a 2-D array, shape (n_points, dim); got shape (3,)"),
        (NORMAL[:, :2], ValueError, "points must have 3 coordinates per point; got shape (200, 2)"),
        (NORMAL[None], ValueError, "got shape (1, 200, 3)"),
        (np.full((2, 3), np.nan), ValueError, "points must be finite; 6 entries are NaN or infinite, first in row 0"),
        (NORMAL.astype(object), TypeError, "points must hold real numbers; got an array of dtype object"),
    ],
)
def test_frame_refuses_bad_points(points, error, message):
    with pytest.raises(error, match=re.escape(message)):
        PrincipalSubbundle(NORMAL, 2, 1.0).frame(points)


@pytest.mark.parametrize(
    ("points", "covectors", "error", "message"),
    [
        (NORMAL[0], NORMAL[0], ValueError, "must both have shape (batch, 3); got (3,) and (3,)"),
        (NORMAL[:5], NORMAL[:4], ValueError, "must both have shape (batch, 3); got (5, 3) and (4, 3)"),
        (NORMAL[:5, :2], NORMAL[:5, :2], ValueError, "must both have shape (batch, 3); got (5, 2) and (5, 2)"),
        (NORMAL[:5].astype(str), NORMAL[:5], TypeError, "points must hold real numbers; got an array of dtype <U"),
        (NORMAL[:5], NORMAL[:5] + 1j, TypeError, "covectors must hold real numbers; got an array of dtype complex128"),
        (NORMAL[:2], [[1.0, 2.0, 3.0], [1.0]], ValueError, "covectors must be an array; got rows of unequal length"),
    ],
)
def test_field_refuses_bad_arrays(points, covectors, error, message):
    with pytest.raises(error, match=re.escape(message)):
        PrincipalSubbundle(NORMAL, 2, 1.0).field(points, covectors)


def test_attributes_and_repr():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bundle = PrincipalSubbundle(NORMAL, 2, 1.0, kernel="compact")
    assert isinstance(bundle, Subbundle)
    assert (bundle.ambient_dim, bundle.rank, bundle.length_scale) == (3, 2, 1.0)
    assert repr(bundle) == (
        "PrincipalSubbundle(200 points in R^3, rank=2, bandwidth=1, centering='local', kernel='compact')"
    )
    landmarks = bundle.landmarks(50)
    assert landmarks.shape == (50, 3)
    np.testing.assert_array_equal(landmarks, bundle.landmarks(50))
    # Landmarks are means of observations, so they lie within the data, nearer its centre.
    assert np.linalg.norm(landmarks, axis=1).mean() < np.linalg.norm(NORMAL, axis=1).mean()
