"""Leading eigenpairs by Krylov subspaces and by tridiagonal matrices, and shifted solves, against LAPACK."""

import numpy as np
import pytest

from subbundle.local import leading as ways
from subbundle.local.leading import krylov, multiply, partners
from subbundle.local.tridiagonal import tridiagonal


def second_moment(spectrum, seed=0):
    """A factor Z with ZᵀZ of the given spectrum in general position, and ZᵀZ itself."""
    rng = np.random.default_rng(seed)
    dim, n = len(spectrum), max(np.count_nonzero(spectrum), 1)
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    left = np.linalg.qr(rng.normal(size=(n, n)))[0]
    factor = np.ascontiguousarray(left @ (np.sqrt(spectrum[:n])[:, None] * turn[:, :n].T))
    return factor, np.ascontiguousarray(factor.T @ factor)


def start(dim, rank, seed=9):
    return np.random.default_rng(seed).normal(size=(min(rank + 3, dim), dim))


SPECTRA = {
    "spread": np.linspace(1.0, 0.01, 60),
    "a gap after three": np.r_[1.0, 0.9, 0.8, np.linspace(0.1, 0.01, 57)],
    "equal in the block": np.r_[1.0, 1.0, 1.0, np.full(57, 0.2)],
    "equal outside the block": np.r_[3.0, 2.0, 1.0, np.full(57, 0.5)],
    "fast decay": 2.0 ** -np.arange(60.0),
    "few directions": np.r_[1.0, 0.7, 0.5, 0.2, np.zeros(56)],
    "rank three": np.r_[1.0, 0.5, 0.3, np.zeros(57)],
    "one large": np.r_[1e4, 1.0, 0.7, np.linspace(0.1, 0.01, 57)],
    "seventeen": np.r_[1.0, 0.9, 0.8, np.linspace(0.3, 0.1, 14)],
    "four": np.array([1.0, 0.8, 0.6, 0.1]),
}


@pytest.mark.parametrize("factored", [False, True])
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("name", SPECTRA)
def test_leading_pairs_are_those_of_lapack(name, scale, factored):
    spectrum, rank = scale * SPECTRA[name], 3
    factor, matrix = second_moment(spectrum)
    converged, values, vectors = krylov(
        factor if factored else matrix, factored, start(len(spectrum), rank), rank, 1e-13
    )
    if not converged:  # the caller then takes a full decomposition; right for slow decay, and where blocks do not fit
        assert name in ("spread", "seventeen")
        return
    assert vectors.shape == (len(spectrum), rank)
    np.testing.assert_allclose(values[:rank], spectrum[:rank], rtol=1e-12)
    assert values[rank] == pytest.approx(spectrum[rank], abs=1e-3 * spectrum[rank - 1])  # decides on the gap only
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-12)
    exact = np.linalg.eigh(matrix)[1][:, ::-1][:, :rank]
    # The stated residual of 1e-13 λ_1, over the gap.
    bound = 1e-12 + 1e-12 * spectrum[0] / (spectrum[rank - 1] - spectrum[rank])
    np.testing.assert_allclose(vectors @ vectors.T, exact @ exact.T, atol=bound)


@pytest.mark.parametrize("factored", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 15, 16])
def test_leading_pairs_when_the_block_fills_the_space(rank, factored):
    spectrum = np.linspace(1.0, 0.2, 17)
    factor, matrix = second_moment(spectrum)
    converged, values, vectors = krylov(factor if factored else matrix, factored, start(17, rank), rank, 1e-13)
    if converged:
        np.testing.assert_allclose(values[:rank], spectrum[:rank], rtol=1e-12)
        exact = np.linalg.eigh(matrix)[1][:, ::-1][:, :rank]
        np.testing.assert_allclose(vectors @ vectors.T, exact @ exact.T, atol=1e-11)
    assert converged or rank < 14


def test_a_matrix_of_zeros_has_no_directions():
    converged, values, _ = krylov(np.zeros((20, 20)), False, start(20, 2), 2, 1e-13)
    assert converged
    np.testing.assert_array_equal(values, 0.0)


