"""The protocol of a rank-k subbundle of the tangent bundle of R^D.

A subbundle gives at every point p a k-dimensional subspace with projector P(p). It makes R^D sub-Riemannian, with the
Hamiltonian H(p, η) = ½ |P(p) η|², and its geodesics solve

    ṗ = P(p) η              (the *velocity*)
    η̇ = −∂H/∂p (p, η)       (the *force*)

A bundle gives its subspaces (`frame`) and its Hamiltonian vector field (`field`), and need give nothing else: flow,
exp, log and submanifolds take what else there may be, as observations, from `completed`, and ask for no kind of bundle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from subbundle._types import FloatArray, StatusArray
from subbundle.local.model import LocalModel
from subbundle.local.settings import Plan

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Frame:
    """The subspaces at a batch of points.

    Attributes
    ----------
    vectors : [batch, dim, rank]
        Orthonormal basis of each subspace; the column with the larger eigenvalue first, its largest entry positive.
    eigenvalues : [batch, dim]
        All eigenvalues of the second moment, descending (length²). Analytic bundles give 1 (rank times), then 0.
    mean : [batch, dim]
        The local mean m(p); the point itself for analytic bundles.
    density : [batch]
        Kernel mass relative to its typical value on the data, so 1 is typical and 0.5 a straight border.
    gap : [batch]
        (λ_k − λ_{k+1}) / λ_k, between 0 (subspace undefined) and 1.
    status : [batch]
        `Status` of each row. Rows that are not OK hold the best that could be computed, NaN where nothing could.
    duals : [batch, dim, rank] or None
        Covectors f^i that span the dual subspace, f^i·f_j = δ_ij, where the metric determines them (h f_i on a
        Riemannian manifold). None stands for F (FᵀF)⁻¹, which is F itself for an orthonormal frame.
    """

    vectors: FloatArray
    eigenvalues: FloatArray
    mean: FloatArray
    density: FloatArray
    gap: FloatArray
    status: StatusArray
    duals: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """The Hamiltonian vector field at a batch of points and covectors.

    Attributes
    ----------
    velocity : [batch, dim]
        P η. Rows whose status is not OK are NaN.
    force : [batch, dim]
        −∂H/∂p. Rows whose status is not OK are NaN.
    status : [batch]
        `Status` of each row.
    """

    velocity: FloatArray
    force: FloatArray
    status: StatusArray


@runtime_checkable
class Subbundle(Protocol):
    """The methods of a bundle. Both take batches of float64 arrays, ``[batch, dim]``, and are pure.

    A row's result must not depend on the other rows, to the bit: batches are split and reordered.
    """

    @property
    def ambient_dim(self) -> int:
        """Dimension D of the ambient space."""

    @property
    def rank(self) -> int:
        """Dimension k of the subspaces."""

    @property
    def length_scale(self) -> float:
        """The length over which subspaces vary (the bandwidth, for data). Tolerances and steps are relative to it."""

    @property
    def is_costly(self) -> bool:
        """Whether `field` takes a millisecond a row rather than microseconds, as with a force by central differences.

        Searches and submanifolds of such a bundle are given fewer evaluations.
        """

    def frame(self, points: FloatArray) -> Frame:
        """Return the subspaces at ``points`` [batch, dim]."""

    def field(self, points: FloatArray, covectors: FloatArray) -> Field:
        """Velocity and force at ``points`` [batch, dim] and ``covectors`` [batch, dim]."""


@runtime_checkable
class LearnedSubbundle(Subbundle, Protocol):
    """The further methods of a bundle learned from data, in R^d and on a manifold alike.

    The space around it (displacement, moving, transport) is `surroundings_of` the bundle.
    """

    @property
    def rows(self) -> FloatArray:
        """The observations as flat rows [N, dim], in the order in which they were given."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of its constructor other than the observations, by name."""

    @property
    def bandwidth(self) -> float:
        """a; its median where it varies."""

    @property
    def varies(self) -> bool:
        """Whether the bandwidth depends on the point."""

    @property
    def min_density(self) -> float:
        """Fraction of the typical kernel mass below which a point is off the support."""

    @property
    def typical_mass(self) -> float:
        """Typical kernel mass on the data."""

    def landmarks(self, count: int) -> FloatArray:
        """At most ``count`` observations [n, dim] after mean shifts, spread over the cloud."""

    def bandwidth_at(self, points: FloatArray) -> FloatArray:
        """a(p) [batch] at ``points`` [batch, dim]."""

    def rest(self, points: FloatArray, plan: Plan) -> LocalModel:
        """The local model at ``points`` [batch, dim], projected onto the ridge; see `subbundle.ridge_project`.

        Whatever the centring, tangents are those about the mean of the weights at the point itself, or for order 2
        those of the fitted quadric; masses are relative to the typical one.
        """

    def remembered(self, make: Callable[[Any], _T]) -> _T:
        """``make(self)``, computed on the first call and cached with the bundle."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What a ``bundle`` may have besides the methods of `Subbundle`, with the defaults of one that does not."""

    bundle: Any

    @property
    def n_jobs(self) -> int | None:
        """Threads; None for all cores."""
        jobs: int | None = getattr(self.bundle, "n_jobs", None)
        return jobs

    @property
    def learned(self) -> LearnedSubbundle | None:
        """The bundle with its observations, landmarks and widths; None in closed form."""
        return self.bundle if isinstance(self.bundle, LearnedSubbundle) else None

    def project(self, points: FloatArray, covectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points near ``points`` [batch, dim] on the submanifold of R^D that geodesics stay on, and covectors
        [batch, dim] that give the same geodesics there; both arrays themselves where that is all of R^D."""
        project = getattr(self.bundle, "project", None)
        return (points, covectors) if project is None else project(points, covectors)


def completed(bundle: Any) -> Completed:
    """``bundle``, or None, with the members that it need not write. The space around it is `surroundings_of` it."""
    return Completed(bundle)


class Remembers:
    """A cache of values computed from an object: the graph of its landmarks, its connected components."""

    def remembered(self, make: Callable[[Any], _T]) -> _T:
        """``make(self)``, computed on the first call and cached with the object."""
        found: dict[Hashable, Any] = self.__dict__.setdefault("_remembered", {})
        if make not in found:
            found[make] = make(self)
        result: _T = found[make]
        return result
