"""Bad input is refused with a message: what was required, what came, what to write instead."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Kendall, Product, Sphere


@pytest.mark.parametrize("space", [Sphere(2), Hyperbolic(2)], ids=repr)
def test_wrong_number_of_coordinates(space, rng):
    good = space.random_point(4, rng)
    with pytest.raises(ValueError, match=r"point must have shape \(\.\.\., 3\) for .*; got shape \(4, 2\)"):
        space.log(good[:, :2], good[0])
    with pytest.raises(ValueError, match=r"base_point must have shape"):
        space.exp(good, good[0, :2])
    with pytest.raises(ValueError, match=r"points must have shape"):
        space.validate(good[:, :2])


def test_the_message_for_flat_matrices_gives_the_reshape():
    with pytest.raises(ValueError, match=r"for SPD\(n=3\); got shape \(5, 9\). Write points.reshape\(\*points.shape"):
        SPD(3).validate(np.ones((5, 9)))
    with pytest.raises(ValueError, match=r"tangent_vec must have shape \(\.\.\., 2, 2\) for SO\(n=2\)"):
        SO(2).exp(np.zeros(3), np.eye(2))


def test_complex_points(rng):
    with pytest.raises(TypeError, match="point must hold real numbers; got an array of dtype complex128"):
        Sphere(2).projection(np.ones(3) * 1j)


def test_mixed_shapes():
    with pytest.raises(
        ValueError, match=r"points must be one array .* \(2, 2\); got items of shapes \(2, 2\), \(3, 3\)"
    ):
        SPD(2).validate([np.eye(2), np.eye(3)])
    with pytest.raises(ValueError, match=r"one array of points of shape \(3,\); got items of shapes \(2,\), \(3,\)"):
        Sphere(2).validate([[1.0, 0.0, 0.0], [1.0, 0.0]])


def test_not_finite(rng):
    points = Sphere(2).random_point(3, rng)
    points[1, 2] = np.nan
    with pytest.raises(ValueError, match="points must be finite; 1 entries are NaN or infinite, first in row 1"):
        Sphere(2).validate(points)


def test_points_off_the_sphere(rng):
    points = Sphere(2).random_point(5, rng)
    points[2] *= 1.5
    points[4] *= 0.9
    with pytest.raises(ValueError) as caught:
        Sphere(2).validate(points, "observations")
    message = str(caught.value)
    assert "observations must be unit vectors of R^3; the worst of 5, row 2, is off by 0.5 and 2 are off" in message
    assert "write observations = space.projection(observations)" in message
    assert_array_equal(Sphere(2).validate(Sphere(2).projection(points)).shape, (5, 3))


def test_the_centre_has_no_projection():
    assert np.isnan(Sphere(2).projection(np.zeros(3))).all()
    with pytest.raises(ValueError, match="row 0, is off by 1"):
        Sphere(2).validate(np.zeros((1, 3)))
    coincident = np.ones((1, 4, 2))
    assert np.isnan(Kendall(4, 2).projection(coincident)).all()
    with pytest.raises(ValueError, match=r"must be pre-shapes: 4 x 2 matrices .* row 0, is off by nan"):
        Kendall(4, 2).validate(coincident)


def test_points_off_the_hyperboloid():
    with pytest.raises(ValueError, match=r"on the hyperboloid x_0 = sqrt\(1 \+ x_1\^2 \+ ... \+ x_2\^2\) of R\^3"):
        Hyperbolic(2).validate(np.array([[0.0, 1.0, 1.0]]))
    assert Hyperbolic(2).violation(np.array([-1.0, 0.0, 0.0])) == 2.0


def test_not_symmetric():
    matrices = np.stack([np.eye(2), [[1.0, 0.25], [0.0, 1.0]]])
    with pytest.raises(ValueError, match=r"matrix 1 is not symmetric: entries across its diagonal differ by 0.25"):
        SPD(2).validate(matrices)


def test_not_positive_definite():
    matrices = np.stack([np.eye(2), np.diag([1.0, -0.5]), np.diag([1.0, 0.0])])
    with pytest.raises(ValueError) as caught:
        SPD(2).validate(matrices)
    message = str(caught.value)
    assert "2 of 3 are not positive definite, the worst is matrix 1 with smallest eigenvalue -0.5" in message
    assert "space.projection(points)" in message
    assert_array_equal(SPD(2).belongs(matrices), [True, False, False])
    assert SPD(2).belongs(SPD(2).projection(matrices)).all()
    assert SPD(2).belongs(SPD(2).projection(np.zeros((2, 2))))


def test_indefinite_matrices_give_nan_in_their_own_row():
    matrices = np.stack([np.eye(2), np.diag([1.0, -0.5])])
    logs = SPD(2).log(matrices, 2.0 * np.eye(2))
    assert np.isfinite(logs[0]).all()
    assert np.isnan(logs[1]).any()
    back = SPD(2).log(2.0 * np.eye(2), matrices)
    assert np.isfinite(back[0]).all()
    assert np.isnan(back[1]).all()


def test_reflections_are_not_rotations():
    with pytest.raises(ValueError, match=r"rotations: orthogonal 3 x 3 matrices with determinant \+1; .* off by 2"):
        SO(3).validate(np.diag([1.0, 1.0, -1.0])[None])


def test_rounded_observations_pass(rng):
    """Six decimals in a text file, or single precision."""
    for space in (Sphere(2), SO(3), Kendall(4, 2), SPD(2)):
        points = space.random_point(20, rng)
        space.validate(points.astype(np.float32))
    # Each of three coordinates is off by at most 5e-7; the length by at most √3 times that, on average far less.
    Sphere(2).validate(np.round(Sphere(2).random_point(20, rng), 6))


def test_a_factor_is_named():
    space = Product(Sphere(2), SPD(2))
    points = space.join(np.array([[1.0, 0.0, 0.0]]), -np.eye(2))
    with pytest.raises(
        ValueError, match=r"factor 1 of Product\(Sphere\(dim=2\), SPD\(n=2\)\): points must be symmetric"
    ):
        space.validate(points)
    assert not space.belongs(points).any()
    with pytest.raises(ValueError, match="join needs one array for each of the 2 factors; got 1"):
        space.join(np.zeros(3))
    with pytest.raises(ValueError, match=r"part 1 must have shape \(..., 2, 2\) for SPD\(n=2\); got shape \(4,\)"):
        space.join(np.zeros(3), np.zeros(4))


def test_sizes():
    with pytest.raises(ValueError, match="dim must be an integer >= 1; got 0"):
        Sphere(0)
    with pytest.raises(TypeError, match=r"n must be an integer >= 1; got 2\.5"):
        SPD(2.5)
    with pytest.raises(ValueError, match="n must be an integer >= 2; got 1"):
        SO(1)
    with pytest.raises(ValueError, match="landmarks must be an integer >= 3; got 2"):
        Kendall(2, 2)
    with pytest.raises(ValueError, match=r"dim must be an integer in 2..4 \(one coordinate leaves no rotation"):
        Kendall(4, 5)
    with pytest.raises(ValueError, match="the number of factors must be an integer >= 1; got 0"):
        Product()
    with pytest.raises(TypeError, match=r"factor 1 must be a space, such as Sphere\(2\)"):
        Product(Euclidean(2), "sphere")


def test_spaces_are_frozen():
    for space in (Sphere(2), Kendall(3, 2), Product(Sphere(2))):
        with pytest.raises(AttributeError):
            space.dim = 5
