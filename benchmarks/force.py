"""The closed-form force against differences of an independent H.

H = ½ |Pη|² is computed here in plain NumPy: every observation, the full Gaussian without any cutoff, LAPACK's eigh. Its
gradient comes from central differences D(h) = (H(p + hv) − H(p − hv)) / 2h, h = a/10, a/20, …, a/320, extrapolated
twice (Romberg). Large steps suffer from truncation, small ones from rounding, and the best step depends on the ratio of
the force to H/a; so the extrapolation that changed least from its last stage is taken, and that change is reported as
the error of the differences.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

import subbundle as sb
from benchmarks._report import Bar, Result, Table

CENTERINGS = ("local", "recentred", "none")
KERNELS = ("gaussian", "compact")
# d, k and a bandwidth at which a ball of the compact kernel holds enough observations in k dimensions.
CASES = [
    (2, 1, 0.2), (3, 1, 0.2), (3, 2, 0.2), (5, 1, 0.2), (5, 2, 0.25), (5, 4, 0.7),
    (20, 1, 0.2), (20, 3, 0.5), (20, 10, 1.3), (20, 19, 1.8),
    (100, 1, 0.25), (100, 5, 0.9), (100, 20, 1.8), (100, 99, 4.0),
]  # fmt: skip
# In 100 dimensions the gradient is compared along this many random orthonormal directions.
MAX_DIRECTIONS = 8
STEPS = [1 / (10 * 2**i) for i in range(6)]


def curved_cloud(rng: np.random.Generator, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """A noisy graph over [−1, 1]^k with quadratic and wavy normal coordinates; and points near it, off the middle."""
    n = 3000 if d <= 5 else 800
    t = rng.uniform(-1.0, 1.0, (n, k))
    forms, waves = rng.standard_normal((d - k, k, k)) / k, rng.standard_normal((k, d - k)) / np.sqrt(k)
    normal = 0.3 * np.einsum("ni,jil,nl->nj", t, forms, t) + 0.1 * np.sin(3.0 * t @ waves)
    normal /= np.sqrt(max(d - k, 1) / 4) if d - k > 4 else 1.0
    points = np.hstack([t, normal]) + 0.02 * rng.standard_normal((n, d))
    near = points[np.argsort((t**2).sum(axis=1))[:3]]
    return points, near


def symmetric_cloud(rng: np.random.Generator, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (±r e_i, y) for all i ≤ k: unchanged when the first k axes are permuted or reflected.

    At points (0, y) the second moment is then a multiple of the identity on the first k axes, exactly: the top k
    eigenvalues are equal. y depends on r, which gives the force something to measure.
    """
    n = max((3000 if d <= 5 else 800) // (2 * k), 12)
    r = rng.uniform(0.0, 1.0, n) * np.sqrt(k)
    bend = rng.standard_normal(d - k)
    normal = 0.3 * np.outer(r**2 / k, bend / np.linalg.norm(bend)) + 0.02 * rng.standard_normal((n, d - k))
    corners = np.vstack([np.eye(k), -np.eye(k)])
    points = np.hstack([np.kron(r[:, None], corners), np.repeat(normal, 2 * k, axis=0)])
    near = np.hstack([np.zeros((2, k)), 0.02 * rng.standard_normal((2, d - k))])
    return points, near


def hamiltonian(x: np.ndarray, p: np.ndarray, eta: np.ndarray, k: int, a: float, centering: str, kernel: str) -> float:
    """H(p, η) from the definition, up to a constant: in high rank ½ |Pη|² − ½ |η|² = −½ |(I − P)η|², which is small.

    Differences of ½ |Pη|² are those of large numbers: with 99 of 100 directions they were rounded by 4e-6 of ∇H.
    """
    w = _weights(x, p, a, kernel, k)
    mean = w @ x
    if centering == "recentred":
        w = _weights(x, mean, a, kernel, k)
    y = x - (p if centering == "none" else mean)
    along = eta @ np.linalg.eigh((y * w[:, None]).T @ y)[1]
    return -0.5 * float(np.sum(along[:-k] ** 2)) if 2 * k > len(p) else 0.5 * float(np.sum(along[-k:] ** 2))


def _weights(x: np.ndarray, p: np.ndarray, a: float, kernel: str, k: int) -> np.ndarray:
    t = np.sum((x - p) ** 2, axis=1) / a**2
    # A common factor drops out of the normalised weights, and keeps them from underflowing.
    phi = np.exp(-0.5 * (t - t.min())) if kernel == "gaussian" else np.maximum(1.0 - t / (14.0 + k), 0.0) ** 6
    return phi / phi.sum()


def measure(case: tuple[int, int, float], symmetric: bool, centering: str, kernel: str) -> tuple[float, float, float]:
    """Largest relative error of the force and of the differences (estimated), and spread of the top eigenvalues."""
    d, k, a = case
    rng = np.random.default_rng([d, k, symmetric])
    points, near = (symmetric_cloud if symmetric else curved_cloud)(rng, d, k)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    points, near = points @ turn.T, (near[:1] if d > 5 else near) @ turn.T
    covectors = rng.standard_normal(near.shape)
    bundle = sb.PrincipalSubbundle(points, k, a, centering=centering, kernel=kernel, n_jobs=1)
    field = bundle.field(near, covectors)
    assert (field.status == sb.Status.OK).all(), (case, symmetric, centering, kernel, field.status)
    values = bundle.frame(near).eigenvalues
    spread = float(((values[:, 0] - values[:, k - 1]) / values[:, 0]).max())
    directions = np.linalg.qr(rng.standard_normal((d, d)))[0][:, : min(d, MAX_DIRECTIONS)]
    worst = own = 0.0
    for p, eta, force in zip(near, covectors, field.force, strict=True):
        gradient, error = differences(
            lambda q, eta=eta: hamiltonian(points, q, eta, k, a, centering, kernel), p, directions, a
        )
        size = np.linalg.norm(gradient)
        worst = max(worst, float(np.linalg.norm(force @ directions + gradient) / size))
        own = max(own, error / float(size))
    return worst, own, spread


def differences(
    function: Callable[[np.ndarray], float], p: np.ndarray, directions: np.ndarray, scale: float
) -> tuple[np.ndarray, float]:
    """Derivatives of ``function`` at ``p`` along the columns of ``directions``, and an estimate of their error."""
    steps = [s * scale for s in STEPS]
    zeroth = [np.array([(function(p + h * v) - function(p - h * v)) / (2 * h) for v in directions.T]) for h in steps]
    once = [(4 * fine - coarse) / 3 for coarse, fine in pairwise(zeroth)]
    twice = [(16 * fine - coarse) / 15 for coarse, fine in pairwise(once)]
    changes = [float(np.linalg.norm(last - before)) for last, before in zip(twice, once[1:], strict=True)]
    best = int(np.argmin(changes))
    return twice[best], changes[best]


def run() -> Result:
    rows, worst = [], {False: 0.0, True: 0.0}
    for symmetric in (False, True):
        for case in CASES:
            d, k, a = case
            if symmetric and k == 1:
                continue
            # Small matrices: BLAS threads would only get in each other's way.
            with threadpool_limits(1, user_api="blas"):
                found = {(c, w): measure(case, symmetric, c, w) for c in CENTERINGS for w in KERNELS}
            errors = [max(found[c, w][0] for c in CENTERINGS) for w in KERNELS]
            own, spread = (max(f[i] for f in found.values()) for i in (1, 2))
            worst[symmetric] = max(worst[symmetric], *errors)
            rows.append([d, k, a, "equal eigenvalues" if symmetric else "curved", *errors, own, spread])
    columns = ["d", "k", "bandwidth", "cloud", *KERNELS, "differences' own error", "(λ₁ − λₖ)/λ₁"]
    return Result(
        title="the force against central differences of an independent H",
        method=(
            "Relative error |force + ∇H| / |∇H|, the worst of the three centrings and of up to three points, where ∇H "
            "comes from extrapolated central differences of a NumPy H with all observations and the full kernel. In "
            f"100 dimensions along {MAX_DIRECTIONS} random orthonormal directions. The differences' own error is what "
            "the last extrapolation changed."
        ),
        tables=[Table(columns, rows)],
        bars=[
            Bar("largest relative error, curved clouds", worst[False], 1e-6),
            Bar("largest relative error, equal eigenvalues in the top block", worst[True], 1e-6),
        ],
    )
