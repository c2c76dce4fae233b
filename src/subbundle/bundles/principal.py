"""The principal subbundle of a point cloud in R^d: at every point, the leading k directions of a local PCA."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, Status, SubbundleWarning
from subbundle._validation import as_choice, as_integer, as_points, as_positive
from subbundle.bundles._blocked import Blocked
from subbundle.bundles._dense import Dense
from subbundle.bundles._reduction import reduce_cloud
from subbundle.bundles._settings import CENTERINGS, Settings
from subbundle.bundles.base import Field, Frame
from subbundle.cloud import Cloud
from subbundle.kernels import CODES

# Observations at which the typical kernel mass is taken; its median settles long before.
_SAMPLE = 512
# Steps of the mean shift that carry them into the middle of the cloud first.
_SHIFTS = 3


class PrincipalSubbundle:
    """Rank-k subbundle of TR^d spanned at p by the leading eigenvectors of the local second moment.

    With weights w_n(p) ∝ φ(|x_n − p|²/a²) and the local mean m(p) = Σ w_n x_n, the second moment is

    =============  ====================================  ==================================================
    centering      Σ(p)                                  remark
    =============  ====================================  ==================================================
    ``local``      Σ w_n(p) (x_n − m(p))(x_n − m(p))ᵀ     one pass; the paper's choice for data in R^d
    ``recentred``  Σ w_n(m(p)) (x_n − m(p))(x_n − m(p))ᵀ  the paper's definition; two passes
    ``none``       Σ w_n(p) (x_n − p)(x_n − p)ᵀ           principal flow; strays once it is off the cloud
    =============  ====================================  ==================================================

    Velocity P η and force −∂H/∂p of H = ½|P η|² are in closed form and need only λ_k > λ_{k+1}.

    Parameters
    ----------
    points : array-like [N, d]
        Observations. Rows may come in any order: results do not depend on it.
    rank : int
        Dimension k of the subspaces, between 1 and d − 1.
    bandwidth : float
        Standard deviation a of the Gaussian, in the units of the data.
    centering : {"local", "recentred", "none"}
    kernel : {"gaussian", "compact"}
        See `subbundle.kernels`.
    min_density : float
        Part of the typical kernel mass below which a point is off the support of the data (status LEFT_SUPPORT). On a
        straight border the mass is 1/2, one bandwidth outside it 0.16, two bandwidths outside 0.02.
    min_gap : float
        (λ_k − λ_{k+1})/λ_k at or below which the gap counts as closed (status GAP_CLOSED).
    n_jobs : int or None
        Threads; None for all cores. The results are the same to the bit.

    Attributes
    ----------
    cloud : Cloud
        The observations with their search tree.
    typical_mass : float
        Median of Σ φ over points in the middle of the cloud; the unit of `Frame.density`.

    Examples
    --------
    >>> import numpy as np, subbundle as sb
    >>> angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> bundle = sb.PrincipalSubbundle(circle, rank=1, bandwidth=0.1)
    >>> np.abs(bundle.frame(np.array([[1.0, 0.0]])).vectors[0, :, 0]).round(6).tolist()
    [0.0, 1.0]
    """

    def __init__(
        self,
        points: Any,
        rank: int,
        bandwidth: float,
        *,
        centering: str = "local",
        kernel: str = "gaussian",
        min_density: float = 0.05,
        min_gap: float = 1e-3,
        n_jobs: int | None = None,
    ) -> None:
        self.cloud = points if isinstance(points, Cloud) else Cloud(points)
        dim = self.cloud.dim
        if dim < 2:
            raise ValueError(f"points must have at least 2 coordinates for a proper subspace; got {dim}.")
        why = f"a proper subspace of R^{dim}"
        self._rank = as_integer(rank, "rank", low=1, high=dim - 1, why=why)
        if self.cloud.n_points < self._rank + 1:
            raise ValueError(
                f"points must hold at least rank + 1 = {self._rank + 1} observations to span {self._rank} directions; "
                f"got {self.cloud.n_points}."
            )
        self.bandwidth = as_positive(
            bandwidth, "bandwidth", hint="It is the standard deviation of the Gaussian kernel, in the units of the data."
        )
        self.centering = as_choice(centering, "centering", tuple(CENTERINGS))
        self.kernel = as_choice(kernel, "kernel", tuple(CODES))
        self.min_density = as_positive(min_density, "min_density")
        self.min_gap = as_positive(min_gap, "min_gap")
        self.n_jobs = n_jobs
        jobs = resolve_jobs(n_jobs)
        working, self._coordinates = reduce_cloud(self.cloud)
        if self._coordinates.span < self._rank:
            raise ValueError(
                f"rank must not exceed the number of directions in the data; rank={self._rank}, but the points span only "
                f"{self._coordinates.span}. Use rank={self._coordinates.span}."
            )
        self._evaluator = Blocked(working, jobs) if working.blocks.size else Dense(working, self._rank, jobs)
        self._settings = Settings(
            self._rank, self.bandwidth, CODES[self.kernel], CENTERINGS[self.centering], -np.inf, self.min_gap
        )
        self.typical_mass, self._log_typical = self._typical_mass(working)
        self._settings = replace(self._settings, log_floor=self._log_typical + float(np.log(self.min_density)))

    @property
    def ambient_dim(self) -> int:
        """Dimension d of the space of the observations."""
        return self.cloud.dim

    @property
    def rank(self) -> int:
        """Dimension k of the subspaces."""
        return self._rank

    @property
    def length_scale(self) -> float:
        """The bandwidth: on shorter lengths the subspaces hardly turn."""
        return self.bandwidth

    def __repr__(self) -> str:
        return (
            f"PrincipalSubbundle({self.cloud.n_points} points in R^{self.cloud.dim}, rank={self.rank}, "
            f"bandwidth={self.bandwidth:g}, centering={self.centering!r}, kernel={self.kernel!r})"
        )

    def frame(self, points: Any) -> Frame:
        """Subspaces at ``points`` [batch, d]; see `Frame`."""
        points = as_points(points, "points", dim=self.ambient_dim)
        working, _, directions = self._coordinates.enter(points)
        values, vectors, mean, log_mass, status = self._evaluator.frame(self._settings, working)
        k, dim = self.rank, self.ambient_dim
        leave = self._coordinates.leave
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.where(values[:, k - 1] > 0.0, 1.0 - values[:, k] / values[:, k - 1], 0.0)
        eigenvalues = np.zeros((points.shape[0], dim))
        shown = min(dim, values.shape[1])
        eigenvalues[:, :shown] = values[:, :shown]
        return Frame(
            vectors=np.stack([leave(vectors[:, :, i], directions) for i in range(k)], axis=2),
            eigenvalues=eigenvalues,
            mean=leave(mean, directions) + self._coordinates.centre,
            density=np.exp(log_mass - self._log_typical),
            gap=gap,
            status=status,
        )

    def field(self, points: Any, covectors: Any) -> Field:
        """Velocity P η and force −∂H/∂p at ``points``, ``covectors`` [batch, d]; see `Field`.

        Rows with a number that is not finite get the status NOT_FINITE, so that an integrator can go on with the others.
        """
        points = np.ascontiguousarray(points, dtype=np.float64)
        covectors = np.ascontiguousarray(covectors, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.ambient_dim or covectors.shape != points.shape:
            raise ValueError(
                f"points and covectors must both have shape (batch, {self.ambient_dim}); "
                f"got {points.shape} and {covectors.shape}."
            )
        finite = np.isfinite(points).all(axis=1) & np.isfinite(covectors).all(axis=1)
        if not finite.all():
            return self._partial_field(points, covectors, finite)
        working, pressed, directions = self._coordinates.enter(points, covectors)
        velocity, force, status = self._evaluator.field(self._settings, working, pressed)
        leave = self._coordinates.leave
        return Field(leave(velocity, directions), leave(force, directions), status)

    def _partial_field(self, points: FloatArray, covectors: FloatArray, finite: np.ndarray[Any, Any]) -> Field:
        velocity, force = np.full_like(points, np.nan), np.full_like(points, np.nan)
        status = np.full(points.shape[0], Status.NOT_FINITE, np.int8)
        inner = self.field(points[finite], covectors[finite])
        velocity[finite], force[finite], status[finite] = inner.velocity, inner.force, inner.status
        return Field(velocity, force, status)

    def _typical_mass(self, working: Cloud) -> tuple[float, float]:
        """Median kernel mass in the middle of the cloud, after checking that the bandwidth sees enough of it.

        Observations are carried towards the middle by a few steps of the mean shift, the first of them without the
        observation itself. In high dimension an observation stands alone on its own noise, and its kernel mass says
        nothing of the mass where geodesics run.
        """
        points = working.at(working.sample(_SAMPLE))
        mean, log_mass, effective = self._evaluator.mass(self._settings, points, 0.0)
        for _ in range(_SHIFTS):
            alive = np.isfinite(mean).all(axis=1)
            log_mass, effective = np.full(len(mean), -np.inf), np.zeros(len(mean))
            if alive.any():
                mean[alive], log_mass[alive], effective[alive] = self._evaluator.mass(self._settings, mean[alive], -1.0)
        self._check_bandwidth(working, points, float(np.median(effective)))
        self._check_rank(mean[np.isfinite(mean).all(axis=1)])
        log_typical = float(np.median(log_mass))
        return float(np.exp(log_typical)), log_typical

    def _check_bandwidth(self, working: Cloud, points: FloatArray, effective: float) -> None:
        if effective < self.rank + 1:
            everything = working.at(np.arange(working.n_points)) if working.n_points <= 4096 else (
                working.at(working.sample(4096))
            )
            squared = ((points[:64, None, :] - everything[None, :, :]) ** 2).sum(axis=2)
            part = everything.shape[0] / working.n_points
            wanted = min(max(round(4 * (self.rank + 1) * part), 1), squared.shape[1] - 1)
            enough = float(np.median(np.sqrt(np.partition(squared, wanted, axis=1)[:, wanted])))
            raise ValueError(
                f"bandwidth must reach at least rank + 1 = {self.rank + 1} neighbours at a typical point; "
                f"bandwidth={self.bandwidth:g} gives {effective:.2g} effective neighbours. "
                f"Try bandwidth={enough:.3g} or more."
            )
        if self.bandwidth > self.cloud.size:
            warnings.warn(
                f"bandwidth={self.bandwidth:g} is larger than the whole cloud (diagonal {self.cloud.size:g}): every point "
                f"sees all observations alike, and the subspaces are those of one global PCA. "
                f"Try a bandwidth below {0.1 * self.cloud.size:.3g}.",
                SubbundleWarning,
                stacklevel=4,
            )

    def _check_rank(self, middle: FloatArray) -> None:
        values, _, _, _, status = self._evaluator.frame(self._settings, middle)
        closed = status == Status.GAP_CLOSED
        flat = values[:, self.rank - 1] <= 1e-10 * values[:, 0]
        if np.mean(closed & flat) > 0.5:
            seen = int(np.median(np.count_nonzero(values > 1e-10 * values[:, :1], axis=1)))
            raise ValueError(
                f"rank must not exceed the number of directions in the data; rank={self.rank}, but a typical "
                f"neighbourhood at bandwidth={self.bandwidth:g} spans only {seen}. Use rank={seen}, or a larger bandwidth."
            )
