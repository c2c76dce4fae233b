"""Components against single linkage, which joins clusters at the same distance by another algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

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
