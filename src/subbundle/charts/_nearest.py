"""The search for the nearest point of a chart, from several nodes where one start may fail."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import BoolArray, FloatArray
from subbundle.charts._fold import differ
from subbundle.geodesics.tuning import START_NODES

Found = tuple[FloatArray, FloatArray, FloatArray, BoolArray]


class Searchable(Protocol):
    """An interpolant of exp with its domain and its nodes."""

    @property
    def scale(self) -> float:
        """Length scale of the bundle."""

    @property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes inside the domain: their points [n, dim] and coordinates [n, k]."""

    @property
    def tree(self) -> cKDTree:
        """Tree of the nodes' points."""

    def search(self, targets: FloatArray, starts: FloatArray) -> Found:
        """Move from coordinates ``starts`` [n, k] to the nearest points: coordinates, points, residuals, at rest."""

    def inside(self, coordinates: FloatArray) -> BoolArray:
        """Which ``coordinates`` [n, k] lie in the domain."""


def nearest(model: Searchable, targets: FloatArray) -> Found:
    """Nearest points to ``targets`` [n, dim]: coordinates, points, residuals, and whether the search converged.

    From the nearest node, which chooses the sheet. Where that search leaves the domain, or where another sheet of the
    chart passes as well, as beside a cut, the next nodes are tried too and the better result counts. Coordinates may
    end up outside the domain.
    """
    nodes, at = model.nodes
    _, near = model.tree.query(targets, k=np.arange(1, min(START_NODES, len(nodes)) + 1))
    first = near[:, 0]
    found = model.search(targets, at[first])
    covered = model.inside(found[0]) & found[3]
    beside = np.zeros(len(targets), bool)
    for other in near.T[1:]:
        away = differ(_length(at[other] - at[first]), _length(nodes[other] - nodes[first]), model.scale)
        rows = np.flatnonzero(~covered | (away & ~beside))
        beside |= away
        again = model.search(targets[rows], at[other[rows]])
        covered_again = model.inside(again[0]) & again[3]
        better = np.where(covered[rows] == covered_again, again[2] < found[2][rows], covered_again)
        covered[rows] |= covered_again
        for old, new in zip(found, again, strict=True):
            old[rows[better]] = new[better]
    return found


def _length(vectors: FloatArray) -> FloatArray:
    length: FloatArray = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return length
