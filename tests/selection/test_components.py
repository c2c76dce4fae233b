import numpy as np
import pytest

from subbundle.selection.components import (
    all_components,
    chosen_components,
    components_above_noise,
    first_components,
    principal_components,
    steps_kept,
)
from subbundle.selection.tuning import FEW_FEATURES


def in_noise(n, dim, signal, noise, seed=0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((dim, len(signal))))[0]
    return (rng.standard_normal((n, len(signal))) * signal) @ basis.T + noise * rng.standard_normal((n, dim)), basis


@pytest.mark.parametrize(("n", "dim"), [(3000, 100), (500, 100), (150, 300)])
def test_signal_is_kept_and_noise_is_not(n, dim):
    points, basis = in_noise(n, dim, np.array([1.0, 0.8, 0.6, 0.5]), 0.05)
    found = components_above_noise(points, at_least=1)
    assert found.axes.shape == (dim, 4)
    # Axes turn towards the noise by about σ √(d/N) over the signal, here at most 0.05 · √2/0.5.
    assert np.linalg.norm(basis - found.axes @ (found.axes.T @ basis), axis=0).max() < 0.2
    # Mean of d − 4 eigenvalues of N observations: a relative error of √(2/(N d)), twice over; four were lost to the
    # signal.
    assert found.noise == pytest.approx(0.05, rel=0.06)


def test_pure_noise_keeps_only_what_was_asked_for():
    points, _ = in_noise(2000, 50, np.zeros(1), 1.0)
    assert components_above_noise(points, at_least=3).axes.shape == (50, 3)


def test_clean_data_keeps_all_it_spans():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 40)) * np.geomspace(1.0, 1e-3, 40)
    found = components_above_noise(points, at_least=1)
    assert found.axes.shape == (40, 6)
    # Nothing is left out, so the way there and back is the identity to rounding.
    np.testing.assert_allclose(found.leave(found.enter(points)), points, atol=1e-12)


def test_the_axes_are_orthonormal_and_rows_are_independent_to_the_bit():
    points, _ = in_noise(400, 30, np.array([1.0, 0.5]), 0.02)
    found = first_components(points, 2)
    np.testing.assert_allclose(found.axes.T @ found.axes, np.eye(2), atol=1e-12)
    whole = found.enter(points)
    np.testing.assert_array_equal(np.concatenate([found.enter(points[:7]), found.enter(points[7:])]), whole)
    assert found.enter(points[:0]).shape == (0, 2)
    assert found.leave(whole[:0]).shape == (0, 30)


def test_all_components_change_nothing():
    points = np.random.default_rng(0).standard_normal((5, 3))
    found = all_components(points)
    np.testing.assert_array_equal(found.enter(points), points)
    np.testing.assert_array_equal(found.leave(points), points)
    assert found.noise == 0.0


@pytest.mark.parametrize(("n", "dim"), [(400, 30), (40, 90)])
def test_order_and_layout_of_the_rows_do_not_matter_to_the_bit(n, dim):
    points, _ = in_noise(n, dim, np.array([1.0, 0.5, 0.3]), 0.02)
    found = principal_components(points).first(5)
    shuffled = np.random.default_rng(1).permutation(points)
    for other in (shuffled, np.asfortranarray(points), np.asfortranarray(shuffled), points[:, ::-1][:, ::-1]):
        again = principal_components(other).first(5)
        np.testing.assert_array_equal(again.axes, found.axes)
        np.testing.assert_array_equal(again.enter(np.asfortranarray(points)), found.enter(points))


def test_components_that_do_not_distinguish_neighbours_are_left_out():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.0, 1.0, (500, 2)) @ np.linalg.qr(rng.standard_normal((40, 2)))[0].T
    # Two dimensions of spacing 2/√500 = 0.09, and wiggles a hundredth of that in all coordinates.
    assert principal_components(points + 1e-3 * rng.standard_normal(points.shape)).resolved(2) == 2
    # Wiggles as wide as the spacing matter, all of them.
    assert principal_components(points + 0.1 * rng.standard_normal(points.shape)).resolved(2) > 30


def test_numbers_too_large_to_square_are_refused():
    points = 1e300 * np.random.default_rng(0).standard_normal((50, 6))
    with pytest.raises(ValueError, match="bounding box with a diagonal between"):
        components_above_noise(points, at_least=1)


def test_the_fraction_of_steps_kept_is_not_that_of_the_variance():
    # Harmonics j of amplitude 1/j: variances fall like 1/j², steps along the curve are the same in all.
    t = np.linspace(0.0, 2.0 * np.pi, 2000, endpoint=False)[:, None]
    harmonics = np.arange(1, 21)
    curve = np.concatenate([np.cos(t * harmonics) / harmonics, np.sin(t * harmonics) / harmonics], axis=1)
    kept = first_components(curve, 10)
    assert kept.kept > 0.9
    # Five of twenty harmonics; at steps of 2π/2000 the twentieth is straight within 1e-3.
    assert steps_kept(curve, kept, 1) == pytest.approx(0.25, rel=5e-3)


def test_components_are_left_out_above_a_number_of_features():
    for dim, kept in ((FEW_FEATURES, FEW_FEATURES), (FEW_FEATURES + 1, 2)):
        points, _ = in_noise(400, dim, np.array([1.0, 0.8]), 0.02)
        found = chosen_components(points, 1, "auto", lambda spectrum: spectrum.above_noise())
        assert found.axes.shape == (dim, kept)
        # The mean of the eigenvalues left out: 400 observations in three directions give it to 4 %.
        assert found.noise == (0.0 if kept == dim else pytest.approx(0.02, rel=0.1))


@pytest.mark.parametrize(("reduce_dim", "kept"), [(None, 7), (5, 5), ("auto", 4)])
def test_a_shape_has_at_least_one_component_more_than_its_dimension(reduce_dim, kept):
    points, _ = in_noise(300, 7, np.array([1.0, 0.8]), 0.02)
    assert chosen_components(points, 3, reduce_dim, lambda spectrum: spectrum.above_noise()).axes.shape[1] == kept


def test_a_shape_of_full_dimension_is_flat_in_one_more():
    points = np.random.default_rng(0).standard_normal((50, 3))
    found = chosen_components(points, 3, None, lambda spectrum: 0)
    np.testing.assert_array_equal(found.axes, np.eye(3, 4))
    np.testing.assert_array_equal(found.leave(found.enter(points)), points)


@pytest.mark.parametrize("wrong", ["all", 1, 8])
def test_other_numbers_of_components_are_refused(wrong):
    with pytest.raises(ValueError, match=r"reduce_dim must be (one of 'auto'|an integer in 2..7)"):
        chosen_components(np.random.default_rng(0).standard_normal((50, 7)), 1, wrong, lambda spectrum: 1)
