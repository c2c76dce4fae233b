"""A weighted cloud in R³ and the local quadrics that it has around given points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._parallel import run_rows
from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.cloud._build import LEAF
from subbundle.surface._fit_kernels import COLUMNS, fit_rows
from subbundle.surface._quadric_kernels import COLUMNS as QUADRIC_COLUMNS
from subbundle.surface._quadric_kernels import quadric_rows

_GRAIN = 64


@dataclass(frozen=True, slots=True)
class LocalFit:
    """What the cloud looks like around points of R³, seen with a Gaussian window.

    Attributes
    ----------
    points : [n, 3]
        Where the points came to rest.
    normals : [n, 3]
        Unit e_3, its sign arbitrary; zero where no observation was in reach.
    eigenvalues : [n, 3]
        Of the local second moment, descending.
    mass : [n]
        Σ w; zero where no observation was in reach.
    heights : [n]
        Height of the surface over the point along the normal, before the last step.
    drift : [n]
        |P (m − p)|: how far the local mean lies to the side.
    second_form : [n, 3]
        II_11, II_12, II_22 in the frame of the eigenvectors.
    share : [n]
        Σ w² / Σ w: the weight of a typical observation, for the effective number Σ w / share.
    """

    points: FloatArray
    normals: FloatArray
    eigenvalues: FloatArray
    mass: FloatArray
    heights: FloatArray
    drift: FloatArray
    second_form: FloatArray
    share: FloatArray


@dataclass(frozen=True, slots=True)
class QuadricFit:
    """Points on robust local quadrics.

    Attributes
    ----------
    points, normals : [n, 3]
        Where the points came to rest, and the unit normals of the quadrics there, on the side of the normals given.
    mass : [n]
        Σ w.
    gain : [n]
        (M⁻¹)_00 of the normal equations: noise in the observations comes into the height with 5/8 of it as variance.
        Infinite where the neighbourhood determines no quadric: such a point stays where it was.
    bend : [n]
        II_11 + II_22, positive where the surface bends towards the normal; zero where the gain is infinite.
    residual : [n]
        Σ w e² / Σ w of the residuals e; infinite where the gain is.
    """

    points: FloatArray
    normals: FloatArray
    mass: FloatArray
    gain: FloatArray
    bend: FloatArray
    residual: FloatArray


class WeightedCloud:
    """Observations with weights, and their search tree; coordinates are taken relative to ``centre``.

    Parameters
    ----------
    points : [N, 3]
    weights : [N], optional
        How many observations each row stands for; 1 by default.
    """

    __slots__ = ("_cloud", "centre", "n_jobs", "n_points", "size", "tree")

    def __init__(self, points: FloatArray, weights: FloatArray | None = None, *, n_jobs: int = 1) -> None:
        cloud = Cloud(points)
        self._cloud = cloud
        self.centre, self.size, self.n_points, self.n_jobs = cloud.centre, cloud.size, cloud.n_points, n_jobs
        stored = np.zeros(cloud.blocks.shape[0] * LEAF)  # the empty places of the last leaf have no weight
        stored[: cloud.n_points] = 1.0 if weights is None else weights[cloud.order]
        self.tree = (cloud.blocks, stored.reshape(-1, LEAF), cloud.boxes)

    def sample(self, count: int) -> FloatArray:
        """At most ``count`` observations [n, 3], spread evenly over the cloud; the same on every call."""
        return self._cloud.at(self._cloud.sample(count)) + self.centre

    def fit(self, points: FloatArray, bandwidth: float | FloatArray, *, rounds: int = 0) -> LocalFit:
        """Look around ``points`` [n, 3] with one ``bandwidth`` or one each [n]; carry them ``rounds`` steps."""
        here = np.ascontiguousarray(points - self.centre)
        n = len(here)
        widths = np.empty(n)
        widths[:] = bandwidth
        moved, normals, values = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
        numbers = np.empty((n, COLUMNS))

        def work(start: int, stop: int) -> None:
            fit_rows(self.tree, here, widths, rounds, start, stop, moved, normals, values, numbers)

        run_rows(work, n, self.n_jobs, grain=_GRAIN, calls_blas=False)
        moved += self.centre
        mass, heights, drift, form, share = (
            numbers[:, 0], numbers[:, 1], numbers[:, 2], numbers[:, 3:6], numbers[:, 6]
        )  # fmt: skip
        return LocalFit(moved, normals, values, mass, heights, drift, form, share)

    def quadric(
        self,
        points: FloatArray,
        normals: FloatArray,
        bandwidth: float | FloatArray,
        cut: float | FloatArray,
        *,
        rounds: int = 3,
    ) -> QuadricFit:
        """Carry ``points`` [n, 3] with unit ``normals`` [n, 3] onto robust local quadrics.

        Observations whose height differs by more than ``cut`` from the quadric have no weight.
        """
        here = np.ascontiguousarray(points - self.centre)
        across = np.array(normals, dtype=np.float64, order="C")
        n = len(here)
        widths, cuts = np.empty(n), np.empty(n)
        widths[:], cuts[:] = bandwidth, cut
        moved, tilted, numbers = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, QUADRIC_COLUMNS))

        def work(start: int, stop: int) -> None:
            quadric_rows(self.tree, here, across, widths, cuts, rounds, start, stop, moved, tilted, numbers)

        run_rows(work, n, self.n_jobs, grain=_GRAIN, calls_blas=False)
        mass, gain, bend, residual = numbers.T
        return QuadricFit(moved + self.centre, tilted, mass, gain, bend, residual)
