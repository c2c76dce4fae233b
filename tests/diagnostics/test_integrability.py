import numpy as np
import pytest

from subbundle import PrincipalSubbundle, datasets, ridge_project
from subbundle.diagnostics import non_integrability
from subbundle.diagnostics.words import NOT_A_SURFACE


def horizontal_discs(count, each, radius, twist, seed=0):
    """Points on straight Heisenberg-horizontal curves from ``count`` places, [X, Y] = twist ∂z."""
    rng = np.random.default_rng(seed)
    starts = np.repeat(rng.uniform(-1.0, 1.0, (count, 3)), each, axis=0)
    angle, way = rng.uniform(0.0, 2.0 * np.pi, len(starts)), radius * np.sqrt(rng.uniform(0.0, 1.0, len(starts)))
    u, v = way * np.cos(angle), way * np.sin(angle)
    lift = 0.5 * twist * (starts[:, 0] * v - starts[:, 1] * u)
    return starts + np.column_stack([u, v, lift]) + 0.004 * rng.standard_normal(starts.shape)


def on_the_ridge(points, rank, bandwidth):
    bundle = PrincipalSubbundle(points, rank, bandwidth)
    ridge = ridge_project(bundle, points[:: len(points) // 300])
    return non_integrability(bundle, ridge.points[np.isin(ridge.status, (0, 5))])


@pytest.mark.parametrize("noise", [0.003, 0.03])
def test_surfaces_are_integrable(noise):
    assert on_the_ridge(datasets.torus(3000, noise=noise).points, 2, 0.15) < 0.7 * NOT_A_SURFACE
    assert on_the_ridge(datasets.s_surface(3000, noise=noise).points, 2, 0.25) < 0.7 * NOT_A_SURFACE


def test_horizontal_curves_of_the_heisenberg_group_are_not():
    points = horizontal_discs(100, 80, 0.4, 3.0)
    found = on_the_ridge(points, 2, 0.3)
    assert found > 2.0 * NOT_A_SURFACE
    # The same discs made parallel lie at random heights and are no surface either, but turn less.
    assert found > 1.3 * on_the_ridge(horizontal_discs(100, 80, 0.4, 0.0), 2, 0.3)


def test_lines_always_fit_together():
    data = datasets.curve_in_plane(500, noise=0.02)
    assert non_integrability(PrincipalSubbundle(data.points, 1, 0.1), data.clean[:50]) == 0.0
