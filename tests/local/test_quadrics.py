"""Local quadratic fits against surfaces whose curvature is known."""

import numpy as np
import pytest

from subbundle import datasets
from subbundle.local.quadrics import QuadricFitter


def test_a_quadric_is_found_exactly():
    rng = np.random.default_rng(0)
    tau = rng.uniform(-1.0, 1.0, (400, 2))
    # Graph of a quadratic form with values in two normal directions.
    normal = np.column_stack([0.3 * tau[:, 0] ** 2 - 0.2 * tau[:, 0] * tau[:, 1], 0.1 * tau[:, 1] ** 2])
    points = np.column_stack([tau, normal])
    fits = QuadricFitter(points, 2).fit(np.zeros((1, 4)) + 1e-3, 0.2, steps=20, tol=1e-12)
    # The true surface passes within 1e-6 of the start; fits are exact but for the tilt of their tangent space, which
    # the quadratic term of a graph over a tilted plane has only to third order: (curvature x reach)^2 x tilt.
    frame, form = fits.frames[0], fits.forms[0]
    second = {(0, 0): [0, 0, 0.6, 0], (0, 1): [0, 0, -0.2, 0], (1, 1): [0, 0, 0, 0.2]}
    for pair, (a, e) in enumerate([(0, 0), (0, 1), (1, 1)]):
        expected = sum(
            frame[i, a] * frame[j, e] * np.array(second[min(i, j), max(i, j)]) for i in range(2) for j in range(2)
        )
        np.testing.assert_allclose(form[pair], expected, atol=5e-3)
    np.testing.assert_allclose(frame.T @ frame, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("n", [20000])
def test_the_error_on_a_sphere_falls_with_the_fourth_power(n):
    points = datasets.sphere(n).points
    fitter = QuadricFitter(points, 2)
    queries = points[:200]
    widths = np.array([0.15, 0.2, 0.3])
    errors = [np.abs(np.linalg.norm(fitter.fit(queries, a, steps=6).points, axis=1) - 1.0).mean() for a in widths]
    order = np.polyfit(np.log(widths), np.log(errors), 1)[0]
    # Theory: 4. The finite sample adds a part that does not fall.
    assert 3.2 < order < 4.8


def test_curvature_of_a_sphere():
    fits = QuadricFitter(datasets.sphere(20000).points, 2).fit(np.eye(3), 0.15, steps=6)
    for row in range(3):
        # II(u, u) = -x |u|^2 on the unit sphere; the bias is a part (a/R)^2 of it.
        np.testing.assert_allclose(fits.forms[row, 0], -fits.points[row], atol=0.05)
        np.testing.assert_allclose(fits.forms[row, 1], 0.0, atol=0.05)


def test_too_few_neighbours_are_said():
    points = np.random.default_rng(0).standard_normal((50, 3))
    fits = QuadricFitter(points, 2).fit(points[:1] + 0.0, 1e-6, steps=3)
    assert fits.status[0] == 1
    np.testing.assert_allclose(fits.points, points[:1])
