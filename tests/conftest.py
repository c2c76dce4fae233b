"""What all tests share: compiled kernels, and the principal subbundle computed a second time, with NumPy alone."""

import os
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from subbundle.bundles.hamiltonian import field_batch
from subbundle.compiling import PARTS, compile_parts

_BLAS = ThreadpoolController()


def pytest_configure(config):
    """Compile on all cores before the workers start: on an empty cache each would compile every kernel.

    Workers inherit that threads of OpenMP, which scikit-learn's neighbours start for three rows too, and of OpenBLAS
    sleep while they wait: with a worker per core they would use up the time of the one that they wait for.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2⁴ cycles, the least; a tenth of a second else
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    several = (config.getoption("numprocesses", None) or 0) > 1
    if whole and several and not hasattr(config, "workerinput") and not field_batch._cache.is_kept():
        compile_parts(list(PARTS))


class Reference:
    """The bundle by its definition: every observation in every sum, LAPACK for eigenpairs, no formula for the force."""

    def __init__(self, data, rank, bandwidth, centering, kernel):
        self.data, self.rank, self.bandwidth = data, rank, bandwidth
        self.centering, self.kernel = centering, kernel

    def profile(self, point):
        """φ(|x_n − p|²/a²), up to the factor that the nearest observation sets for the Gaussian."""
        t = ((self.data - point) ** 2).sum(axis=1) / self.bandwidth**2
        if self.kernel == "gaussian":
            return np.exp(-0.5 * (t - t.min()))
        return np.maximum(1.0 - t / (14.0 + self.rank), 0.0) ** 6

    def log_mass(self, point):
        """The log of Σ φ_n."""
        t = ((self.data - point) ** 2).sum(axis=1) / self.bandwidth**2
        return np.log(self.profile(point).sum()) - (0.5 * t.min() if self.kernel == "gaussian" else 0.0)

    def mean(self, point):
        """m(p)."""
        phi = self.profile(point)
        return phi @ self.data / phi.sum()

    def factor(self, point):
        """Rows √w_n (x_n − centre) of all observations with weight, so that Σ(p) = ZᵀZ."""
        centre = point if self.centering == "none" else self.mean(point)
        phi = self.profile(centre if self.centering == "recentred" else point)
        seen = phi > 0.0
        return np.sqrt(phi[seen] / phi.sum())[:, None] * (self.data[seen] - centre)

    def moment(self, point):
        """Σ(p)."""
        factor = self.factor(point)
        return factor.T @ factor

    def eigen(self, point):
        """All eigenvalues, descending, and the eigenvectors of those that can be other than zero, as columns."""
        factor = self.factor(point)
        with _BLAS.limit(limits=1, user_api="blas"):  # on busy machines threads wait for each other for seconds
            if len(factor) >= point.size:
                values, vectors = np.linalg.eigh(factor.T @ factor)
                return values[::-1], vectors[:, ::-1]
            _, singular, rows = np.linalg.svd(factor, full_matrices=False)
        return np.pad(singular**2, (0, point.size - len(factor))), rows.T

    def projector(self, point):
        """P(p)."""
        top = self.eigen(point)[1][:, : self.rank]
        return top @ top.T

    def hamiltonian(self, point, covector):
        """H(p, η)."""
        return 0.5 * covector @ self.projector(point) @ covector

    def force(self, point, covector, spacing=0.02):
        """−∂H/∂p by central differences at ``spacing`` a, its half and quarter, extrapolated twice (sixth order)."""
        gradient = np.empty(point.size)
        for i, axis in enumerate(np.eye(point.size)):
            slopes = []
            for h in spacing * self.bandwidth * np.array([1.0, 0.5, 0.25]):
                ahead = self.hamiltonian(point + h * axis, covector)
                slopes.append((ahead - self.hamiltonian(point - h * axis, covector)) / (2.0 * h))
            fourth = [(4.0 * fine - coarse) / 3.0 for coarse, fine in pairwise(slopes)]
            gradient[i] = (16.0 * fourth[1] - fourth[0]) / 15.0
        return -gradient


@pytest.fixture(scope="session")
def reference():
    """The class `Reference`: ``reference(data, rank, bandwidth, centering, kernel)``."""
    return Reference


@pytest.fixture(scope="session")
def wavy_cloud():
    """``wavy_cloud(dim, n, seed)``: a wavy, noisy two-dimensional sheet (a curve in the plane) in general position."""

    @cache
    def make(dim, n, seed=0, noise=0.15):
        rng = np.random.default_rng(seed)
        flat = min(2, dim - 1)
        sheet = rng.uniform(-2.0, 2.0, size=(n, flat))
        waves = 0.3 * np.sin(sheet @ rng.normal(size=(flat, dim - flat)) + np.arange(dim - flat))
        points = np.column_stack([sheet, waves / np.sqrt(dim - flat)])
        points += noise * rng.normal(size=points.shape) * np.linspace(1.0, 0.3, dim) / np.sqrt(dim)
        points = points @ np.linalg.qr(rng.normal(size=(dim, dim)))[0].T
        points.setflags(write=False)
        return points

    return make
