"""Principal components: those above the noise floor, and those that distinguish neighbours.

Isotropic noise of variance s² in p dimensions has, in N observations, p eigenvalues of the covariance up to
s² (1 + √(p/N))², the edge of their limiting distribution (Marchenko and Pastur). Components above that edge (and 5 %
more) contain signal. s² is the mean of the eigenvalues left out, so the two are found together, from the largest floor
downwards. The other components would only blur the neighbourhoods: in R^100 two noisy observations of one point lie
σ √200 apart.

Tables such as images have no flat floor. There the tail is left out that changes squared distances between
neighbours, 2 Σ λ over the tail, by less than 5 %.

Axes are a function of the set of rows, whatever their order or memory layout: rows are taken in the order of the search
tree, and the largest entry of an axis is positive. Coordinates are summed in compiled code, one row after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._numbers import ROUNDING
from subbundle._types import FloatArray, evenly
from subbundle._validation import as_choice, as_integer
from subbundle.cloud import Cloud
from subbundle.local.frames import sign_of_largest
from subbundle.local.rows import rows_times
from subbundle.selection.tuning import FEW_FEATURES, PLACES, UNNOTICED


@dataclass(frozen=True, slots=True)
class Components:
    """Orthonormal coordinates of a subspace of R^d.

    Attributes
    ----------
    mean : [d]
        Origin.
    axes : [d, r]
        Orthonormal columns, the one of largest variance first.
    noise : float
        Standard deviation per coordinate of what is left out; 0 where nothing is.
    kept : float
        Fraction of the variance inside the subspace.
    """

    mean: FloatArray
    axes: FloatArray
    noise: float
    kept: float = 1.0

    def enter(self, points: FloatArray) -> FloatArray:
        """Coordinates [n, r] of ``points`` [n, d]; a row does not depend on the others, to the bit."""
        return np.asarray(rows_times(np.ascontiguousarray(points - self.mean), np.ascontiguousarray(self.axes)))

    def leave(self, coordinates: FloatArray) -> FloatArray:
        """Points [n, d] at ``coordinates`` [n, r]."""
        inside = rows_times(np.ascontiguousarray(coordinates), np.ascontiguousarray(self.axes.T))
        return np.asarray(inside + self.mean)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """All principal components: mean [d], eigenvalues [r] of the covariance, descending, axes [d, r] as columns, and
    the rows they were found from, in canonical order."""

    mean: FloatArray
    values: FloatArray
    axes: FloatArray
    rows: FloatArray

    def first(self, count: int) -> Components:
        """The ``count`` components of largest variance."""
        count = min(count, self.axes.shape[1])
        left, total = len(self.mean) - count, float(self.values.sum())
        lost = float(self.values[count:].sum())
        noise = float(np.sqrt(lost / left)) if left else 0.0
        kept = 1.0 - lost / total if total > 0.0 else 1.0
        return Components(self.mean, np.ascontiguousarray(self.axes[:, :count]), noise, kept)

    def above_noise(self) -> int:
        """Number of eigenvalues above the noise floor of the others."""
        n_points, dim, values = len(self.rows), len(self.mean), self.values
        real = int(np.count_nonzero(values > ROUNDING * values[0]))
        count = 0
        while count < real:
            left = dim - count
            edge = values[count:].sum() / left * (1.0 + np.sqrt(left / n_points)) ** 2
            above = int(np.count_nonzero(values[:real] > (1.0 + UNNOTICED) * edge))
            if above <= count:
                break
            count = above
        return count

    def informative(self, rank: int) -> int:
        """Number of components above the noise floor that distinguish neighbours; at least k + 1."""
        return max(min(self.above_noise(), self.resolved(rank)), rank + 1)

    def resolved(self, rank: int) -> int:
        """Number of components that distinguish a row from its k + 2 nearest: without the others squared distances are
        the same within 5 %."""
        queries = self.rows[evenly(len(self.rows), PLACES)]
        near = min(rank + 3, len(self.rows))
        squared = cKDTree(self.rows).query(queries, k=near)[0][:, -1] ** 2
        tail = self.values.sum() - np.cumsum(self.values)
        return int(np.count_nonzero(2.0 * tail > UNNOTICED * float(np.median(squared)))) + 1


def principal_components(points: FloatArray | Cloud) -> Spectrum:
    """All principal components of ``points`` [N, d] or of a cloud (relative to its centre)."""
    cloud = points if isinstance(points, Cloud) else Cloud(points)
    # The same rows in the same memory layout, whatever the order and layout of the input.
    rows = np.ascontiguousarray(cloud.ordered)
    mean = rows.mean(axis=0)
    offsets = rows - mean
    n, dim = rows.shape
    # The smaller of two Gram matrices: ten times faster than singular values, whose extra digits are below the rounding
    # error of the largest.
    values, vectors = np.linalg.eigh(offsets.T @ offsets if n >= dim else offsets @ offsets.T)
    values, vectors = np.maximum(values[::-1], 0.0) / n, vectors[:, ::-1]
    if n < dim:
        # Orthogonal up to rounding of the largest; made orthonormal from the largest down.
        vectors = np.linalg.qr(offsets.T @ vectors)[0]
    axes = np.ascontiguousarray(vectors * sign_of_largest(vectors))
    origin = np.zeros(dim) if isinstance(points, Cloud) else cloud.centre
    return Spectrum(mean + origin, values, axes, offsets)


def all_components(points: FloatArray) -> Components:
    """The coordinates themselves: nothing is rotated or left out."""
    dim = points.shape[1]
    return Components(np.zeros(dim), np.eye(dim), 0.0)


def chosen_components(
    points: FloatArray, rank: int, reduce_dim: int | str | None, automatic: Callable[[Spectrum], int]
) -> Components:
    """The components of ``points`` [N, d] for a shape of dimension ``rank``, at least one more than that.

    ``reduce_dim`` is None for all features, a number, or ``"auto"``: all of up to `FEW_FEATURES`, else as many as
    ``automatic`` gives. A shape of full dimension is flat in a space of one dimension more: a zero axis is added.
    """
    most = min(points.shape)
    if reduce_dim is None or (is_automatic(reduce_dim) and points.shape[1] <= FEW_FEATURES):
        found = all_components(points)
    elif is_automatic(reduce_dim):
        spectrum = principal_components(points)
        found = spectrum.first(max(automatic(spectrum), min(rank + 1, most)))
    else:
        count = as_integer(reduce_dim, "reduce_dim", low=rank + 1, high=most, why="or 'auto', or None")
        found = first_components(points, count)
    missing = rank + 1 - found.axes.shape[1]
    if missing <= 0:
        return found
    return Components(found.mean, np.pad(found.axes, ((0, 0), (0, missing))), found.noise, found.kept)


def is_automatic(reduce_dim: int | str | None) -> bool:
    """Whether ``reduce_dim`` is ``"auto"``; raises for other text."""
    return isinstance(reduce_dim, str) and as_choice(reduce_dim, "reduce_dim", ("auto",)) == "auto"


def components_above_noise(points: FloatArray, *, at_least: int) -> Components:
    """The components of ``points`` [N, d] above the noise floor, ``at_least`` so many."""
    found = principal_components(points)
    return found.first(max(found.above_noise(), at_least))


def steps_kept(points: FloatArray, components: Components, rank: int) -> float:
    """Fraction of the squared distances of some rows of ``points`` [N, d] to their k + 2 nearest that the components
    keep: lengths along a shape are sums of such steps."""
    queries = points[evenly(len(points), PLACES)]
    rows = cKDTree(points).query(queries, k=min(rank + 3, len(points)))[1]
    steps = (points[rows] - queries[:, None]).reshape(-1, points.shape[1])
    total = float(np.sum(steps**2))
    return float(np.sum((steps @ components.axes) ** 2)) / total if total > 0.0 else 1.0


def first_components(points: FloatArray, count: int) -> Components:
    """The ``count`` components of ``points`` [N, d] of largest variance."""
    return principal_components(points).first(count)
