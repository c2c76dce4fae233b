"""The local model on a known manifold: the model of the logs at a point (see `logs`), a step p ← exp_p(step), and again
there, until it converges.

A step is one of the back ends for R^m, which go on where they stopped. Tangents and forms are transported in parallel
to the point where the last step ended.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from subbundle._parallel import run_rows
from subbundle._types import FloatArray, IntArray, Status
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.local import deviations as of
from subbundle.local.logs import GROUP_SIZE, Observations
from subbundle.local.model import LocalModel, as_model, back_end
from subbundle.local.settings import Plan, constant_widths
from subbundle.local.standard_errors import errors_of
from subbundle.spaces.rows import dist_rows, exp_rows, log_rows, transport_rows


def iterate_on(
    observations: Observations, points: FloatArray, width: float, typical: float, plan: Plan, n_jobs: int
) -> LocalModel:
    """The local model at ``points`` [n, D] of the manifold, with the ``width`` a and the log mass that is ``typical``.

    Vectors are tangent arrays of the manifold, orthonormal in its metric. The model has dim N eigenvalues, then zeros.
    Rows with an observation in reach on their cut locus have the status NOT_FINITE.
    """
    few = observations.dim <= BLOCK_DIM
    out = of.Output(np.zeros((len(points), observations.dim)), plan.rank, observations.dim if few else plan.rank)
    walk = _Walk(observations, points, width, typical, plan, out)
    size = max(1, GROUP_SIZE // observations.rows.size)

    def work(i: int, j: int) -> None:
        for first in range(i, j, size):
            walk.follow(np.arange(first, min(first + size, j)))

    run_rows(work, len(points), n_jobs)
    eigenvalues, dim = np.zeros(points.shape), observations.space.dim
    eigenvalues[:, :dim] = out.values[:, :dim]
    out.numbers[:, of.SUPPORT] = walk.support
    tangents = np.ascontiguousarray(walk.tangents.transpose(0, 2, 1))
    return replace(
        as_model(out, plan, errors_of(out.numbers.T, plan)), points=walk.points, mean=walk.means,
        eigenvalues=eigenvalues, tangents=tangents, forms=walk.forms, basis=None,
    )  # fmt: skip


class _Walk:
    """What becomes of rows: points and, where the last step began, mean, tangents [n, k, D] and forms."""

    def __init__(
        self, observations: Observations, points: FloatArray, width: float, typical: float, plan: Plan, out: of.Output
    ) -> None:
        n, ambient = points.shape
        self._on, self._width, self._plan, self._out = observations, width, plan, out
        self._widths = constant_widths(width, typical, observations.dim)
        self._start, self.points, self.support = points, points.copy(), np.zeros(n)
        self.means, self.tangents = np.full((n, ambient), np.nan), np.full((n, plan.rank, ambient), np.nan)
        self.forms = np.full((n, out.forms.shape[1], ambient), np.nan)

    def follow(self, rows: IntArray) -> None:
        """Move the ``rows`` until they have converged or ended."""
        space, out, none = self._on.space, self._out, np.empty(0)
        before = self.points[rows]
        for taken in range(1, max(self._plan.max_steps, 1) + 1):
            plan, here = self._step(taken), self.points[rows]
            bases, clouds, lost = self._on.around(here, np.sqrt(plan.reach) * self._width)
            if taken > 1:
                back = np.einsum("cid,cd->ci", bases.covectors, log_rows(space, here, before))
                out.before[rows, : space.dim] = -back
            out.points[rows] = 0.0
            out.status[rows[lost]] = Status.NOT_FINITE
            for place in np.flatnonzero(~lost):
                b = rows[place]
                back_end(clouds[place], self._widths, none, plan, out)(b, b + 1)
            reached = dist_rows(space, self._start[rows], here) + out.numbers[rows, of.SUPPORT]
            self.support[rows] = np.maximum(self.support[rows], reached)
            self.points[rows] = exp_rows(space, here, _vectors(bases.vectors, out.points[rows]))
            going = (out.status[rows] == Status.NOT_CONVERGED) & (taken < self._plan.max_steps)
            self._write(rows[~going], here[~going], bases.vectors[~going])
            rows, before = rows[going], here[going]
            if not rows.size:
                return

    def _step(self, taken: int) -> Plan:
        """The plan of the step number ``taken``, from 1: observations apart and a continuation concern the first alone,
        and after a continuation no step is the last, since it did not begin where the logs were taken."""
        plan = replace(self._plan, max_steps=min(taken, self._plan.max_steps))
        if taken > 1:
            return replace(plan, apart=-1.0, continuation=np.empty(0))
        return replace(plan, tol=-1.0) if plan.continuation.size and self._plan.max_steps > 1 else plan

    def _write(self, rows: IntArray, here: FloatArray, bases: FloatArray) -> None:
        """The model of ``rows`` that have ended, fitted at ``here`` [c, D] with ``bases`` [c, dim N, D]."""
        space, out, k = self._on.space, self._out, self._plan.rank
        if not rows.size:
            return
        self.means[rows] = exp_rows(space, here, _vectors(bases, out.means[rows]))
        fitted = np.concatenate([out.basis[rows, :, :k].transpose(0, 2, 1), out.forms[rows]], axis=1)
        ended = transport_rows(space, _vectors(bases, fitted), here[:, None], self.points[rows][:, None])
        self.tangents[rows], self.forms[rows] = ended[:, :k], ended[:, k:]


def _vectors(bases: FloatArray, coordinates: FloatArray) -> FloatArray:
    """Tangent vectors [c, ..., D] from the leading coordinates [c, ..., w] in ``bases`` [c, dim N, D]."""
    return np.asarray(np.einsum("c...i,cid->c...d", coordinates[..., : bases.shape[1]], bases))
