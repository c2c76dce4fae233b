"""scikit-learn's own checks, for the estimators as they come out of the box."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from subbundle.estimators import AtlasEmbedding, GeodesicDistance, PrincipalSubmanifold


# The checks fit twenty random points: the estimators warn that there is no shape in them, as they should.
@pytest.mark.filterwarnings("ignore::subbundle.SubbundleWarning")
@parametrize_with_checks([PrincipalSubmanifold(), GeodesicDistance(), AtlasEmbedding()])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
