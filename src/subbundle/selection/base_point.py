"""A base point from the data: the within-sample Fréchet mean, the observation with the least mean distance to the
others, projected onto the ridge.

Distances, not their squares, so that it is robust to outliers (a median). With Euclidean distances that of a rolled-up
sheet is a point of the sheet near the axis of the roll; with learned ones, along shortest paths between landmarks on
the ridge, it is the centre of the sheet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from subbundle._memory import blocks
from subbundle._types import FloatArray, Status, evenly
from subbundle._validation import as_choice
from subbundle.bundles.base import LearnedSubbundle, completed
from subbundle.bundles.ridge import carry_to_ridge
from subbundle.bundles.surroundings import surrounding_dim
from subbundle.cloud import Cloud
from subbundle.geodesics.paths import path_graph
from subbundle.graph.neighbor_graph import shortest_paths
from subbundle.selection.tuning import PLACES, SAMPLE

# Candidates tried, the most central first, until one lies where the bundle is defined.
CANDIDATES = 32


@dataclass(frozen=True, slots=True)
class BasePointChoice:
    """A base point and the estimates behind it.

    Attributes
    ----------
    point : [d]
        On the ridge.
    mean_distance : float
        Mean distance from the candidate to the others, before it was projected.
    shift : float
        Distance from the candidate to its projection.
    distance : str
        ``"euclidean"`` or ``"learned"``.
    """

    point: FloatArray
    mean_distance: float
    shift: float
    distance: str


def choose_base_point(bundle: LearnedSubbundle, *, distance: str = "euclidean") -> BasePointChoice:
    """Choose a base point for charts and submanifolds of ``bundle``.

    Deterministic, and the same for any order of the rows. It lies in the largest connected component. On a manifold
    ``"euclidean"`` distances are those of the space that it is embedded in.

    Parameters
    ----------
    distance : {"euclidean", "learned"}
        Straight, or along the shape.

    Examples
    --------
    >>> import subbundle as sb
    >>> points = sb.datasets.swiss_roll(3000, noise=0.02, seed=0).points
    >>> bundle = sb.PrincipalSubbundle(points, rank=2, bandwidth=0.2)
    >>> choice = sb.selection.choose_base_point(bundle, distance="learned")
    >>> bool(abs(choice.point[1] - 1.0) < 0.15)
    True
    """
    as_choice(distance, "distance", ("euclidean", "learned"))
    if completed(bundle).learned is None:
        raise TypeError(
            f"bundle must be learned from data, since a base point is central to data; got {type(bundle).__name__}. "
            "Pass a base point instead."
        )
    if distance == "learned":
        candidates, means = central_landmarks(bundle, CANDIDATES)
    else:
        cloud = Cloud(bundle.rows)
        candidates, means = _central(cloud, CANDIDATES)
    required = f"one of the {len(candidates)} most central points"
    hint = "Pass a base point inside the data, or take another bandwidth."
    first, point, shift = first_on_ridge(bundle, candidates, required, hint)
    return BasePointChoice(point, float(means[first]), shift, distance)


def first_on_ridge(
    bundle: LearnedSubbundle, candidates: FloatArray, required: str, hint: str
) -> tuple[int, FloatArray, float]:
    """The first of ``candidates`` [n, d] that has a ridge: its row, its projection, and the distance to it.

    For a bundle of full rank the ridge is the whole space. Without a ridge it is an error, whose message names what was
    ``required``.
    """
    if bundle.rank == surrounding_dim(bundle):
        return 0, np.asarray(candidates[0]), 0.0
    for start in range(0, len(candidates), 4):
        ridge = carry_to_ridge(bundle, candidates[start : start + 4])
        good = np.flatnonzero(ridge.status == Status.OK)
        if good.size:
            return start + int(good[0]), np.asarray(ridge.points[good[0]]), float(ridge.shifts[good[0]])
    reason = Status(int(ridge.status[0])).message
    raise ValueError(f"{required} must lie where the subspaces are defined; none does ({reason}). {hint}")


def central_points(cloud: Cloud, count: int = 1) -> FloatArray:
    """The ``count`` observations [count, d] of least mean Euclidean distance to the others, the most central first.

    Every observation is a candidate; the mean is taken over some of them, spread evenly over the search tree, so
    that the answer does not depend on the order of the rows.
    """
    return _central(cloud, count)[0]


def central_landmarks(bundle: LearnedSubbundle, count: int = 1) -> tuple[FloatArray, FloatArray]:
    """The ``count`` landmarks [count, d] of least mean distance along the shape, and these distances [count].

    Distances are those of shortest paths to some of the landmarks. Landmarks connected to the most come first: the
    others belong to smaller components.
    """
    graph = path_graph(bundle)
    lengths = shortest_paths(graph.graph, evenly(len(graph.points), PLACES))[0]
    reached = np.isfinite(lengths)
    means = np.where(reached, lengths, 0.0).sum(axis=0) / np.maximum(reached.sum(axis=0), 1)
    chosen = np.lexsort([means, -reached.sum(axis=0)])[:count]
    return np.asarray(graph.points[chosen]), np.asarray(means[chosen])


def _central(cloud: Cloud, count: int) -> tuple[FloatArray, FloatArray]:
    candidates = cloud.ordered
    sample = cloud.at(cloud.sample(SAMPLE))
    mean = np.concatenate(
        [cdist(candidates[rows], sample).mean(axis=1) for rows in blocks(len(candidates), len(sample))]
    )
    chosen = np.argsort(mean, kind="stable")[:count]
    return np.asarray(candidates[chosen] + cloud.centre), np.asarray(mean[chosen])
