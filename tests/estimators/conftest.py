import pytest

from subbundle import datasets
from subbundle.estimators import PrincipalSubmanifold


@pytest.fixture(scope="session")
def sheet():
    """700 points around the S-surface: arcs of radius 1, noise 0.03."""
    return datasets.s_surface(700, noise=0.03, seed=0)


@pytest.fixture(scope="session")
def fitted(sheet):
    return PrincipalSubmanifold(n_components=2, bandwidth=0.25).fit(sheet.points)
