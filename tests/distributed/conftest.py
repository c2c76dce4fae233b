"""One cluster of two processes for all tests of a module."""

import pytest


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("dask")
    from subbundle.distributed import cluster

    with cluster(workers=2, memory="4GB") as made:
        yield made
