"""The principal subbundle of data on a known Riemannian manifold: at every point, a local tangent PCA."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from subbundle._html import card, dots
from subbundle._memory import blocks
from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, Status, evenly
from subbundle._validation import as_choice, as_integer, as_points, as_positive
from subbundle.bundles._checks import aligned, check_bandwidth_on, check_cut_locus, check_rank
from subbundle.bundles._learned import Shifted, as_pair, mean_shifted, relative_gap
from subbundle.bundles._riemannian_differences import Differences
from subbundle.bundles._riemannian_exact import Exact, curvature_of
from subbundle.bundles.base import Field, Frame, Remembers
from subbundle.bundles.tuning import MIN_DENSITY, MIN_GAP, SAMPLE
from subbundle.cloud import Cloud
from subbundle.kernels import GAUSSIAN
from subbundle.local.frames import sign_of_largest
from subbundle.local.logs import Observations
from subbundle.local.manifold import iterate_on
from subbundle.local.model import LocalModel
from subbundle.local.settings import CENTERINGS, LOCAL, Plan, Settings, constant_widths
from subbundle.spaces.base import Space
from subbundle.spaces.rows import as_observations, flattened, retract, shaped, tangent_part

# Distance²/a² up to which an observation counts as the point itself.
_SAME = 1e-20


class RiemannianSubbundle(Remembers):
    """Rank-k subbundle of TN spanned at p by the leading eigenvectors of a local tangent second moment.

    Observations x_n on a manifold N with metric h have the weights w_n(p) ∝ exp(−dist(p, x_n)²/2a²), the mean log
    μ(p) = Σ w_n log_p(x_n) and the local mean m(p) = exp_p(μ(p)). The second moment is an endomorphism of the tangent
    space: v ⊗ v acts as u ↦ h(v, u) v, in any basis the matrix v vᵀ h.

    =============  ==========================================  =====================================================
    centering      Σ(p)                                        remark
    =============  ==========================================  =====================================================
    ``recentred``  Σ w_n(m) log_m(x_n) ⊗ log_m(x_n), m = m(p)  the paper's definition; eigenvectors are transported
                                                               in parallel from m to p
    ``local``      Σ w_n(p) z_n ⊗ z_n, z_n = log_p(x_n) − μ    all in T_pN: half the logs and no transport
    ``none``       Σ w_n(p) log_p(x_n) ⊗ log_p(x_n)            principal flow; unstable off the cloud
    =============  ==========================================  =====================================================

    The bundle works with flat arrays [batch, D] in the ambient space of N, and its geodesics stay on N. On spheres,
    hyperbolic spaces and R^d the force is in closed form; elsewhere it is a central difference of H, with an error
    of about 1e-9 of its size, and takes 0.2 to 0.5 ms per point and 60 observations in reach. Where it does
    (``is_costly``) geodesics end after 20 steps a length scale, all of a submanifold or an atlas after 2500 or 40
    each, searches after a tenth of the evaluations, and charts have a quarter of the geodesics, unless ``max_steps``
    or ``n_geodesics`` is given; statuses report it.

    Parameters
    ----------
    points : array-like [N, *space.shape] or [N, D], or Cloud
        Observations, D the number of entries of a point. Their order does not matter. A `Cloud` may have weights.
    rank : int
        Dimension k of the subspaces, between 1 and dim N. For k = dim N the geodesics are those of N itself.
    bandwidth : float
        Standard deviation a of the Gaussian, a distance on N.
    space : Space
        The manifold: one of `subbundle.spaces`, or `subbundle.spaces.from_geomstats` of a geomstats space.
    centering : {"recentred", "local", "none"}
    min_density, min_gap : float
        As in `PrincipalSubbundle`: fraction of the typical kernel mass below which a point is off the support, and
        relative gap at or below which the subspace is undefined.
    n_jobs : int or None
        Threads; None for all cores. The results are the same to the bit.

    Attributes
    ----------
    observations : [N, *space.shape]
        The observations as points of the space.
    typical_mass : float
        Median of Σ exp(−dist²/2a²) over observations after mean shifts; the unit of `Frame.density`.

    Notes
    -----
    A point with an observation in reach on its cut locus has no subspace (status NOT_FINITE). Points off N are
    projected onto it. `Frame.eigenvalues` has D columns: those of the dim N tangent directions, then zeros.

    Examples
    --------
    >>> import numpy as np, subbundle as sb
    >>> angle = np.linspace(0.0, 2.0 * np.pi, 300, endpoint=False)
    >>> parallel = np.column_stack([0.8 * np.cos(angle), 0.8 * np.sin(angle), np.full(300, 0.6)])
    >>> bundle = sb.RiemannianSubbundle(parallel, rank=1, bandwidth=0.1, space=sb.spaces.Sphere(2))
    >>> np.abs(bundle.frame(np.array([[0.8, 0.0, 0.6]])).vectors[0, :, 0]).round(6).tolist()
    [0.0, 1.0, 0.0]
    """

    def __init__(
        self,
        points: Any,
        rank: int,
        bandwidth: float,
        *,
        space: Space,
        centering: str = "recentred",
        min_density: float = MIN_DENSITY,
        min_gap: float = MIN_GAP,
        n_jobs: int | None = None,
    ) -> None:
        given = points if isinstance(points, Cloud) else None
        rows = as_observations(points if given is None else given.points, space)
        self.space = space
        why = f"dimensions of the tangent spaces of {space!r}; rank = dim is the manifold itself"
        self._rank = as_integer(rank, "rank", low=1, high=space.dim, why=why)
        if len(rows) < self._rank + 1:
            raise ValueError(
                f"points must hold at least rank + 1 = {self._rank + 1} observations to span {self._rank} directions; "
                f"got {len(rows)}."
            )
        hint = "It is the standard deviation of the Gaussian kernel, a distance on the manifold."
        self.bandwidth = as_positive(bandwidth, "bandwidth", hint=hint)
        self.centering = as_choice(centering, "centering", tuple(CENTERINGS))
        self.min_density = as_positive(min_density, "min_density")
        self.min_gap = as_positive(min_gap, "min_gap")
        self.n_jobs = n_jobs
        self.observations = shaped(space, rows)
        # Leaf order is a function of the set of points, and spreads a sample over all of it.
        order = Cloud(rows).order
        self._rows = np.ascontiguousarray(aligned(space, rows)[order])
        weights = np.ones(len(rows))
        if given is not None:
            weights[given.order] = given.weights.ravel()[: len(rows)]
        self._near = Observations(space, self._rows, weights[order])
        self._settings = Settings(
            self._rank,
            constant_widths(self.bandwidth, 0.0, 0),
            GAUSSIAN,
            0.0,
            CENTERINGS[self.centering],
            -np.inf,
            self.min_gap,
        )
        curvature, jobs = curvature_of(space), resolve_jobs(n_jobs)
        weighted = np.column_stack([self._rows, weights[order]])
        self._evaluator: Exact | Differences = (
            Differences(space, weighted, jobs) if curvature is None else Exact(space, curvature, weighted, jobs)
        )
        around = float(np.nanmax(space.dist(shaped(space, self._rows), shaped(space, self._rows[0]))))
        self._length_scale = min(self.bandwidth, 2.0 * around) if around > 0.0 else self.bandwidth
        self._calibrate()

    @property
    def ambient_dim(self) -> int:
        """Number D of entries of a point."""
        return self.space.ambient_dim

    @property
    def rank(self) -> int:
        """Dimension k of the subspaces."""
        return self._rank

    @property
    def length_scale(self) -> float:
        """The bandwidth, or the size of the cloud if that is less: on shorter lengths the subspaces vary little."""
        return self._length_scale

    @property
    def is_costly(self) -> bool:
        """Whether the force is a central difference of H, which takes hundreds of logs."""
        return isinstance(self._evaluator, Differences)

    def __repr__(self) -> str:
        return (
            f"RiemannianSubbundle({len(self._rows)} points on {self.space!r}, rank={self.rank}, "
            f"bandwidth={self.bandwidth:g}, centering={self.centering!r})"
        )

    def _repr_html_(self) -> str:
        facts = [("observations", f"{len(self._rows)} on {self.space!r}"), ("rank", self.rank)]
        facts += [("bandwidth", self.bandwidth), ("centring", self.centering)]
        return card("RiemannianSubbundle", facts, picture=dots(self._rows))

    def frame(self, points: Any) -> Frame:
        """Subspaces at ``points`` [batch, D]; see `Frame`."""
        points = retract(self.space, as_points(points, "points", dim=self.ambient_dim))
        batch, dim, k = len(points), self.space.dim, self.rank
        vectors, duals = np.full((2, batch, self.ambient_dim, k), np.nan)
        eigenvalues, mean = np.zeros((batch, self.ambient_dim)), np.full_like(points, np.nan)
        density, gap = np.zeros(batch), np.zeros(batch)
        status = np.full(batch, Status.NOT_FINITE, np.int8)
        good = np.flatnonzero(np.isfinite(points).all(axis=1))
        if good.size:
            found = self._evaluator.frame(self._settings, points[good])
            columns = np.swapaxes(found.vectors, 1, 2)
            sign = sign_of_largest(columns)
            vectors[good], duals[good] = columns * sign, np.swapaxes(found.duals, 1, 2) * sign
            eigenvalues[good, :dim] = found.values
            mean[good], status[good] = found.mean, found.status
            density[good] = np.exp(found.log_mass - self._log_typical)
            gap[good] = relative_gap(found.values, k)
        return Frame(vectors, eigenvalues, mean, density, gap, status, duals)

    def field(self, points: Any, covectors: Any) -> Field:
        """Velocity Σ (η·f_i) f_i and force −∂H/∂p at ``points``, ``covectors`` [batch, D]; see `Field`.

        Rows with a number that is not finite get the status NOT_FINITE, so that an integrator can continue with
        the others.
        """
        points, covectors = as_pair(points, covectors, self.ambient_dim)
        points = retract(self.space, points)
        velocity, force = np.full((2, *points.shape), np.nan)
        status = np.full(len(points), Status.NOT_FINITE, np.int8)
        good = np.flatnonzero(np.isfinite(points).all(axis=1) & np.isfinite(covectors).all(axis=1))
        if good.size:
            found = self._evaluator.field(self._settings, points[good], covectors[good])
            velocity[good], force[good], status[good] = found
        return Field(velocity, force, status)

    def project(self, points: FloatArray, covectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Project ``points`` [batch, D] onto N and ``covectors`` [batch, D] into the tangent spaces there.

        The component of η that vanishes on T_pN changes neither the curve nor H, but grows along it; on a quotient, the
        component along the orbit must vanish. The flow calls this at the start and after each step.
        """
        landed, tangent = np.empty_like(points), np.empty_like(covectors)
        for rows in blocks(len(points), self.space.dim * self.ambient_dim):
            landed[rows] = retract(self.space, points[rows])
            tangent[rows] = tangent_part(self.space, landed[rows], covectors[rows])
        return landed, tangent

    def rest(self, points: FloatArray, plan: Plan) -> LocalModel:
        """See `LearnedSubbundle.rest`."""
        plan = replace(plan, log_share=float(np.log(self.min_density)), min_gap=self.min_gap)
        start, jobs = retract(self.space, points), resolve_jobs(self.n_jobs)
        return iterate_on(self._near, start, self.bandwidth, self._log_typical, plan, jobs)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor other than the observations."""
        return {"rank": self.rank, "bandwidth": self.bandwidth, "centering": self.centering, "space": self.space}

    @property
    def rows(self) -> FloatArray:
        """The observations as flat rows [N, D], in the order they were given."""
        return flattened(self.space, self.observations)

    @property
    def varies(self) -> bool:
        """The bandwidth is the same everywhere."""
        return False

    def bandwidth_at(self, points: FloatArray) -> FloatArray:
        """The bandwidth [batch] at ``points`` [batch, D]."""
        return np.full(len(points), self.bandwidth)

    def landmarks(self, count: int) -> FloatArray:
        """At most ``count`` observations [n, D] after mean shifts, spread over the cloud; the same on every call."""
        means = self._shifted(self._sample(count))[0]
        return aligned(self.space, means[np.isfinite(means).all(axis=1)])

    def _calibrate(self) -> None:
        """Estimate the typical kernel mass, and check that bandwidth and rank suit the data."""
        shifted, log_mass, effective = self._shifted(self._sample(SAMPLE))
        check_bandwidth_on(self.space, self.bandwidth, self._rank, self._rows, float(np.median(effective)))
        if self._rank < self.space.dim:
            found = self._evaluator.frame(self._settings, shifted[np.isfinite(shifted).all(axis=1)])
            check_rank(self.bandwidth, self._rank, found.values, found.status)
        self._log_typical = float(np.median(log_mass))
        self.typical_mass = float(np.exp(self._log_typical))
        self._settings = replace(self._settings, log_share=self._log_typical + float(np.log(self.min_density)))

    def _sample(self, count: int) -> FloatArray:
        return np.asarray(self._rows[evenly(len(self._rows), as_integer(count, "count", low=1))])

    def _shifted(self, points: FloatArray) -> Shifted:
        """Observations after mean shifts, with log masses and effective neighbours."""
        settings = replace(self._settings, centering=LOCAL)

        def shifted(rows: FloatArray, apart: float) -> Shifted:
            found = self._evaluator.frame(settings, rows, apart)
            cut = np.flatnonzero(found.status == Status.NOT_FINITE)
            if cut.size and apart >= 0.0:
                check_cut_locus(self.space, self.bandwidth, self._rows, rows[cut[0]])
            return found.mean, found.log_mass, found.effective

        return mean_shifted(shifted(points, _SAME), lambda rows: shifted(rows, -1.0))
