import numpy as np
import pytest

from subbundle import SubbundleWarning, datasets
from subbundle.bundles import PrincipalSubbundle
from subbundle.bundles.ridge import carry_to_ridge
from subbundle.geodesics import geodesic
from subbundle.selection import choose_bandwidth
from subbundle.selection.bandwidth import compare_bandwidths
from subbundle.selection.ladder import flatness


def error_at(data, bandwidth):
    bundle = PrincipalSubbundle(data.points, rank=2, bandwidth=bandwidth)
    carried = carry_to_ridge(bundle, data.points[::5], tol=1e-3)
    return float(np.sqrt(np.mean(data.distance(carried.points) ** 2)))


@pytest.mark.parametrize(
    "data",
    [datasets.torus(3000, noise=0.03, seed=1), datasets.s_surface(3000, noise=0.1, seed=2)],
    ids=["torus", "s-surface"],
)
def test_the_error_is_near_the_least_that_any_bandwidth_gives(data):
    choice = choose_bandwidth(data.points, 2)
    assert choice.method == "split-sample risk"
    oracle = min(error_at(data, bandwidth) for bandwidth in choice.bandwidth * 2.0 ** np.arange(-1.0, 1.25, 0.25))
    reached = error_at(data, choice.bandwidth)
    # The rule is meant to come within 15 % of the oracle; one cloud may be worse off than the median of many.
    assert reached <= 1.3 * oracle
    # Its estimate of the error does not use the truth; half to double is what a grid of ratio 1.2 can resolve.
    assert 0.5 * reached < choice.error < 2.0 * reached


def test_scaling_shifting_and_shuffling_do_not_matter():
    points = datasets.torus(1500, noise=0.03, seed=0).points
    width = choose_bandwidth(points, 2).bandwidth
    shuffled = choose_bandwidth(np.random.default_rng(0).permutation(points), 2)
    assert shuffled.bandwidth == width
    # Rounding of the shifted coordinates moves the risks by 1e-13 and the minimum of their parabola as little.
    assert choose_bandwidth(8.0 * points + 3.0, 2).bandwidth == pytest.approx(8.0 * width, rel=1e-8)


def test_small_clouds_and_noise_get_a_width_with_enough_neighbours():
    rng = np.random.default_rng(0)
    small = rng.standard_normal((20, 3))
    with pytest.warns(
        SubbundleWarning, match="at none do most of the 20 distinct observations have a ridge of dimension 2"
    ):
        choice = choose_bandwidth(small, 2)
    assert choice.method == "neighbour distance"
    assert np.isnan(choice.error)
    distances = np.sort(np.linalg.norm(small[:, None] - small[None], axis=2), axis=1)
    assert choice.bandwidth == pytest.approx(np.median(distances[:, 12]), rel=1e-12)
    # Twenty copies of each of ten points: most distances to the neighbours are zero.
    copies = np.repeat(rng.standard_normal((4, 3)), 20, axis=0)
    with pytest.warns(SubbundleWarning, match="at none do most of the 4 distinct observations"):
        assert choose_bandwidth(copies, 2).bandwidth > 0.0


def test_the_subspaces_get_a_bandwidth_near_their_own_best():
    data = datasets.torus(3000, noise=0.03, seed=1)
    choice = choose_bandwidth(data.points, 2, purpose="tangents")
    ring = data.clean[:400] * [1.0, 1.0, 0.0]
    normals = data.clean[:400] - ring / np.linalg.norm(ring, axis=1, keepdims=True)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)

    def angle(bandwidth):
        vectors = PrincipalSubbundle(data.points, 2, bandwidth).frame(data.clean[:400]).vectors
        return float(np.sqrt(np.mean(np.einsum("nd,ndk->nk", normals, vectors) ** 2) * 2.0))

    reached = angle(choice.bandwidth)
    # As for the ridge: within 15 % is meant, one cloud may be worse off.
    assert reached <= 1.3 * min(
        angle(choice.bandwidth * factor) for factor in (0.5, 0.6, 0.7, 0.85, 1.2, 1.4, 1.7, 2.0)
    )
    assert 0.5 * reached < choice.error < 2.0 * reached


