"""Orientation of unsigned normals.

Neighbours i, j of the 10-nearest-neighbour graph of the seeds, u the unit vector from one to the other, vote with

    s = n_i'·n_j,   n_i' = n_i − 2 (n_i·u) u          (the normal of j, if both lie on a circle)
    vote = sign(s) max(|s| − 0.3, 0)² exp(−((n_i·u)² + (n_j·u)²)/0.25) r_i r_j.

Clusters start as single seeds. In every round each cluster merges with the cluster with which the sum of all its votes
is largest in absolute value, flipped where the sum is negative (Borůvka's algorithm with signs). Sums over whole
borders are robust: one wrong normal is outvoted. At the end every seed takes the sign that the sum of its neighbours'
votes indicates. Strong votes that still contradict are counted: on a Möbius band a whole seam.

Each connected component is oriented outward, by the mean of n·d at the seeds furthest in 26 directions d, which lie on
its hull, or upward, by the mean height of its normals n, whichever is larger in absolute value. The mean normal of a
closed surface is zero; at the two ends of a sheet that is nearly a height field, like terrain, n·d cancels. Of a
spherical cap, a height field up to 90 degrees, the two are equal at about 60. A component inside of another is the wall
of a cavity and oriented inward, one inside of that outward again: with areas A_i, the winding number
Σ A_i n_i·(x_i − x)/(4π |x_i − x|³) of a component is 1 inside of it and 0 outside.

A misregistered pass of the scanner leaves a layer in front of its sheet. It has seeds of its own, and since sheets
close up, they face the sheet behind across a narrow gap. But no scanner measures in a gap that is deeper than wide,
where most seeds around face the other sheet: both are images of one surface. If one of them is a side of a wall whose
other side was measured as well, and the other bounds nothing, the latter is dropped; and so is the sparser one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from subbundle import _elementwise
from subbundle._types import FloatArray, IntArray
from subbundle.bins import Bins
from subbundle.surface import tuning
from subbundle.surface.facing import cube_directions
from subbundle.surface.repair import dots
from subbundle.surface.seeds import Seeds
from subbundle.triangles.tuning import SAME_PLANE, SMALLEST_PART

# Rounds of majority votes at the end; two or three are enough.
_MOST_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Orientation:
    """Signs of normals.

    Attributes
    ----------
    signs : [n]
        1 or −1: multiply the normals by it.
    components : [n]
        Number of the connected component each seed belongs to.
    orientable : bool
        Whether the strong votes leave no seam, of pairs that contradict their signs.
    """

    signs: FloatArray
    components: IntArray
    orientable: bool


def orient(seeds: Seeds, cell: float) -> Orientation:
    """Signs that make the normals of ``seeds`` agree; ``cell`` is their spacing."""
    pairs, votes = neighbour_votes(seeds, cell)
    signs, _ = merge_votes(len(seeds.points), pairs, votes)
    signs = majority_signs(signs, pairs, votes)
    joined = np.abs(votes) > 0.0
    graph = coo_array((joined[joined], pairs[joined].T), shape=(len(signs),) * 2)
    components = connected_components(graph, directed=False)[1].astype(np.int64)
    against = pairs[votes * signs[pairs[:, 0]] * signs[pairs[:, 1]] < 0.0]
    seam = against[_strength(seeds, against) > tuning.SEAM_AGREEMENT]
    turned = signs * _outward(seeds.points, seeds.normals * signs[:, None], components, cell)
    return Orientation(turned, components, not _is_seam(seeds.points, seam, cell))


def neighbour_votes(seeds: Seeds, cell: float) -> tuple[IntArray, FloatArray]:
    """Pairs [m, 2] of neighbours, each once, and their votes [m]."""
    count = min(tuning.VOTE_NEIGHBOURS + 1, len(seeds.points))
    far, near = Bins(seeds.points, cell).query(seeds.points, count)
    rows = np.repeat(np.arange(len(near)), count - 1)
    pairs = np.column_stack([rows, near[:, 1:].ravel()])[far[:, 1:].ravel() < tuning.VOTE_REACH * cell]
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys = np.sort((low * len(near) + high)[low != high])
    keys = keys[np.flatnonzero(np.diff(keys, prepend=-1))]
    pairs = np.column_stack([keys // len(near), keys % len(near)])
    lean, lean_too, agreement = _angles(seeds, pairs)
    agreement -= 2.0 * lean * lean_too
    weight = np.maximum(np.abs(agreement) - tuning.VOTE_THRESHOLD, 0.0) ** 2 * _elementwise.exp(
        -(lean**2 + lean_too**2) / tuning.VOTE_LEAN
    )
    weight *= seeds.reliability[pairs[:, 0]] * seeds.reliability[pairs[:, 1]]
    return pairs, np.sign(agreement) * weight


def merge_votes(n: int, pairs: IntArray, votes: FloatArray) -> tuple[FloatArray, IntArray]:
    """Signs [n] by Borůvka's algorithm on the votes summed between clusters, and the first row [n] of every cluster."""
    cluster, signs = np.arange(n), np.ones(n)
    while True:
        ends = cluster[pairs]
        apart = ends[:, 0] != ends[:, 1]
        if not apart.any():
            return signs, cluster
        signed = votes[apart] * signs[pairs[apart, 0]] * signs[pairs[apart, 1]]
        keys, group = np.unique(np.sort(ends[apart], axis=1) @ np.array([n, 1]), return_inverse=True)
        total = np.bincount(group, signed)
        best = _strongest(n, keys // n, keys % n, np.abs(total))
        best = best[np.abs(total[best]) > 0.0]
        if best.size == 0:
            return signs, cluster
        cluster, flips = _join(cluster, keys[best] // n, keys[best] % n, np.sign(total[best]))
        signs = signs * flips


def _strongest(n: int, first: IntArray, second: IntArray, strength: FloatArray) -> IntArray:
    """Rows that are the strongest of either of their clusters; ties go to the lower row, the same for both ends."""
    order = np.lexsort((-np.arange(len(strength)), strength))  # later is stronger
    best = np.full(n, -1, dtype=np.int64)
    best[first[order]] = order
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    other = np.full(n, -1, dtype=np.int64)
    other[second[order]] = order
    both = np.where((best >= 0) & ((other < 0) | (rank[best] > rank[other])), best, other)
    chosen: IntArray = np.unique(both[both >= 0])
    return chosen


def _join(cluster: IntArray, first: IntArray, second: IntArray, relation: FloatArray) -> tuple[IntArray, FloatArray]:
    """New clusters [n] after joining the given ones, and the flip [n] of every seed.

    The joins form a forest, since all follow the order of one list of strengths. Signs are those of its double cover,
    with cluster c and its mirror image c + n: 1 where c is connected to the root, −1 where its image is.
    """
    n = len(cluster)
    even = relation > 0.0
    low = np.concatenate([first, first + n])
    high = np.concatenate([np.where(even, second, second + n), np.where(even, second + n, second)])
    graph = coo_array((np.ones(len(low), dtype=np.int8), (low, high)), shape=(2 * n, 2 * n))
    sheet = connected_components(graph, directed=False)[1]
    tree = connected_components(coo_array((np.ones(len(first)), (first, second)), shape=(n, n)), directed=False)[1]
    root = np.full(tree.max() + 1, n, dtype=np.int64)
    np.minimum.at(root, tree, np.arange(n))
    upright = sheet[np.arange(n)] == sheet[root[tree]]
    return root[tree][cluster], np.where(upright, 1.0, -1.0)[cluster]


def majority_signs(signs: FloatArray, pairs: IntArray, votes: FloatArray) -> FloatArray:
    """``signs`` [n], flipped where the sum of the neighbours' votes contradicts them, until none does."""
    n = len(signs)
    for _ in range(_MOST_ROUNDS):
        total = np.bincount(pairs[:, 0], votes * signs[pairs[:, 1]], minlength=n)
        total += np.bincount(pairs[:, 1], votes * signs[pairs[:, 0]], minlength=n)
        wrong = total * signs < 0.0
        if not wrong.any():
            break
        signs = np.where(wrong, -signs, signs)
    return signs


def _strength(seeds: Seeds, pairs: IntArray) -> FloatArray:
    """|n_i·n_j| where the pair is nearly in both tangent planes, else 0."""
    lean, lean_too, agreement = _angles(seeds, pairs)
    flat = np.maximum(np.abs(lean), np.abs(lean_too)) < tuning.VOTE_THRESHOLD
    strength: FloatArray = np.where(flat, np.abs(agreement), 0.0)
    return strength


def _angles(seeds: Seeds, pairs: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """n_i·u, n_j·u and n_i·n_j [m] of ``pairs`` [m, 2] of seeds."""
    across = seeds.points[pairs[:, 1]] - seeds.points[pairs[:, 0]]
    across /= np.maximum(np.sqrt(dots(across, across)), 1e-300)[:, None]
    first, second = seeds.normals[pairs[:, 0]], seeds.normals[pairs[:, 1]]
    return dots(first, across), dots(second, across), dots(first, second)


def _is_seam(points: FloatArray, seam: IntArray, cell: float) -> bool:
    """Whether a connected set of contradicting pairs extends over several cells."""
    if len(seam) < 2 * tuning.SEAM_LENGTH:
        return False
    middle = points[seam].mean(axis=1)
    links = cKDTree(middle).query_pairs(tuning.SEAM_LINK * cell, output_type="ndarray")
    graph = coo_array((np.ones(len(links)), links.T), shape=(len(middle),) * 2)
    label = connected_components(graph, directed=False)[1]
    longest = max(float(np.ptp(middle[label == c], axis=0).max()) for c in range(label.max() + 1))
    return longest > tuning.SEAM_LENGTH * cell


def _outward(points: FloatArray, normals: FloatArray, components: IntArray, cell: float) -> FloatArray:
    """The sign [n] that orients each component outward or upward; inward if it is inside of an odd number of others."""
    directions = cube_directions(1, 2, 3)
    order = np.argsort(components, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(components[order])) + 1)
    hulls = [rows[np.argmax(points[rows] @ directions.T, axis=0)] for rows in members]
    facing = np.array([np.mean(np.sum(normals[hull] * directions, axis=1)) for hull in hulls])
    sign, upright = outward_or_upward(facing, np.array([normals[rows, 2].mean() for rows in members]))
    large = [i for i, rows in enumerate(members) if len(rows) >= SMALLEST_PART * len(points) and not upright[i]]
    moments = cell**2 * sign[components, None] * normals
    return (sign * towards_cavity([points[hull] for hull in hulls], points, moments, members, large))[components]


def outward_or_upward(facing: FloatArray, height: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The sign [p] that orients each component outward or upward, and which [p] are oriented upward.

    ``facing`` [p] are the means of n·d over the seeds furthest in the directions d, ``height`` [p] those of n_z.
    """
    upright = np.abs(height) > np.abs(facing)
    return np.where(np.where(upright, height, facing) < 0.0, -1.0, 1.0), upright


def towards_cavity(
    hulls: list[FloatArray], points: FloatArray, moments: FloatArray, members: list[IntArray], large: list[int]
) -> FloatArray:
    """−1 [p] for components inside of an odd number of others, else 1; only ``large`` ones contain and are contained.

    ``hulls`` are points [26, 3] on the hull of every component. Its ``members`` are rows of ``points`` [n, 3] with
    ``moments`` [n, 3], areas times outward normals.
    """
    turned = np.ones(len(members))
    for i, j in permutations(large, 2):
        places, other = hulls[i], members[j]
        # Most of the hull of a component inside lies within the box of the other.
        if (np.median(np.abs(places - points[other].mean(axis=0)), axis=0) > np.ptp(points[other], axis=0)).any():
            continue
        away = points[other] - places[:, None]
        solid = np.einsum("knd,nd->kn", away, moments[other]) / np.linalg.norm(away, axis=2) ** 3
        if np.median(solid.sum(axis=1)) > 2.0 * np.pi:
            turned[i] *= -1.0
    return turned


def across_gap(
    bins: Bins, normals: FloatArray, rows: IntArray, gap: float, facing: float
) -> tuple[IntArray, NDArray[np.bool_]]:
    """The sheet across gaps in front of ``rows`` [r] of the points in ``bins`` [n, 3] with ``normals`` [n, 3].

    Returns the row of a point on it [r], and whether there is one [r]. Half a ``gap`` along the normal another sheet
    within ``gap`` is nearer than the point's own; it is another if the cosine of the normals is below ``facing``. A
    negative gap is a wall behind the points.
    """
    nearest: IntArray = bins.query(bins.points[rows] + 0.5 * gap * normals[rows])[1][:, 0]
    return nearest, dots(normals[rows], normals[nearest]) < facing


def without_layers(points: FloatArray, normals: FloatArray, mass: FloatArray, window: float) -> IntArray:
    """Rows of seeds ``points`` [n, 3], with outward ``normals`` [n, 3] and ``mass`` [n], that are in no layer."""
    bins = Bins(points, tuning.LAYER_GAP * window / 6.0)
    everyone, near = np.arange(len(points)), min(tuning.SURROUNDINGS, len(points))
    beyond, gap = across_gap(bins, normals, everyone, tuning.LAYER_GAP * window, -SAME_PLANE)
    rows = np.flatnonzero(gap)
    if rows.size == 0:
        return everyone
    both, place = np.unique(np.concatenate([rows, beyond[rows]]), return_inverse=True)
    around = bins.query(points[both], near)[1]
    same = np.einsum("nkd,nd->nk", normals[around], normals[both]) > SAME_PLANE
    queried, wall = np.unique(around), np.zeros(len(points), np.bool_)
    wall[queried] = across_gap(bins, normals, queried, -tuning.LAYER_WALL * window, -SAME_PLANE)[1]
    values = np.stack([np.log(mass), wall, gap])[:, around]
    means = np.sum(same * values, axis=2) / np.maximum(same.sum(axis=1), 1)
    (own, other), (own_wall, other_wall), (depth, _) = means[:, place].reshape(3, 2, -1)
    layer = (own < other + np.log(tuning.LAYER_MASS)) | ((own_wall < 0.5) & (other_wall > 0.5))
    kept: IntArray = np.delete(everyone, rows[layer & (depth > 0.5)])
    return kept
