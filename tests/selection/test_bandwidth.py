import numpy as np
import pytest

from subbundle import datasets
from subbundle.bundles import PrincipalSubbundle
from subbundle.manifolds.ridge import carry_to_ridge
from subbundle.selection import choose_bandwidth


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
    # Its estimate of the error knows nothing of the truth; half to double is what a ladder of factor 1.2 can resolve.
    assert 0.5 * reached < choice.error < 2.0 * reached


def test_scaling_shifting_and_shuffling_do_not_matter():
    points = datasets.torus(1500, noise=0.03, seed=0).points
    width = choose_bandwidth(points, 2).bandwidth
    shuffled = choose_bandwidth(np.random.default_rng(0).permutation(points), 2)
    assert shuffled.bandwidth == width
    # Rounding of the shifted coordinates moves the risks by 1e-13 and the bottom of their parabola as little.
    assert choose_bandwidth(8.0 * points + 3.0, 2).bandwidth == pytest.approx(8.0 * width, rel=1e-8)


def test_small_and_shapeless_clouds_get_a_width_with_enough_neighbours():
    rng = np.random.default_rng(0)
    small = rng.standard_normal((40, 3))
    choice = choose_bandwidth(small, 2)
    assert choice.method == "neighbour distance"
    assert np.isnan(choice.error)
    distances = np.sort(np.linalg.norm(small[:, None] - small[None], axis=2), axis=1)
    assert choice.bandwidth == pytest.approx(np.median(distances[:, 12]), rel=1e-12)
    # Twenty copies of each of ten points: most distances to the neighbours are nil.
    copies = np.repeat(rng.standard_normal((4, 3)), 20, axis=0)
    assert choose_bandwidth(copies, 2).bandwidth > 0.0