def test_geodesics_get_a_bandwidth_near_their_own_best():
    data = datasets.torus(2500, noise=0.03, seed=4)
    choice = choose_bandwidth(data.points, 2, purpose="geodesics")
    angles = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, 24)
    # The outer equator and the meridians are geodesics: from the equator straight on, or over the tube to its top.
    start = 1.4 * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(24)])
    along = np.column_stack([-np.sin(angles), np.cos(angles), np.zeros(24)])
    along[12:] = [0.0, 0.0, 1.0]
    ends = np.empty((24, 3))
    turn = angles[:12] + 0.4 * np.pi / 2.0 / 1.4
    ends[:12] = 1.4 * np.column_stack([np.cos(turn), np.sin(turn), np.zeros(12)])
    ends[12:] = start[12:] / 1.4 + [0.0, 0.0, 0.4]

    def error(bandwidth):
        bundle = PrincipalSubbundle(data.points, 2, bandwidth)
        base = carry_to_ridge(bundle, start, tol=1e-3).points
        vectors = bundle.frame(base).vectors
        covectors = np.einsum("ndk,nek,ne->nd", vectors, vectors, along)
        found = geodesic(bundle, base, covectors, length=0.4 * np.pi / 2.0, n_points=2, tol=1e-4).end_points
        return float(np.linalg.norm(found - ends, axis=1).mean())

    # Two dozen geodesics on one cloud; the median over many clouds is meant to be within 15 %.
    assert error(choice.bandwidth) <= 1.5 * min(
        error(choice.bandwidth * factor) for factor in (0.5, 0.7, 0.85, 1.2, 1.4, 2.0)
    )


def test_the_gap_rule_finds_the_largest_mean_gap():
    points = datasets.torus(1500, noise=0.03, seed=0).points
    choice = choose_bandwidth(points, 2, method="gap")
    assert choice.method == "eigenvalue gap"

    def gap(bandwidth):
        bundle = PrincipalSubbundle(points, 2, bandwidth)
        return bundle.frame(bundle.landmarks(200)).gap.mean()

    # Between bandwidths of the grid a parabola through three of them is accurate to a few per cent of the gap.
    assert gap(choice.bandwidth) > max(gap(choice.bandwidth * factor) for factor in (0.6, 0.75, 1.4, 1.8)) - 0.02


def test_flatness_is_the_width_of_the_minimum():
    grid = 2.0 ** (np.arange(-8, 9) / 3.0)
    # log R = log₂²(a): within log 1.1 of the least for |log₂ a| below its square root, linear in between.
    risks = np.exp(np.log2(grid) ** 2)
    edge = np.log(1.1) / (1.0 / 9.0) / 3.0
    assert flatness(risks) == pytest.approx(2.0 ** (2.0 * edge), rel=1e-12)
    assert np.isnan(compare_bandwidths(np.random.default_rng(0).standard_normal((20, 3)), 2).flatness)


def test_copies_count_once():
    points = datasets.torus(600, noise=0.03, seed=0).points
    assert choose_bandwidth(np.repeat(points, 3, axis=0), 2).bandwidth == choose_bandwidth(points, 2).bandwidth


def test_wrong_settings_are_named():
    points = datasets.torus(200).points
    with pytest.raises(ValueError, match="method must be one of 'risk', 'gap'; got 'luck'"):
        choose_bandwidth(points, 2, method="luck")
    with pytest.raises(ValueError, match="purpose must be one of 'ridge', 'tangents', 'geodesics'; got 'fun'"):
        choose_bandwidth(points, 2, purpose="fun")
    with pytest.raises(ValueError, match=r"rank must be an integer in 1\.\.2 \(a proper subspace of R\^3\); got 3"):
        choose_bandwidth(points, 3)
    with pytest.raises(ValueError, match="points must have at least 2 coordinates .*; got 1. Points on a line"):
        choose_bandwidth(points[:, :1], 1)
