"""The logarithm: the covector at a base point whose geodesic ends at a target.

exp restricted to the dual subspace, v ↦ exp_p(F v), v in R^k, is a chart; ``search="dual"`` searches the v whose
geodesic comes nearest to the target: its normal coordinates. ``search="full"`` searches the whole cotangent space R^d,
whose further directions bend the geodesic, and comes nearer to targets off the submanifold.

The objective is |exp_p(η) − y|², and among equal residuals the smallest H. The paper writes |exp_p(η) − y|² + H(p, η);
taken literally its minimiser on a flat space is ⅔ of the true vector. ``penalty=1`` gives that objective, for
comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._html import card, endings
from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle._validation import as_bundle, as_choice, as_integer, as_nonnegative, as_points, as_positive
from subbundle.bundles.base import HasLandmarks, Subbundle, sparing
from subbundle.bundles.surroundings import surroundings_of
from subbundle.geodesics._bfgs import bfgs
from subbundle.geodesics._levenberg import Search, levenberg
from subbundle.geodesics.paths import path_graph
from subbundle.geodesics.shooting import MOST_EVALUATIONS, Shots, aim, shoot
from subbundle.geodesics.start import covectors_from_coordinates, defined_frame, frame_at
from subbundle.geodesics.tuning import COARSE_TOL

# Residual, in length scales, above which a search may have ended in a local minimum and is started again.
_DOUBTFUL = 0.3


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
        Geodesics tried, neighbours not counted.
    status : [batch]
        OK: the search converged (the residual is the distance that remains). NOT_CONVERGED: it did not. LEFT_SUPPORT,
        GAP_CLOSED: no geodesic towards the target stays where the bundle is defined.
    """

    covectors: FloatArray
    coordinates: FloatArray
    lengths: FloatArray
    residuals: FloatArray
    points: FloatArray
    iterations: IntArray
    status: StatusArray

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
        Coordinates to start from; otherwise the direction of the target, and that of the shortest path through the
        cloud where the first search ended too far away.
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
    exp : the way back.
    distance : the length, compared with shortest paths.
    Chart : the same for many targets, by interpolation.

    Notes
    -----
    A step follows 2k − 1 geodesics per target with the dual search, 2d + 1 with the full one, and there are at most
    four times ``max_iterations`` (two accuracies, two starts); a search that has followed
    geodesics for 30000 evaluations of the field ends with NOT_CONVERGED and the best it has found, on manifolds without
    closed forms after 3000 in all. In a cloud of 1000 points on a torus in R³ ten targets took 3 to 6 s of one
    processor with the dual search and 6 to 12 s with the full one; the time grows with the number of targets. BFGS
    takes them one after the other, with half of these evaluations in all.

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
    bases, goals, single = _as_pairs(bundle, base_point, targets)
    frames = frame_at(bundle, bases)
    problem = _Problem(
        bundle,
        bases,
        frames,
        goals,
        search,
        method,
        penalty,
        tol,
        as_integer(max_iterations, "max_iterations", low=1),
        np.full(len(bases), sparing(bundle, MOST_EVALUATIONS) // (2 if method == "bfgs" else 1)),
    )
    found = problem.solve(problem.chords() if start is None else problem.given(start))
    doubtful = np.flatnonzero(~(found.residuals <= _DOUBTFUL * bundle.length_scale))
    if start is None and doubtful.size and penalty == 0.0 and isinstance(bundle, HasLandmarks):
        _keep_better(found, problem.subset(doubtful).solve_from_paths(), doubtful)
    return _record(problem, found, single)


def _as_pairs(bundle: Subbundle, base_point: Any, targets: Any) -> tuple[FloatArray, FloatArray, bool]:
    around = surroundings_of(as_bundle(bundle))
    bases = around.validate(as_points(base_point, "base_point", dim=bundle.ambient_dim, ndim=None), "base_point")
    goals = around.validate(as_points(targets, "targets", dim=bundle.ambient_dim, ndim=None), "targets")
    single = bases.ndim == 1 and goals.ndim == 1
    bases, goals = np.atleast_2d(bases), np.atleast_2d(goals)
    if bases.ndim != 2 or goals.ndim != 2 or (len(bases) != len(goals) and 1 not in (len(bases), len(goals))):
        raise ValueError(
            "base_point and targets must be single points or 2-D arrays with as many rows as each other; got shapes "
            f"{bases.shape} and {goals.shape}. For all pairs use sb.pairwise_distance, or np.repeat and np.tile."
        )
    batch = len(goals) if len(bases) == 1 else len(bases)
    shape = (batch, bundle.ambient_dim)
    return (
        np.ascontiguousarray(np.broadcast_to(bases, shape)),
        np.ascontiguousarray(np.broadcast_to(goals, shape)),
        single,
    )


@dataclass(frozen=True, slots=True)
class _Problem:
    """A batch of searches: base points [n, dim], their frames [n, dim, k], targets [n, dim]."""

    bundle: Subbundle
    bases: FloatArray
    frames: FloatArray
    targets: FloatArray
    search: str
    method: str
    penalty: float
    tol: float
    max_iterations: int
    left: IntArray  # evaluations of the field that each may still take

    def subset(self, rows: IntArray) -> _Problem:
        return _Problem(
            self.bundle, self.bases[rows], self.frames[rows], self.targets[rows],
            self.search, self.method, self.penalty, self.tol, self.max_iterations, self.left[rows],
        )  # fmt: skip

    @property
    def searched(self) -> FloatArray:
        """Directions of the search [n, m, dim]: the dual frame, and its complement for the full search."""
        rank = self.frames.shape[2]
        duals = defined_frame(self.bundle, self.bases).duals
        dual = [covectors_from_coordinates(self.frames, np.eye(rank)[[i]], duals) for i in range(rank)]
        directions = np.stack(dual, axis=1)
        if self.search == "dual":
            return directions
        complement = np.swapaxes(np.linalg.svd(self.frames, full_matrices=True)[0][:, :, rank:], 1, 2)
        return np.concatenate([directions, complement], axis=1)

    def chords(self) -> FloatArray:
        """Towards the target: its offset projected to the frame, with the length of the chord."""
        around = surroundings_of(self.bundle)
        chord, length = around.displacement(self.bases, self.targets), around.distance(self.bases, self.targets)
        return self._towards(chord, length)

    def given(self, start: Any) -> FloatArray:
        """The caller's own coordinates."""
        rank = self.frames.shape[2]
        coordinates = np.atleast_2d(as_points(start, "start", dim=rank, ndim=None))
        if len(coordinates) not in (1, len(self.bases)):
            raise ValueError(f"start must have one row per target, {len(self.bases)}; got {len(coordinates)}.")
        result = np.zeros((len(self.bases), self.searched.shape[1]))
        result[:, :rank] = coordinates
        return result

    def solve_from_paths(self) -> Search:
        """Along the shortest path through the landmarks, one graph for all base points."""
        graph = path_graph(self.bundle)
        direction, length = np.empty_like(self.bases), np.empty(len(self.bases))
        unique, group = np.unique(self.bases, axis=0, return_inverse=True)
        for i, base in enumerate(unique):
            rows = np.flatnonzero(group.ravel() == i)
            direction[rows], length[rows] = graph.guesses(base, self.targets[rows])
        chord = surroundings_of(self.bundle).distance(self.bases, self.targets)
        return self.solve(self._towards(direction, np.where(np.isfinite(length), length, chord)))

    def solve(self, start: FloatArray) -> Search:
        """Search coarsely first, on cheap geodesics, then to the tolerance: the last steps are few."""
        if self.tol >= COARSE_TOL:
            return self._run(start, self.tol)
        coarse = self._run(start, COARSE_TOL)
        found = self._run(np.where(np.isfinite(coarse.residuals)[:, None], coarse.unknowns, start), self.tol)
        found.iterations += coarse.iterations
        return found

    def _run(self, start: FloatArray, tol: float) -> Search:
        searched, scale = self.searched, float(self.bundle.length_scale)
        radial = self.search == "dual"

        def fire(rows: IntArray, unknowns: FloatArray) -> Shots:
            shots = shoot(self.bundle, self.bases[rows], searched[rows], unknowns, tol, radial=radial)
            return aim(self.bundle, shots, self.targets[rows])

        run = levenberg if self.method == "lm" else bfgs
        found = run(
            fire, start,
            speeds=self.frames.shape[2], penalty=self.penalty, scale=scale, tol=tol,
            max_iterations=self.max_iterations, most=self.left,
        )  # fmt: skip
        if self.method == "bfgs" or sparing(self.bundle, 10) < 10:  # all runs together, where they are expensive
            self.left[:] -= found.spent
        return found

    def _towards(self, direction: FloatArray, length: FloatArray) -> FloatArray:
        """Unknowns [n, m] of speed ``length`` in the direction of the projections of the vectors [n, dim] to the
        subspace."""
        duals = defined_frame(self.bundle, self.bases).duals
        # On the cut locus of a manifold no direction is distinguished, and any serves as a start.
        direction = np.where(np.isfinite(direction), direction, 0.0)
        along = np.einsum("ndk,nd->nk", self.frames if duals is None else duals, direction)
        size = np.sqrt(np.einsum("nk,nk->n", along, along))
        lost = size <= 1e-9 * np.maximum(length, self.bundle.length_scale)
        along[lost], size[lost] = np.eye(along.shape[1])[0], 1.0
        start = np.zeros((len(along), self.searched.shape[1]))
        start[:, : along.shape[1]] = along * (np.maximum(length, 1e-9 * self.bundle.length_scale) / size)[:, None]
        return start


def _keep_better(found: Search, again: Search, rows: IntArray) -> None:
    """Replace the searches in ``rows`` by those that came nearer to their target."""
    better = again.residuals < found.residuals[rows]
    chosen = rows[better]
    for name in ("unknowns", "ends", "residuals", "status"):
        getattr(found, name)[chosen] = getattr(again, name)[better]
    found.iterations[rows] += again.iterations


def _record(problem: _Problem, found: Search, single: bool) -> Log:
    covectors = np.zeros_like(problem.bases)
    searched = problem.searched
    for i in range(searched.shape[1]):
        covectors += found.unknowns[:, i, None] * searched[:, i]
    coordinates = found.unknowns[:, : problem.frames.shape[2]].copy()
    lengths = np.sqrt(np.einsum("nk,nk->n", coordinates, coordinates))
    failed = ~np.isfinite(found.residuals)
    covectors[failed], coordinates[failed], lengths[failed] = np.nan, np.nan, np.nan
    result = Log(covectors, coordinates, lengths, found.residuals, found.ends, found.iterations, found.status)
    if not single:
        return result
    first = {name: getattr(result, name)[0] for name in Log.__slots__}
    first["status"] = Status(int(first["status"]))
    return Log(**first)
