"""A weighted cloud in R³, its local PCA and its local quadrics."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.cloud import Cloud
from subbundle.cloud.lattice import lattice_cloud
from subbundle.local.frames import tangents_from_normals
from subbundle.local.model import fit_local
from subbundle.local.standard_errors import PLANE_GAIN

# Points over which medians of noise, spacing, differences of heights and agreement of normals are taken; fewer where a
# bandwidth is searched for. With several times as many errors change by 0.3 %.
SAMPLE, FIRST_SAMPLE = 2000, 300


@dataclass(frozen=True, slots=True)
class LocalFit:
    """Local PCA of the cloud around points of R³, in a Gaussian window.

    Attributes
    ----------
    points : [n, 3]
        The projected points.
    normals : [n, 3]
        Unit e_3, its sign arbitrary; zero where no observation was in reach.
    eigenvalues : [n, 3]
        Of the local second moment, descending.
    mass : [n]
        Σ w; zero where no observation was in reach.
    drift : [n]
        |P (m − p)|: tangential offset of the local mean.
    second_form : [n, 3]
        II_11, II_12, II_22 in the frame of the eigenvectors.
    n_effective : [n]
        Effective number of neighbours.
    """

    points: FloatArray
    normals: FloatArray
    eigenvalues: FloatArray
    mass: FloatArray
    drift: FloatArray
    second_form: FloatArray
    n_effective: FloatArray

    def take(self, rows: IntArray) -> LocalFit:
        """The fits at ``rows``."""
        return LocalFit(*(getattr(self, part.name)[rows] for part in fields(self)))


@dataclass(frozen=True, slots=True)
class QuadricFit:
    """Points on robust local quadrics.

    Attributes
    ----------
    points, normals : [n, 3]
        The projected points, and the unit normals of the quadrics there, on the side of the normals given.
    mass : [n]
        Σ w.
    gain : [n]
        8/5 of the variance of the height for noise of variance 1: (M⁻¹)_00 of the normal equations on an evenly sampled
        plane. Infinite where there is no quadric: such a point is not moved.
    curvature : [n]
        tr II = II_11 + II_22, positive where the surface curves towards the normal; zero where the gain is infinite.
    residual : [n]
        Σ w e² / Σ w of the residuals e; infinite where the gain is.
    frames, forms : [n, 3, 3], [n, 3]
        Tangents and normal, in columns, and II_11, II_12, II_22 in that frame; empty where fits were blended.
    """

    points: FloatArray
    normals: FloatArray
    mass: FloatArray
    gain: FloatArray
    curvature: FloatArray
    residual: FloatArray
    frames: FloatArray = field(default_factory=lambda: np.empty((0, 3, 3)))
    forms: FloatArray = field(default_factory=lambda: np.empty((0, 3)))

    def take(self, rows: IntArray) -> QuadricFit:
        """The fits at ``rows``."""
        return QuadricFit(*(getattr(self, column.name)[rows] for column in fields(self)))

    @staticmethod
    def gather(n: int, fits: list[tuple[IntArray, QuadricFit]], points: FloatArray, normals: FloatArray) -> QuadricFit:
        """Fits of ``n`` rows from ``fits`` of some rows each; the remaining rows are undetermined, at ``points``."""
        whole = QuadricFit(
            points.copy(), normals.copy(), np.zeros(n), np.full(n, np.inf), np.zeros(n), np.full(n, np.inf),
            np.zeros((n, 3, 3)), np.zeros((n, 3)),
        )  # fmt: skip
        for rows, fit in fits:
            for column in fields(fit):
                getattr(whole, column.name)[rows] = getattr(fit, column.name)
        return whole


def curvature_variance(fit: LocalFit) -> FloatArray:
    """Variance of a curved surface normal to its tangent plane: ½ Σ_ij II_ij² λ_i λ_j for a Gaussian window."""
    first, second = fit.eigenvalues[:, 0], fit.eigenvalues[:, 1]
    form = fit.second_form**2
    variance: FloatArray = 0.5 * (form[:, 0] * first**2 + 2.0 * form[:, 1] * first * second + form[:, 2] * second**2)
    # Isolated outliers have no second form.
    return np.nan_to_num(variance, nan=0.0)


def excess(drift: FloatArray, bandwidth: float, noise: float) -> FloatArray:
    """Drift beyond that at a straight border, in bandwidths: positive outside of the cloud; at most 1.

    At the straight border of a uniform cloud the local mean lies inward of a point on the border by

        |P (m − p)| = √(2/π) a² / √(a² + σ²),

    whatever the density, and by more beyond it.
    """
    expected = np.sqrt(2.0 / np.pi) * bandwidth**2 / np.hypot(bandwidth, noise)
    return np.asarray(np.minimum((drift - expected) / bandwidth, 1.0))


def stretches(along: FloatArray | None, n: int) -> FloatArray:
    """Aspect ratio [n] of windows elongated along t = ``along`` [n, 3]: |t|; 1 for None."""
    return np.ones(n) if along is None else np.linalg.norm(along, axis=1)


class WeightedCloud:
    """Observations with weights, and their search tree; coordinates are taken relative to ``centre``.

    Parameters
    ----------
    points : [N, 3]
    weights : [N], optional
        How many observations each row stands for; 1 by default.
    lattice : (origin [3], side), optional
        Blocks of a scene that is processed by tiles, see `cloud.lattice`.
    """

    __slots__ = ("centre", "cloud", "n_jobs", "n_points", "size")

    def __init__(
        self, points: FloatArray, weights: FloatArray | None = None, *, n_jobs: int = 1,
        lattice: tuple[FloatArray, float] | None = None,
    ) -> None:  # fmt: skip
        cloud = Cloud(points, weights) if lattice is None else lattice_cloud(points, weights, *lattice)
        self.cloud, self.n_jobs = cloud, n_jobs
        self.centre, self.size, self.n_points = cloud.centre, cloud.size, cloud.n_points

    def sample(self, count: int) -> FloatArray:
        """At most ``count`` observations [n, 3], spread evenly over the cloud; the same on every call."""
        return self.cloud.at(self.cloud.sample(count)) + self.centre

    def fit(self, points: FloatArray, bandwidth: float | FloatArray, *, rounds: int = 0, tol: float = 0.0) -> LocalFit:
        """Local PCA at ``points`` [n, 3] with one ``bandwidth`` or one each [n], projected by ``rounds`` steps.

        A step shorter than ``tol`` bandwidths is the last.
        """
        model = fit_local(self.cloud, points, bandwidth, 2, steps=rounds, tol=tol, errors=False, n_jobs=self.n_jobs)
        normals = model.normals[:, :, 0]
        across = np.einsum("nd,nd->n", model.mean - model.points, normals)
        drift = np.linalg.norm(model.mean - model.points - across[:, None] * normals, axis=1)
        form = np.einsum("npd,nd->np", model.forms, normals)
        seen = model.mass > 0.0
        normals, eigenvalues, form = (
            np.where(seen[:, None], values, 0.0) for values in (normals, model.eigenvalues, form)
        )
        drift, effective = np.where(seen, drift, 0.0), np.where(seen, model.n_effective, 0.0)
        return LocalFit(model.points, normals, eigenvalues, model.mass, drift, form, effective)

    def quadric(
        self, points: FloatArray, normals: FloatArray, bandwidth: float | FloatArray, cut: float | FloatArray, *,
        rounds: int = 3, along: FloatArray | None = None,
    ) -> QuadricFit:  # fmt: skip
        """Project ``points`` [n, 3] with unit ``normals`` [n, 3] onto robust local quadrics.

        Observations whose height differs by more than ``cut`` from the quadric have no weight. Windows are |t| times as
        wide along tangents t = ``along`` [n, 3] as across, |t| ≥ 1, with the area that they have by their bandwidth.
        """
        stretch = stretches(along, len(points))
        tangents = tangents_from_normals(normals)
        if along is not None:
            first = along / stretch[:, None]
            tangents = np.stack([first, np.cross(normals, first)], axis=2)
        model = fit_local(
            self.cloud, points, bandwidth / np.sqrt(stretch), 2, robust=cut, tangents=tangents, stretch=stretch,
            steps=rounds, n_jobs=self.n_jobs,
        )  # fmt: skip
        solved = model.status == 0
        across = model.normals[:, :, 0]
        form = np.where(solved[:, None], np.einsum("npd,nd->np", model.forms, across), 0.0)
        gain = np.where(solved, model.height_gain / PLANE_GAIN, np.inf)
        residual, curvature = np.where(solved, model.residual, np.inf), form[:, 0] + form[:, 2]
        frames = np.concatenate([model.tangents, across[:, :, None]], axis=2)
        return QuadricFit(model.points, across, model.mass, gain, curvature, residual, frames, form)
