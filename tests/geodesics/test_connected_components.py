"""Components against single linkage, which joins clusters at the same distance by another algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.stats import norm

import subbundle as sb
from subbundle.geodesics.connected_components import connected_components


@pytest.mark.parametrize("dim", [2, 6])
def test_components_are_those_of_single_linkage(dim):
    """Clumps of 30 are connected by their nearest neighbours; chains of single points between some of them are not."""
    rng = np.random.default_rng(dim)
    clumps = [rng.normal(size=(30, dim)) * 0.3 + 6.0 * i * np.eye(dim)[0] for i in range(6)]
    chains = [np.linspace(clumps[i].mean(axis=0), clumps[i + 1].mean(axis=0), 8) for i in (0, 3)]
    bundle = sb.PrincipalSubbundle(np.concatenate(clumps + chains), rank=1, bandwidth=0.4, min_density=0.05)
    found = connected_components(bundle)
    expected = fcluster(linkage(found.representatives, "single"), t=float(found.reach), criterion="distance")
    pairs = {*zip(expected.tolist(), found.representative_labels.tolist(), strict=True)}
    assert len(pairs) == len(np.unique(expected)) == found.n_components > 1


def test_without_a_least_density_a_bundle_is_defined_wherever_an_observation_is_in_reach():
    angle = np.linspace(0.0, 2.0 * np.pi, 200, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    off = np.array([[1.12, 0.0]])
    ended = sb.PrincipalSubbundle(circle, rank=1, bandwidth=0.04).frame(off)
    frame = sb.PrincipalSubbundle(circle, rank=1, bandwidth=0.04, min_density=0.0).frame(off)
    assert ended.status[0] == sb.Status.LEFT_SUPPORT
    assert frame.status[0] == sb.Status.OK
    np.testing.assert_allclose(np.abs(frame.vectors[0, :, 0]), [0.0, 1.0], atol=1e-12)  # by symmetry


@pytest.mark.parametrize("min_density", [0.01, 0.05, 0.1])
def test_the_reach_is_where_half_planes_leave_the_least_density_between_them(min_density):
    """Two squares are joined below the gap g with 2 Φ(−g / 2a) = min_density, and not above it."""
    bandwidth = 0.1
    gap = -2.0 * bandwidth * float(norm.ppf(0.5 * min_density))
    grid = np.stack(np.meshgrid(*[np.arange(40) * 0.025] * 2), axis=-1).reshape(-1, 2)
    for factor, expected in ((0.8, 1), (1.2, 2)):
        # Means of boxes of one bandwidth stand for the observations, which the factors allow for.
        both = np.concatenate([grid, grid + [0.975 + factor * gap, 0.0]])
        found = connected_components(sb.PrincipalSubbundle(both, 1, bandwidth, min_density=min_density))
        np.testing.assert_allclose(found.reach, gap)
        assert found.n_components == expected


def test_the_largest_component_comes_first_and_points_far_from_all_have_none():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    sizes = [50, 200, 100]
    points = np.concatenate([rng.normal(size=(n, 2)) * 0.5 + c for n, c in zip(sizes, centres, strict=True)])
    found = connected_components(sb.PrincipalSubbundle(points, 1, 0.5))
    np.testing.assert_array_equal(found.labels, np.repeat([2, 0, 1], sizes))
    np.testing.assert_array_equal(found.label([*centres, [9.0, 9.0], [1e200, 0.0]]), [2, 0, 1, -1, -1])


def test_on_a_sphere_the_gap_is_an_angle():
    """Two rings around the pole, of 0.3 and of 0.3 + g radians; chords are shorter than angles."""
    turn = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)

    def ring(polar):
        around = np.sin(polar) * np.array([np.cos(turn), np.sin(turn)])
        return np.column_stack([*around, np.full(400, np.cos(polar))])

    bandwidth = 0.2
    gap = -2.0 * bandwidth * float(norm.ppf(0.025))
    for factor, expected in ((0.9, 1), (1.1, 2)):
        points = np.concatenate([ring(0.8), ring(0.8 + factor * gap)])
        bundle = sb.RiemannianSubbundle(points, 1, bandwidth, space=sb.spaces.Sphere(2))
        assert connected_components(bundle).n_components == expected


def test_with_a_bandwidth_that_varies_the_reach_does_too():
    """Lines 0.5 apart: joined where the bandwidth is 0.3, separate where it is 0.05."""
    x = np.linspace(0.0, 1.0, 300)
    wide, narrow = (np.concatenate([np.column_stack([x + at, 0 * x + y]) for y in (0.0, 0.5)]) for at in (0.0, 9.0))
    local = sb.LocalBandwidth(np.array([[0.5, 0.25], [9.5, 0.25]]), np.array([0.3, 0.05]), 1.0)
    found = connected_components(sb.PrincipalSubbundle(np.concatenate([wide, narrow]), 1, local))
    assert found.n_components == 3
    assert len(np.unique(found.labels[:600])) == 1
    assert found.reach.min() < 0.3 < 0.5 < found.reach.max()


def test_a_bundle_in_closed_form_has_none():
    with pytest.raises(TypeError, match="must be learned from data"):
        connected_components(sb.bundles.SphereTangent(2))
