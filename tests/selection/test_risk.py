"""The one risk, on statistics whose variance and bias are known in closed form."""

import numpy as np
import pytest

from subbundle.cloud import Cloud
from subbundle.selection.ladder import n_queries, subsamples
from subbundle.selection.risk import Estimate, Statistic, compare, points_product
from subbundle.selection.tuning import PLACES

QUERIES = 4000


def known(subsamples, *, noise, bias, order, lost=()):
    """A statistic with the bias ``bias`` [q] a^order, and noise of standard deviation ``noise`` [q] / a in each of the
    equally large ``subsamples``; NaN for the queries ``lost``."""
    errors = {
        round(float(subsample[0, 0]), 9): np.random.default_rng(at).standard_normal(QUERIES)
        for at, subsample in enumerate(subsamples)
    }

    def fit(subsample, width, queries):
        own = errors[round(float(subsample.points[0, 0]), 9)]  # centring rounds
        value = np.zeros((len(queries), 3))
        value[:, 0] = noise * own / width
        value[:, 1] = bias * width**order
        value[list(lost)] = np.nan
        return Estimate(value, None, np.ones(len(queries), bool), 10.0)

    return Statistic(fit, points_product, order=order, growth=2.0 * order)


def halves():
    rng = np.random.default_rng(5)
    return [rng.standard_normal((50, 3)) for _ in range(2)]


def test_variance_and_squared_bias_of_the_whole_cloud():
    subsamples = halves()
    statistic = known(subsamples, noise=0.1, bias=0.3, order=2)
    risks = compare(statistic, subsamples, 100, np.zeros((QUERIES, 3)), 0.5, 1.7)
    # Half of the data has twice the variance of all of it. Clipping 2 % of the squares takes 4 % off their mean, chance
    # √(2/4000) = 2 %.
    np.testing.assert_allclose(risks.variance[:, 0], 0.5 * 0.01 / risks.factors**2 / 0.25, rtol=0.1)
    # The bias is the same for all queries: its product across the halves is exact but for the noise, which is
    # uncorrelated between them; narrow bandwidths are bounded by wider ones.
    np.testing.assert_allclose(risks.squared_bias[2:, 0], (0.3 * (0.5 * risks.factors[2:]) ** 2) ** 2, rtol=0.1)


def test_pools_have_risks_of_their_own():
    subsamples = halves()
    left = np.arange(QUERIES) < QUERIES // 2
    statistic = known(subsamples, noise=np.where(left, 0.1, 0.4), bias=np.where(left, 0.5, 0.1), order=2)
    pools = [np.flatnonzero(left), np.flatnonzero(~left)]
    risks = compare(statistic, subsamples, 100, np.zeros((QUERIES, 3)), 0.5, 1.7, pools=pools)
    assert risks.variance.shape == (len(risks.factors), 2)
    np.testing.assert_allclose(risks.variance[0, 1] / risks.variance[0, 0], 16.0, rtol=0.15)
    np.testing.assert_allclose(risks.squared_bias[-1, 0] / risks.squared_bias[-1, 1], 25.0, rtol=0.3)


@pytest.mark.parametrize(("lost", "finite"), [(0.05, True), (0.2, False)])
def test_a_pool_of_which_too_little_is_known_has_no_risk(lost, finite):
    subsamples = halves()
    statistic = known(subsamples, noise=0.1, bias=0.3, order=2, lost=range(int(lost * QUERIES)))
    risks = compare(statistic, subsamples, 100, np.zeros((QUERIES, 3)), 0.5, 0.9)
    assert np.isfinite(risks.total).all() == finite


def test_the_grid_ends_once_the_risk_has_risen():
    subsamples = halves()
    statistic = known(subsamples, noise=0.1, bias=0.3, order=2)
    risks = compare(statistic, subsamples, 100, np.zeros((QUERIES, 3)), 0.5, 1e6)
    assert risks.total[-1, 0] > 4.0 * risks.total.min()
    assert risks.total[-2, 0] <= 4.0 * risks.total.min()


@pytest.mark.parametrize("rank", [9, 16, 28, 39])
def test_the_work_of_a_risk_is_bounded_whatever_the_rank(rank):
    cloud = Cloud(np.random.default_rng(0).standard_normal((999, rank + 1)))
    queries, samples = subsamples(cloud, rank)
    unknowns = 1 + rank + rank * (rank + 1) // 2
    work = len(queries) * len(samples) * unknowns**2 * (len(samples[0]) + unknowns / 6.0)
    # Eight queries are left in any case; of rank 28 they cost three times the bound, of rank 39 ten times.
    assert work <= 3e9 or len(queries) == 8
    # They are spread over the cloud, not its first rows.
    assert np.ptp(queries[:, 0]) > 1.0


def test_queries_of_more_normal_directions_are_fewer():
    for rank, dim in ((1, 2), (2, 3), (5, 6)):
        assert n_queries(Cloud(np.random.default_rng(0).standard_normal((1000, dim))), rank) == PLACES
    # 48 values at once, but at one point: between as many queries and √48 times fewer.
    queries = n_queries(Cloud(np.random.default_rng(0).standard_normal((1000, 50))), 2)
    assert PLACES / np.sqrt(48) < queries < PLACES
