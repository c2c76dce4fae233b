"""The logarithm: the covector at a base point whose geodesic ends at a target.

exp restricted to the dual subspace, v ↦ exp_p(F v), v in R^k, is a chart; ``search="dual"`` searches the v whose
geodesic comes nearest to the target: its normal coordinates. ``search="full"`` searches the whole cotangent space R^d,
whose further directions change the curvature of the geodesic, and comes nearer to targets off the submanifold.

The objective is |exp_p(η) − y|², and among equal residuals the smallest H. The paper writes |exp_p(η) − y|² + H(p, η);
taken literally its minimiser on a flat space is ⅔ of the true vector. ``penalty=1`` gives that objective, for
comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from subbundle._html import card, endings
from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle._validation import as_choice, as_integer, as_nonnegative, as_points, as_positive
from subbundle.bundles.base import Frame, Subbundle, completed
from subbundle.bundles.surroundings import surroundings_of
from subbundle.geodesics._minimise import Search, bfgs, levenberg
from subbundle.geodesics.geodesic import geodesic
from subbundle.geodesics.shooting import MOST_EVALUATIONS, Shots, shoot, with_misses
from subbundle.geodesics.shortest import length_on_ridge, shortest_paths
from subbundle.geodesics.start import as_pairs, covectors_from_coordinates, defined_frame
from subbundle.geodesics.tuning import COARSE_TOL, DETOUR, DOUBTFUL


@dataclass(frozen=True, slots=True)
class Log:
    """Covectors that lead from base points to targets. A single target has no batch axis.

    Attributes
    ----------
    covectors : [batch, dim]
        η with exp(η) nearest to the target; NaN where no geodesic was found.
    coordinates : [batch, rank]
        v = Fᵀ η, the normal coordinates of the target.
    lengths : [batch]
        √(2H), the length of the geodesic.
    residuals : [batch]
        |exp(η) − target|; on a manifold the distance there, which the search then minimises.
    points : [batch, dim]
        exp(η): the projection of the target to the submanifold of the base point.
    iterations : [batch]
        Trial geodesics, without those for the Jacobian.
    status : [batch]
        OK: the search converged (the residual is the distance that remains). NOT_CONVERGED: it did not. LEFT_SUPPORT,
        GAP_CLOSED: no geodesic towards the target stays where the bundle is defined. STRAIGHTENED: no geodesic was
        found that is about as short as the shortest path on the ridge; covectors, coordinates and lengths are the
        direction and the length of that path, points its end.
    """

    covectors: FloatArray
    coordinates: FloatArray
    lengths: FloatArray
    residuals: FloatArray
    points: FloatArray
    iterations: IntArray
    status: StatusArray

    def without_batch_axis_if(self, single: bool) -> Log:
        """The first row alone if a ``single`` target was given."""
        if not single:
            return self
        first = {name: getattr(self, name)[0] for name in Log.__slots__}
        return Log(**first | {"status": Status(int(first["status"]))})

    def _repr_html_(self) -> str:
        facts = [("longest", float(np.max(self.lengths))), ("largest residual", float(np.max(self.residuals)))]
        return card("Log", [*facts, *endings(self.status)])


def log(
    bundle: Subbundle,
    base_point: Any,
    targets: Any,
    *,
    search: str = "dual",
    start: Any = None,
    method: str = "lm",
    penalty: float = 0.0,
    tol: float = 1e-6,
    max_iterations: int = 50,
) -> Log:
    """Find the geodesics from ``base_point`` [dim] or [batch, dim] to ``targets`` [batch, dim] or [dim].

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    base_point : [dim] or [batch, dim]
    targets : [batch, dim] or [dim]
    search : {"dual", "full"}
        Search the k coordinates of the dual subspace, or all d components.
    start : [batch, rank], optional
        Coordinates to start from; otherwise direction and length of the shortest path along the data, for bundles
        in closed form those of the chord.
    method : {"lm", "bfgs"}
        Levenberg–Marquardt on the Jacobian of exp, all targets at once; or BFGS, one by one, as in the paper.
    penalty : float
        Weight of H in the objective; 0 for the true logarithm, 1 for the paper's literal objective.
    tol : float
        Accuracy of the geodesics and of the search, relative to the bundle's length scale.
    max_iterations : int
        Steps per start.

    See Also
    --------
    exp : the inverse.
    distance : the length, compared with shortest paths.
    Chart : the same for many targets, by interpolation.

    Notes
    -----
    A step follows 2k − 1 geodesics per target with the dual search, 2d + 1 with the full one, and there are at most
    twice ``max_iterations`` (two accuracies); a search that has followed geodesics for 30000 evaluations of the field
    ends with NOT_CONVERGED and the best it has found, on manifolds without closed forms after 3000 in all: there a
    target takes up to 13 s, on shapes and rotations, and `progress` reports it. On a noisy
    torus of 5000 points a target took 0.03 s of one processor, and 21 of 24 targets had a geodesic. BFGS takes targets
    one after the other, with half of these evaluations in all.

    Examples
    --------
    >>> import numpy as np
    >>> from subbundle.bundles.analytic import SphereTangent
    >>> found = log(SphereTangent(2), [0, 0, 1.0], [1.0, 0, 0])
    >>> round(float(found.lengths / np.pi), 6)
    0.5
    """
    search = as_choice(search, "search", ("dual", "full"))
    method = as_choice(method, "method", ("lm", "bfgs"))
    tol = as_positive(tol, "tol")
    penalty = as_nonnegative(penalty, "penalty", hint="Use 0 for the true logarithm.")
    bases, goals, single = as_pairs(bundle, base_point, targets)
    most = as_integer(max_iterations, "max_iterations", low=1)
    problem = _Problem(bundle, bases, goals, search, method, penalty, tol, most)
    return _search(problem, start)[0].without_batch_axis_if(single)


def geodesics_with_paths(
    bundle: Subbundle, x: Any, y: Any, search: str, tol: float
) -> tuple[Log, list[FloatArray] | None, bool]:
    """`log` from x to y, the nodes of the shortest paths of a bundle learned from data, and whether both are single."""
    bases, goals, single = as_pairs(bundle, x, y)
    problem = _Problem(bundle, bases, goals, as_choice(search, "search", ("dual", "full")), "lm", 0.0, tol, 50)
    return *_search(problem, None), single


def _search(problem: _Problem, start: Any) -> tuple[Log, list[FloatArray] | None]:
    bundle = problem.bundle
    learned = completed(bundle).learned
    if start is not None or problem.penalty > 0.0 or learned is None:
        return _record(problem, problem.solve(problem.chords() if start is None else problem.given(start))), None
    paths = shortest_paths(learned, problem.bases, problem.targets, max(problem.tol, COARSE_TOL))
    known = np.isfinite(paths.lengths)
    along = problem.towards(paths.departures, np.where(known, paths.lengths, 0.0))
    found = problem.solve(np.where(known[:, None], along, problem.chords()))
    result = _record(problem, found)
    missed = known & ~(result.residuals <= DOUBTFUL * bundle.length_scale)
    longest = DETOUR * paths.lengths + problem.tol * bundle.length_scale
    for row in np.flatnonzero(known & ~missed & (result.lengths > longest)):
        # A geodesic keeps its offset from the ridge, and on the convex side of a curved one it is longer for that.
        times = np.linspace(0.0, 1.0, max(int(np.ceil(2.0 * result.lengths[row] / bundle.length_scale)), 2) + 1)
        curve = geodesic(bundle, problem.bases[row], result.covectors[row], times=times, tol=COARSE_TOL)
        missed[row] = length_on_ridge(learned, curve.points) > longest[row]
    for row in np.flatnonzero(missed):
        result.coordinates[row], result.lengths[row] = along[row, : bundle.rank], paths.lengths[row]
        result.points[row] = paths.nodes[row][-1]
    around = surroundings_of(bundle)
    result.covectors[missed] = problem.covectors(along)[missed]
    result.residuals[missed] = around.distance(result.points[missed], problem.targets[missed])
    result.status[missed] = Status.STRAIGHTENED
    return result, paths.nodes


@dataclass(frozen=True, slots=True)
class _Problem:
    """A batch of searches: base points [n, dim], their frames, targets [n, dim]."""

    bundle: Subbundle
    bases: FloatArray
    targets: FloatArray
    search: str
    method: str
    penalty: float
    tol: float
    max_iterations: int
    frame: Frame = field(init=False)
    left: IntArray = field(init=False)  # evaluations of the field left for each

    def __post_init__(self) -> None:
        budget = MOST_EVALUATIONS // (10 if self.bundle.is_costly else 1)
        most = budget // (2 if self.method == "bfgs" else 1)
        object.__setattr__(self, "frame", defined_frame(self.bundle, self.bases))
        object.__setattr__(self, "left", np.full(len(self.bases), most))

    @property
    def searched(self) -> FloatArray:
        """Directions of the search [n, m, dim]: the dual frame, and its complement for the full search."""
        rank, vectors = self.bundle.rank, self.frame.vectors
        dual = [covectors_from_coordinates(vectors, np.eye(rank)[[i]], self.frame.duals) for i in range(rank)]
        directions = np.stack(dual, axis=1)
        if self.search == "dual":
            return directions
        complement = np.swapaxes(np.linalg.svd(vectors, full_matrices=True)[0][:, :, rank:], 1, 2)
        return np.concatenate([directions, complement], axis=1)

    def chords(self) -> FloatArray:
        """Towards the target: its offset projected to the frame, with the length of the chord."""
        around = surroundings_of(self.bundle)
        chord, length = around.displacement(self.bases, self.targets), around.distance(self.bases, self.targets)
        return self.towards(chord, length)

    def given(self, start: Any) -> FloatArray:
        """The caller's own coordinates."""
        rank = self.bundle.rank
        coordinates = np.atleast_2d(as_points(start, "start", dim=rank, ndim=None))
        if len(coordinates) not in (1, len(self.bases)):
            raise ValueError(f"start must have one row per target, {len(self.bases)}; got {len(coordinates)}.")
        result = np.zeros((len(self.bases), self.searched.shape[1]))
        result[:, :rank] = coordinates
        return result

    def covectors(self, unknowns: FloatArray) -> FloatArray:
        """Σ_i v_i B_i [n, dim]."""
        searched = self.searched
        result = np.zeros_like(self.bases)
        for i in range(searched.shape[1]):
            result += unknowns[:, i, None] * searched[:, i]
        return result

    def solve(self, start: FloatArray) -> Search:
        """Search with geodesics of low accuracy first, then to the tolerance in a few steps."""
        if self.tol >= COARSE_TOL:
            return self._run(start, self.tol)
        coarse = self._run(start, COARSE_TOL)
        found = self._run(np.where(np.isfinite(coarse.residuals)[:, None], coarse.unknowns, start), self.tol)
        found.iterations += coarse.iterations
        return found

    def _run(self, start: FloatArray, tol: float) -> Search:
        searched, scale = self.searched, float(self.bundle.length_scale)
        radial = self.search == "dual"

        def shoot_rows(rows: IntArray, unknowns: FloatArray) -> Shots:
            shots = shoot(self.bundle, self.bases[rows], searched[rows], unknowns, tol, radial=radial)
            return with_misses(self.bundle, shots, self.targets[rows])

        run = levenberg if self.method == "lm" else bfgs
        found = run(
            shoot_rows, start,
            speeds=self.bundle.rank, penalty=self.penalty, scale=scale, tol=tol,
            max_iterations=self.max_iterations, most=self.left,
        )  # fmt: skip
        if self.method == "bfgs" or self.bundle.is_costly:  # all runs together, where they are expensive
            self.left[:] -= found.spent
        return found

    def towards(self, direction: FloatArray, length: FloatArray) -> FloatArray:
        """Unknowns [n, m] of speed ``length`` in the direction of the projections of the vectors [n, dim] to the
        subspace."""
        duals = self.frame.vectors if self.frame.duals is None else self.frame.duals
        # On the cut locus of a manifold the direction is undetermined, and any serves as a start.
        direction = np.where(np.isfinite(direction), direction, 0.0)
        along = np.einsum("ndk,nd->nk", duals, direction)
        size = np.sqrt(np.einsum("nk,nk->n", along, along))
        lost = size <= 1e-9 * np.maximum(length, self.bundle.length_scale)
        along[lost], size[lost] = np.eye(along.shape[1])[0], 1.0
        start = np.zeros((len(along), self.searched.shape[1]))
        start[:, : along.shape[1]] = along * (np.maximum(length, 1e-9 * self.bundle.length_scale) / size)[:, None]
        return start


def _record(problem: _Problem, found: Search) -> Log:
    covectors = problem.covectors(found.unknowns)
    coordinates = found.unknowns[:, : problem.bundle.rank].copy()
    lengths = np.sqrt(np.einsum("nk,nk->n", coordinates, coordinates))
    failed = ~np.isfinite(found.residuals)
    covectors[failed], coordinates[failed], lengths[failed] = np.nan, np.nan, np.nan
    return Log(covectors, coordinates, lengths, found.residuals, found.ends, found.iterations, found.status)
