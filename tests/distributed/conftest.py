"""One cluster of two processes for all tests: each takes as long to start as most of them to run."""

import pytest


@pytest.fixture(scope="session")
def client():
    pytest.importorskip("dask")
    from subbundle.distributed import cluster

    with cluster(workers=2, memory="4GB") as made:
        yield made
