import numpy as np
import pytest

from subbundle import PrincipalSubbundle, datasets, ridge_project
from subbundle.cloud import Cloud
from subbundle.diagnostics import non_integrability, twist
from subbundle.diagnostics.integrability import cloud_twist, fit_turns
from subbundle.diagnostics.tuning import NOT_A_SURFACE
from subbundle.selection.ladder import mean_gaps


def horizontal_discs(count, each, radius, c, seed=0):
    """Points on straight Heisenberg-horizontal segments from ``count`` points, [X, Y] = c ∂z."""
    rng = np.random.default_rng(seed)
    starts = np.repeat(rng.uniform(-1.0, 1.0, (count, 3)), each, axis=0)
    angle, way = rng.uniform(0.0, 2.0 * np.pi, len(starts)), radius * np.sqrt(rng.uniform(0.0, 1.0, len(starts)))
    u, v = way * np.cos(angle), way * np.sin(angle)
    lift = 0.5 * c * (starts[:, 0] * v - starts[:, 1] * u)
    return starts + np.column_stack([u, v, lift]) + 0.004 * rng.standard_normal(starts.shape)


def at_its_scale(points, rank=2):
    cloud = Cloud(points)
    return cloud_twist(cloud, rank, *mean_gaps(cloud, rank, None))


def test_brackets_of_exact_planes():
    rng = np.random.default_rng(0)
    points = np.concatenate([np.zeros((1, 3)), rng.uniform(-0.1, 0.1, (400, 3))])
    x, y, one, nil = points[:, 0], points[:, 1], np.ones(len(points)), np.zeros(len(points))
    c = 1.5
    planes = np.stack([np.column_stack([one, nil, -0.5 * c * y]), np.column_stack([nil, one, 0.5 * c * x])], axis=2)
    found = fit_turns(points, np.linalg.qr(planes)[0], one, np.array([0]), 0.1)
    # [X, Y] = c ∂z; planes rotate by cR/2 = 0.075 within R, and the linear fit misses terms of second order of that.
    assert np.linalg.norm(found.brackets[0, 0, 1]) == pytest.approx(c, rel=0.02)
    np.testing.assert_allclose(found.brackets[0, 0, 1], -found.brackets[0, 1, 0])
    # The tangent planes of concentric spheres are integrable: brackets vanish however the planes rotate.
    outward = points + np.array([0.0, 0.0, 1.0])
    normals = outward / np.linalg.norm(outward, axis=1, keepdims=True)
    tangents = np.linalg.svd(normals[:, :, None])[0][:, :, 1:]
    flat = fit_turns(points, tangents, one, np.array([0]), 0.1)
    assert np.abs(flat.brackets).max() < 0.02


@pytest.mark.parametrize("noise", [0.003, 0.03])
def test_surfaces_are_integrable(noise):
    assert at_its_scale(datasets.torus(2000, noise=noise).points).angle < 0.5 * NOT_A_SURFACE
    assert at_its_scale(datasets.s_surface(2000, noise=noise).points).angle < 0.5 * NOT_A_SURFACE


def test_horizontal_curves_of_the_heisenberg_group_are_not_but_parallel_fragments_are():
    found = at_its_scale(horizontal_discs(80, 60, 0.4, 2.0))
    assert found.angle > 1.5 * NOT_A_SURFACE
    assert found.angle == pytest.approx(np.sqrt(found.squared - 2.0 * found.error))
    # The same segments made parallel, at random heights: tilts of planes are uncorrelated.
    assert at_its_scale(horizontal_discs(80, 60, 0.4, 0.0)).angle < 0.5 * NOT_A_SURFACE


def test_turning_and_mirroring_do_not_matter():
    points = horizontal_discs(60, 40, 0.4, 2.0)
    bundle = PrincipalSubbundle(points, 2, 0.05)
    ridge = ridge_project(bundle, points)
    seen = ridge.points[np.isin(ridge.status, (0, 5))]
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    turn[:, 0] *= -np.sign(np.linalg.det(turn))
    mirrored = twist(PrincipalSubbundle(points @ turn, 2, 0.05), seen @ turn)
    here = twist(bundle, seen)
    # Rounding of rotated coordinates; a pair on the border of 2R or 5R may fall on the other side.
    assert mirrored.squared == pytest.approx(here.squared, rel=1e-3)
    assert non_integrability(bundle, seen) == here.angle


def test_lines_are_integrable_and_few_points_give_no_estimate():
    data = datasets.curve_in_plane(500, noise=0.02)
    assert non_integrability(PrincipalSubbundle(data.points, 1, 0.1), data.clean[:50]) == 0.0
    sphere = datasets.sphere(300)
    assert np.isnan(non_integrability(PrincipalSubbundle(sphere.points, 2, 0.3), sphere.clean[:20]))
