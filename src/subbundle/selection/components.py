"""Principal components above the noise floor: a lossy change of coordinates that loses only noise.

Isotropic noise of variance s² in p dimensions shows up, in N observations, as p eigenvalues of the covariance that
reach up to s² (1 + √(p/N))², the edge of their limiting distribution. Components above that edge (and 5 % more)
carry signal. s² is the mean of the eigenvalues left out, so the two are found together, from the largest floor
downwards. What is left out would only blur the neighbourhoods: in R^100 two noisy observations of one point lie σ
√200 apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray

_MARGIN = 1.05
# Eigenvalues below this part of the largest are rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class Components:
    """Orthonormal coordinates of part of R^d.

    Attributes
    ----------
    mean : [d]
        Origin.
    axes : [d, r]
        Orthonormal columns, the one of largest variance first.
    noise : float
        Standard deviation per coordinate of what is left out; 0 where nothing is.
    """

    mean: FloatArray
    axes: FloatArray
    noise: float

    def enter(self, points: FloatArray) -> FloatArray:
        """Coordinates [n, r] of ``points`` [n, d]; a row does not depend on the others, to the bit."""
        offsets = points - self.mean
        return np.stack([row @ self.axes for row in offsets]) if len(offsets) else np.empty((0, self.axes.shape[1]))

    def leave(self, coordinates: FloatArray) -> FloatArray:
        """Points [n, d] at ``coordinates`` [n, r]."""
        rows = [row @ self.axes.T for row in coordinates]
        return (np.stack(rows) if rows else np.empty((0, len(self.mean)))) + self.mean


def all_components(points: FloatArray) -> Components:
    """The coordinates themselves: nothing is rotated or left out."""
    dim = points.shape[1]
    return Components(np.zeros(dim), np.eye(dim), 0.0)


def components_above_noise(points: FloatArray, *, at_least: int) -> Components:
    """The components of ``points`` [N, d] above the noise floor, and at least so many."""
    mean, values, axes = _principal(points)
    return _kept(mean, values, axes, max(_above_noise(values, len(points), points.shape[1]), at_least))


def first_components(points: FloatArray, count: int) -> Components:
    """The ``count`` components of ``points`` [N, d] of largest variance."""
    return _kept(*_principal(points), count)


def _principal(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean [d], eigenvalues [min(N, d)] of the covariance, descending, and its eigenvectors as columns."""
    n, dim = points.shape
    mean = points.mean(axis=0)
    offsets = points - mean
    if n >= dim:
        # Ten times faster than the singular values, whose extra digits lie below the rounding of the largest anyway.
        values, axes = np.linalg.eigh(offsets.T @ offsets / n)
        values, rows = np.maximum(values[::-1], 0.0), axes[:, ::-1].T
    else:
        _, singular, rows = np.linalg.svd(offsets, full_matrices=False)
        values = singular**2 / n
    # The sign of an eigenvector is arbitrary; its largest entry is made positive.
    largest = np.take_along_axis(rows, np.argmax(np.abs(rows), axis=1)[:, None], axis=1)
    return mean, values, (rows * np.where(largest < 0.0, -1.0, 1.0)).T


def _above_noise(values: FloatArray, n_points: int, dim: int) -> int:
    """How many eigenvalues stand above the floor that the others make."""
    real = int(np.count_nonzero(values > _ROUNDING * values[0]))
    kept = 0
    while kept < real:
        left = dim - kept
        floor = values[kept:].sum() / left
        above = int(np.count_nonzero(values[:real] > _MARGIN * floor * (1.0 + np.sqrt(left / n_points)) ** 2))
        if above <= kept:
            break
        kept = above
    return kept


def _kept(mean: FloatArray, values: FloatArray, axes: FloatArray, count: int) -> Components:
    count = min(count, axes.shape[1])
    left = len(mean) - count
    noise = float(np.sqrt(values[count:].sum() / left)) if left else 0.0
    return Components(mean, np.ascontiguousarray(axes[:, :count]), noise)
