"""The principal subbundle of a point cloud in R^d: at every point, the leading k directions of a local PCA."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from subbundle._html import card, dots
from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, Status
from subbundle._validation import as_choice, as_integer, as_nonnegative, as_points, as_positive
from subbundle.bundles._checks import as_bandwidth, as_rank, check_bandwidth, check_directions
from subbundle.bundles._evaluator import Evaluator
from subbundle.bundles._learned import (
    Shifted,
    as_pair,
    mean_shifted,
    relative_gap,
    typical_around,
)
from subbundle.bundles._reduction import reduce_cloud, ridge_in
from subbundle.bundles.base import Field, Frame, Remembers
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.bundles.tuning import MIN_DENSITY, MIN_GAP, SAMPLE
from subbundle.cloud import Cloud
from subbundle.kernels import AUTO, CODES, reach_of
from subbundle.local.frames import sign_of_largest
from subbundle.local.model import LocalModel
from subbundle.local.settings import CENTERINGS, Plan, Settings, Widths, constant_widths, widths_batch


class PrincipalSubbundle(Remembers):
    """Rank-k subbundle of TR^d spanned at p by the leading eigenvectors of the local second moment.

    With weights w_n(p) ∝ φ(|x_n − p|²/a²) and the local mean m(p) = Σ w_n x_n, the second moment is

    =============  =====================================  =================================================
    centering      Σ(p)                                   remark
    =============  =====================================  =================================================
    ``local``      Σ w_n(p) (x_n − m(p))(x_n − m(p))ᵀ     one pass; the paper's choice for data in R^d
    ``recentred``  Σ w_n(m(p)) (x_n − m(p))(x_n − m(p))ᵀ  the paper's definition; two passes
    ``none``       Σ w_n(p) (x_n − p)(x_n − p)ᵀ           principal flow; unstable off the cloud
    =============  =====================================  =================================================

    Velocity P η and force −∂H/∂p of H = ½|P η|² are in closed form and need only λ_k > λ_{k+1}.

    Parameters
    ----------
    points : array-like [N, d]
        Observations. Rows may come in any order: results do not depend on it.
    rank : int
        Dimension k of the subspaces, between 1 and d − 1.
    bandwidth : float or LocalBandwidth
        Standard deviation a of the window along the subspaces, in the units of the data; or a function a(p) of the
        point, for clouds whose noise, density or curvature vary.
    centering : {"local", "recentred", "none"}
    kernel : {"auto", "compact", "gaussian"}
        ``"auto"``: compact in up to 16 dimensions of data, Gaussian above. See `subbundle.kernels`.
    min_density : float
        Fraction of the typical kernel mass below which a point is off the support of the data (status LEFT_SUPPORT).
        On a straight border the mass is 1/2, one bandwidth outside it 0.17, two bandwidths outside 0.02. With 0 the
        bundle is defined wherever an observation is in reach, and `typical_mass` is 1.
    min_gap : float
        (λ_k − λ_{k+1})/λ_k at or below which the gap counts as closed (status GAP_CLOSED).
    typical_mass : float or None
        The kernel mass that counts as typical, where ``points`` are only some of the observations, as those of one tile
        of a large cloud are; None for that of the points themselves. Needs one bandwidth, not a `LocalBandwidth`.
    n_jobs : int or None
        Threads; None for all cores. The results are the same to the bit.

    Attributes
    ----------
    cloud : Cloud
        The observations with their search tree.
    bandwidth : float
        a; with a `LocalBandwidth` the median of a(p) over observations after mean shifts.
    kernel : str
        The kernel in use.
    local_bandwidth : LocalBandwidth or None
        The function a(p), if it is one and not the same everywhere.
    typical_mass : float
        Median of Σ φ over observations after mean shifts; the unit of `Frame.density`. With a `LocalBandwidth` the
        unit is averaged as the bandwidth is.

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
        bandwidth: float | LocalBandwidth,
        *,
        centering: str = "local",
        kernel: str = "auto",
        min_density: float = MIN_DENSITY,
        min_gap: float = MIN_GAP,
        typical_mass: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.cloud = points if isinstance(points, Cloud) else Cloud(points)
        self._rank = as_rank(rank, self.cloud)
        self.bandwidth, self.local_bandwidth = as_bandwidth(bandwidth, self.cloud)
        self.centering = as_choice(centering, "centering", tuple(CENTERINGS))
        self.min_density = as_nonnegative(min_density, "min_density")
        self.min_gap = as_positive(min_gap, "min_gap")
        self.n_jobs = n_jobs
        jobs = resolve_jobs(n_jobs)
        working, self._coordinates = reduce_cloud(self.cloud)
        if self._coordinates.span < self._rank:
            raise ValueError(
                f"rank must not exceed the number of directions in the data; rank={self._rank}, but the points "
                f"span only {self._coordinates.span}. Use rank={self._coordinates.span}."
            )
        self._evaluator = Evaluator(working, jobs)
        self._working = working
        chosen = as_choice(kernel, "kernel", (AUTO, *CODES))
        self.kernel = chosen if chosen != AUTO else "compact" if working.blocks.size else "gaussian"
        self._settings = Settings(
            self._rank,
            constant_widths(self.bandwidth, 0.0, working.dim),
            CODES[self.kernel],
            reach_of(self.kernel, self._rank, working.dim),
            CENTERINGS[self.centering],
            -np.inf,
            self.min_gap,
        )
        if self.local_bandwidth is not None:
            marks, _, _ = self._coordinates.enter(self.local_bandwidth.points)
            self._settings = replace(self._settings, widths=self.local_bandwidth.widths(marks, np.zeros(len(marks))))
        self._length_scale = self.bandwidth
        self.typical_mass = 1.0
        if typical_mass is not None:
            self._set_typical_mass(as_positive(typical_mass, "typical_mass"))
        elif self.min_density > 0.0:
            self._calibrate()

    def _calibrate(self) -> None:
        """Estimate the typical kernel mass; raise where bandwidth or rank do not suit the data."""
        shifted, log_mass, effective = self._shifted(self._working.at(self._working.sample(SAMPLE)))
        finite = np.isfinite(shifted).all(axis=1)
        local = self.local_bandwidth
        if local is not None and finite.any():
            values = self._widths(shifted[finite])
            self.bandwidth, self._length_scale = float(np.median(values)), float(values.min())
        check_bandwidth(self.bandwidth, self._rank, self.cloud, float(np.median(effective)))
        check_directions(self._evaluator, self._settings, self.bandwidth, shifted[finite])
        log_typical = float(np.median(log_mass[np.isfinite(log_mass)]))
        self.typical_mass = float(np.exp(log_typical))
        widths = constant_widths(self.bandwidth, log_typical, self._working.dim)
        if local is not None:
            marks = self._settings.widths[2]
            widths = local.widths(marks, typical_around(marks, shifted[finite], log_mass[finite], local.smoothing))
        self._set_unit(widths)

    def _set_typical_mass(self, typical_mass: float) -> None:
        """Use the typical kernel mass that was given."""
        if self.local_bandwidth is not None:
            raise ValueError("typical_mass needs one bandwidth; it is a LocalBandwidth. Leave typical_mass out.")
        self.typical_mass = typical_mass
        self._set_unit(constant_widths(self.bandwidth, float(np.log(typical_mass)), self._working.dim))

    def _set_unit(self, widths: Widths) -> None:
        """Measure kernel masses relative to the typical ones of ``widths``."""
        share = float(np.log(self.min_density)) if self.min_density > 0.0 else -np.inf
        self._settings = replace(self._settings, widths=widths, log_share=share)

    def masses_after_shifts(self, points: Any) -> FloatArray:
        """Σ φ [batch] at ``points`` [batch, d], observations of the cloud, after mean shifts.

        Their median is `typical_mass`. The mass of an observation that has no neighbours is 0.
        """
        points = as_points(points, "points", dim=self.ambient_dim)
        return np.asarray(np.exp(self._shifted(self._coordinates.enter(points)[0])[1]))

    is_costly = False

    @property
    def ambient_dim(self) -> int:
        """Dimension d of the space of the observations."""
        return int(self.cloud.dim)

    @property
    def rank(self) -> int:
        """Dimension k of the subspaces."""
        return self._rank

    @property
    def length_scale(self) -> float:
        """The bandwidth, the smallest one where it varies: on shorter lengths the subspaces vary little."""
        return self._length_scale

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor other than the observations, with the kernel in use."""
        width = self.bandwidth if self.local_bandwidth is None else self.local_bandwidth
        return {"rank": self.rank, "bandwidth": width, "centering": self.centering, "kernel": self.kernel}

    @property
    def rows(self) -> FloatArray:
        """The observations [N, d] in the order they were given."""
        return self.cloud.points

    @property
    def varies(self) -> bool:
        """Whether the bandwidth depends on the point."""
        return self.local_bandwidth is not None

    def __repr__(self) -> str:
        width = f"{self.bandwidth:g}" if self.local_bandwidth is None else repr(self.local_bandwidth)
        return (
            f"PrincipalSubbundle({self.cloud.n_points} points in R^{self.cloud.dim}, rank={self.rank}, "
            f"bandwidth={width}, centering={self.centering!r}, kernel={self.kernel!r})"
        )

    def _repr_html_(self) -> str:
        facts = [("observations", f"{self.cloud.n_points} in R^{self.cloud.dim}"), ("rank", self.rank)]
        width = ("bandwidth", self.bandwidth if self.local_bandwidth is None else "varying")
        facts += [width, ("kernel", self.kernel), ("centring", self.centering)]
        return card("PrincipalSubbundle", facts, picture=dots(self.rows))

    def frame(self, points: Any) -> Frame:
        """Subspaces at ``points`` [batch, d]; see `Frame`."""
        points = as_points(points, "points", dim=self.ambient_dim)
        working, _, directions = self._coordinates.enter(points)
        values, vectors, mean, log_mass, status = self._evaluator.frame(self._settings, working)
        k, dim = self.rank, self.ambient_dim
        leave = self._coordinates.leave
        eigenvalues = np.zeros((points.shape[0], dim))
        shown = min(dim, values.shape[1])
        eigenvalues[:, :shown] = values[:, :shown]
        columns = np.stack([leave(vectors[:, :, i], directions) for i in range(k)], axis=2)
        return Frame(
            vectors=columns * sign_of_largest(columns),
            eigenvalues=eigenvalues,
            mean=leave(mean, directions) + self._coordinates.centre,
            density=np.exp(log_mass),
            gap=relative_gap(values, k),
            status=status,
        )

    def field(self, points: Any, covectors: Any) -> Field:
        """Velocity P η and force −∂H/∂p at ``points``, ``covectors`` [batch, d]; see `Field`.

        Rows with a number that is not finite, or whose force overflows, get the status NOT_FINITE, so that an
        integrator can continue with the others.
        """
        points, covectors = as_pair(points, covectors, self.ambient_dim)
        finite = np.isfinite(points).all(axis=1) & np.isfinite(np.einsum("bd,bd->b", covectors, covectors))
        good = slice(None) if finite.all() else np.flatnonzero(finite)
        velocity, force = np.full((2, *points.shape), np.nan)
        status = np.full(len(points), Status.NOT_FINITE, np.int8)
        working, reduced, directions = self._coordinates.enter(points[good], covectors[good])
        found = self._evaluator.field(self._settings, working, reduced)
        velocity[good], force[good] = (self._coordinates.leave(vectors, directions) for vectors in found[:2])
        status[good] = found[2]
        overflowed = (status == Status.OK) & ~np.isfinite(force).all(axis=1)
        velocity[overflowed], force[overflowed], status[overflowed] = np.nan, np.nan, Status.NOT_FINITE
        return Field(velocity, force, status)

    def rest(self, points: FloatArray, plan: Plan) -> LocalModel:
        """See `LearnedSubbundle.rest`."""
        return ridge_in(self._working, self._coordinates, self._settings, points, plan, self.n_jobs)

    def bandwidth_at(self, points: Any) -> FloatArray:
        """a(p) [batch] at ``points`` [batch, d]."""
        points = as_points(points, "points", dim=self.ambient_dim)
        return self._widths(self._coordinates.enter(points)[0])

    def landmarks(self, count: int) -> FloatArray:
        """At most ``count`` observations [n, d] after mean shifts, spread over the cloud; the same on every call."""
        means, _, _ = self._shifted(self._working.at(self._working.sample(as_integer(count, "count", low=1))))
        means = means[np.isfinite(means).all(axis=1)]
        directions = np.zeros((len(means), 2, self.ambient_dim))
        return self._coordinates.leave(means, directions) + self._coordinates.centre

    def _widths(self, working: FloatArray) -> FloatArray:
        widths, log_mass = np.empty(len(working)), np.empty(len(working))
        widths_batch(self._settings.widths, working, widths, np.empty_like(working), log_mass)
        return widths

    def _shifted(self, points: FloatArray) -> Shifted:
        """Observations (working coordinates) after mean shifts, with log masses and effective neighbours."""
        mass, settings = self._evaluator.mass, self._settings
        return mean_shifted(mass(settings, points, 0.0), lambda rows: mass(settings, rows, -1.0))
