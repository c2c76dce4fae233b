"""Newton's rotation against singular values, computed independently."""

from __future__ import annotations

import numpy as np

from subbundle.spaces.linalg import nearest_rotation, nearest_rotations


def test_rotations_and_gaps_are_those_of_the_singular_values():
    """From near the best rotation to far from it, reflections included; to rounding over the gap."""
    rng = np.random.default_rng(0)
    near = np.eye(3) + 0.3 * rng.standard_normal((2000, 3, 3))
    matrices = np.concatenate([near, rng.standard_normal((2000, 3, 3)), 1e-150 * near[:5], 1e150 * near[:5]])
    rotations, gaps = nearest_rotation(matrices)
    left, values, right = np.linalg.svd(matrices)
    sign = np.sign(np.linalg.det(left @ right))
    expected = np.einsum("nij,nj,njk->nik", left, np.stack([np.ones_like(sign), np.ones_like(sign), sign], 1), right)
    exact = values[:, 1] + sign * values[:, 2]
    size = values[:, 0]
    off = np.abs(rotations - expected).max(axis=(1, 2))
    assert (off <= 1e-14 * size / exact).all()
    np.testing.assert_allclose(gaps / size, exact / size, atol=1e-8)  # half the digits where the gap is small
    np.testing.assert_allclose(np.linalg.det(rotations), 1.0, atol=1e-14)


def test_most_matrices_of_aligned_shapes_need_no_singular_values():
    matrices = np.eye(3) + 0.15 * np.random.default_rng(1).standard_normal((1000, 3, 3))
    gaps = np.empty(1000)
    nearest_rotations(matrices, np.empty_like(matrices), gaps)
    assert np.isfinite(gaps).mean() > 0.99


def test_where_no_rotation_is_best_the_gap_is_nil_and_nan_stays_nan():
    matrices = np.stack([np.diag([1.0, 0.0, 0.0]), np.diag([1.0, 0.5, -0.5]), np.full((3, 3), np.nan)])
    rotations, gaps = nearest_rotation(matrices)
    np.testing.assert_allclose(gaps[:2], 0.0, atol=1e-15)
    assert np.isnan(gaps[2])
    assert np.isnan(rotations[2]).all()