@pytest.mark.parametrize("rank", [1, 3, 12])
@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("name", SPECTRA)
def test_tridiagonal_pairs_are_those_of_lapack(name, scale, rank):
    """To rounding: errors of a few machine epsilons of λ_1 in Σ, over the gap for the projector."""
    spectrum, rounding = SPECTRA[name], 2e-14
    rank = min(rank, len(spectrum) - 1)
    _, matrix = second_moment(scale * spectrum)
    converged, values, vectors = tridiagonal(matrix, start(len(spectrum), rank), rank, 1e-13)
    assert converged
    np.testing.assert_allclose(values / scale, spectrum[: rank + 1], rtol=0.0, atol=rounding * spectrum[0])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=rounding)
    off = matrix @ vectors / scale - vectors * (values[:rank] / scale)
    np.testing.assert_allclose(off, 0.0, atol=rounding * spectrum[0])
    if spectrum[rank - 1] > spectrum[rank]:
        exact = np.linalg.eigh(matrix)[1][:, ::-1][:, :rank]
        bound = rounding * spectrum[0] / (spectrum[rank - 1] - spectrum[rank])
        np.testing.assert_allclose(vectors @ vectors.T, exact @ exact.T, atol=bound)


@pytest.mark.parametrize(
    ("dim", "rank", "n"),
    [(50, 4, 80), (30, 12, 80), (150, 1, 200), (40, 3, 30), (60, 2, 2), (20, 5, 3)],
    ids=["tridiagonal", "in full", "krylov", "factored", "two observations", "fewer than k observations"],
)
def test_every_method_finds_the_leading_pairs(dim, rank, n):
    factor = np.random.default_rng(2).normal(size=(n, dim)) * np.r_[np.full(rank, 3.0), np.full(dim - rank, 0.5)]
    factored = n < dim
    matrix = factor if factored else factor.T @ factor
    values, vectors = ways.leading(matrix, factored, start(dim, rank), rank, 1e-13)
    found, exact = min(rank, n), np.linalg.svd(factor)
    assert vectors.shape == (dim, rank)
    np.testing.assert_allclose(values[:found], exact[1][:found] ** 2, rtol=1e-12)
    top = exact[2][:found].T
    # The bound on residuals, 1e-13 λ_1, over a gap of a tenth of λ_1 or more.
    np.testing.assert_allclose(vectors[:, :found] @ vectors[:, :found].T, top @ top.T, atol=1e-11)


def test_a_tridiagonal_matrix_may_be_reducible():
    """Decoupled blocks, with equal eigenvalues among them: each direction is found once."""
    block = np.array([[2.0, 1.0], [1.0, 2.0]])
    matrix = np.kron(np.eye(20), block)  # eigenvalues 3 and 1, twenty times each
    matrix[-2:, -2:] = 0.0
    converged, values, vectors = tridiagonal(matrix, start(40, 19), 19, 1e-13)
    assert converged
    np.testing.assert_allclose(values, np.r_[np.full(19, 3.0), 1.0], atol=1e-13)
    exact = np.kron(np.diag(np.r_[np.ones(19), 0.0]), np.full((2, 2), 0.5))
    np.testing.assert_allclose(vectors @ vectors.T, exact, atol=1e-13)
    converged, values, vectors = tridiagonal(np.zeros((20, 20)), start(20, 2), 2, 1e-13)
    assert converged
    np.testing.assert_array_equal(values, 0.0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-13)


@pytest.mark.parametrize("factored", [False, True])
@pytest.mark.parametrize("name", SPECTRA)
def test_partners_solve_the_shifted_systems(name, factored):
    spectrum, rank = SPECTRA[name], 3
    dim = len(spectrum)
    factor, matrix = second_moment(spectrum)
    ascending, columns = np.linalg.eigh(matrix)
    values, vectors = ascending[::-1].copy(), np.ascontiguousarray(columns[:, ::-1])
    covector = np.random.default_rng(4).normal(size=dim)
    given = (factor if factored else matrix, factored, values, np.ascontiguousarray(vectors[:, :rank]), covector)
    found = partners(*given)
    components = vectors.T @ covector
    for i in range(rank):
        expected = vectors[:, rank:] @ (components[rank:] / (values[i] - values[rank:]))
        # Residual 1e-13 times the condition λ_1/gap of the system.
        bound = 1e-12 * values[0] / (values[i] - values[rank]) * np.linalg.norm(expected)
        np.testing.assert_allclose(found[:, i], expected, atol=bound)
    np.testing.assert_allclose(vectors[:, :rank].T @ found, 0.0, atol=1e-12 * np.abs(found).max())


def test_a_covector_inside_the_subspace_has_no_partners():
    factor, matrix = second_moment(SPECTRA["a gap after three"])
    values, vectors = np.linalg.eigh(matrix)
    top = np.ascontiguousarray(vectors[:, ::-1][:, :3])
    for covector in (np.zeros(60), top @ np.array([1.0, -2.0, 0.5])):
        assert np.abs(partners(matrix, False, values[::-1].copy(), top, covector)).max() < 1e-13
    block = np.random.default_rng(0).normal(size=(2, 60))
    np.testing.assert_allclose(multiply(factor, True, block), multiply(matrix, False, block), atol=1e-13)
