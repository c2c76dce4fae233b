"""Distances from a point to many, from one fan of geodesics.

Rays γ_i(s) leave the source in evenly spread directions. Near the node γ_i(s_j) the points at equal distance from
the source run across the rays, so with b counted in rays and a in arc length,

    y ≈ γ_i(s_j) + a γ̇ + ½ a² γ̈ + b (γ_{i+1} − γ_{i−1})/2 + ½ b² (γ_{i+1} − 2 γ_i + γ_{i−1})        d(y) = s_j + a.

(a, b) is solved for by Gauss–Newton. A target is tried from several nodes near it, and the shortest geodesic wins:
rays that have passed the cut locus arrive later than others and lose.

Noise in the bundle parts neighbouring rays on a long way. A target that falls into such a gap is looked for again in
a narrow fan, between the two rays beside the one that came nearest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._elementwise import cos, sin
from subbundle._types import FloatArray, IntArray, Status, all_finite
from subbundle.bundles.base import Subbundle
from subbundle.bundles.surroundings import FLAT, Picture, Surroundings, surroundings_of
from subbundle.flow import integrate
from subbundle.geodesics._paths import HasLandmarks, path_graph
from subbundle.geodesics._start import covectors_from_coordinates

# Distance between nodes along a ray, and between rays at the rim, in length scales.
_ALONG, _ACROSS = 0.5, 1.5
_FEWEST_RAYS, _MOST_RAYS = 32, 160
# Rays of a narrow fan, which spans two of the spaces between the rays of a full one.
_NARROW_RAYS = 33
_CANDIDATES = 6
# Neighbours looked at to see whether another ray arrives sooner.
_WATCHED = 32
# Rows of one batch: enough to keep the threads busy, few enough for their outputs to fit in memory.
_ROWS = 4096


@dataclass(frozen=True, slots=True)
class FanDistances:
    """What the fans found.

    Attributes
    ----------
    lengths : [n, m]
        NaN where no ray came near the target.
    nearest : [n, m]
        The ray that came nearest; −1 where there was none.
    rays : int
        Rays of a fan; 0 where no source has a frame.
    longest : float
        How far they ran.
    """

    lengths: FloatArray
    nearest: IntArray
    rays: int
    longest: float


def fan_distances(
    bundle: Subbundle, sources: FloatArray, targets: FloatArray, apart: np.ndarray, tol: float
) -> FanDistances:
    """Distances from every source [n, dim] to every target [m, dim]; pairs that are ``apart`` [n, m] are left out."""
    shape = (len(sources), len(targets))
    lengths, nearest = np.full(shape, np.nan), np.full(shape, -1)
    usable = np.flatnonzero(bundle.frame(sources).status == Status.OK)
    around = surroundings_of(bundle)
    if usable.size == 0:
        return FanDistances(lengths, nearest, 0, 0.0)
    longest = _longest(bundle, sources[usable], targets)
    across = 2.0 * np.pi * longest / (_ACROSS * bundle.length_scale)
    rays = 2 if bundle.rank == 1 else int(np.clip(across, _FEWEST_RAYS, _MOST_RAYS))
    angles = 2.0 * np.pi * np.arange(rays) / rays
    for start in range(0, usable.size, max(_ROWS // rays, 1)):
        rows = usable[start : start + max(_ROWS // rays, 1)]
        times, nodes = _fans(bundle, sources[rows], np.tile(angles, (len(rows), 1)), longest, tol)
        for row, fan in zip(rows, nodes, strict=True):
            wanted = np.flatnonzero(~apart[row])
            lengths[row, wanted], nearest[row, wanted] = _place(
                around, fan, times, targets[wanted], bundle.length_scale
            )
    return FanDistances(lengths, nearest, rays, longest)


def narrow_fan_distances(
    bundle: Subbundle, sources: FloatArray, targets: FloatArray, nearest: IntArray, found: FanDistances, tol: float
) -> tuple[FloatArray, FloatArray]:
    """Distances [n] from each source to the target in the same row, given its ``nearest`` ray [n] of the full fan; NaN
    where a narrow one misses it too. Also the coordinates [n, 2] of the geodesic that came nearest.
    """
    spacing = 2.0 * np.pi / found.rays
    middles: FloatArray = nearest.astype(np.float64) * spacing
    return aimed_fan_distances(bundle, sources, targets, middles, spacing, found.longest, tol)


def aimed_fan_distances(
    bundle: Subbundle,
    sources: FloatArray,
    targets: FloatArray,
    middles: FloatArray,
    spread: float,
    longest: float,
    tol: float,
) -> tuple[FloatArray, FloatArray]:
    """The same with fans of the angles ``middles`` [n] ± ``spread``."""
    angles = middles[:, None] + spread * np.linspace(-1.0, 1.0, _NARROW_RAYS)
    around = surroundings_of(bundle)
    lengths, starts = np.empty(len(sources)), np.empty((len(sources), 2))
    count = max(_ROWS // _NARROW_RAYS, 1)
    for start in range(0, len(sources), count):
        rows = np.arange(start, min(start + count, len(sources)))
        times, nodes = _fans(bundle, sources[rows], angles[rows], longest, tol)
        for row, fan in zip(rows, nodes, strict=True):
            length, _ = _place(around, fan, times, targets[row : row + 1], bundle.length_scale, closed=False)
            lengths[row] = length[0]
            ray, node = _closest(around, fan, targets[row])
            starts[row] = times[node] * np.array([math.cos(angles[row, ray]), math.sin(angles[row, ray])])
    return lengths, starts


def _fans(
    bundle: Subbundle, sources: FloatArray, angles: FloatArray, longest: float, tol: float
) -> tuple[FloatArray, FloatArray]:
    """Times [t] and nodes [n, rays, t, dim] of the rays that leave each source [n, dim] at its ``angles`` [n, rays]."""
    directions = cos(angles)[..., None] if bundle.rank == 1 else np.stack([cos(angles), sin(angles)], axis=-1)
    rays = angles.shape[1]
    frames = bundle.frame(sources)
    vectors = np.repeat(frames.vectors, rays, axis=0)
    duals = None if frames.duals is None else np.repeat(frames.duals, rays, axis=0)
    covectors = covectors_from_coordinates(vectors, directions.reshape(-1, bundle.rank), duals)
    step = _ALONG * bundle.length_scale
    times: FloatArray = np.arange(0.0, longest + step, step, dtype=np.float64)
    run = integrate(bundle, np.repeat(sources, rays, axis=0), covectors, times, unit_speed=True, tol=tol)
    return times, run.points.reshape(len(sources), rays, len(times), -1)


def _longest(bundle: Subbundle, sources: FloatArray, targets: FloatArray) -> float:
    """An upper estimate of the distances: the longest shortest path through the landmarks."""
    if not isinstance(bundle, HasLandmarks):
        # Half a great circle is π/2 times its chord.
        return float(np.pi * np.linalg.norm(targets.max(axis=0) - targets.min(axis=0)))
    graph = path_graph(bundle)
    some = sources[:: max(len(sources) // 16, 1)]
    lengths = np.concatenate([graph.lengths(source, targets) for source in some])
    finite = lengths[np.isfinite(lengths)]
    # Any other source is nearer than the sum of two of these; a quarter more is ample for evenly spread ones.
    return float(1.25 * finite.max() + 2.0 * bundle.length_scale)


def _place(
    around: Surroundings,
    nodes: FloatArray,
    times: FloatArray,
    targets: FloatArray,
    scale: float,
    *,
    closed: bool = True,
) -> tuple[FloatArray, IntArray]:
    """Distances [m] of ``targets`` [m, dim] in one fan of ``nodes`` [rays, t, dim], and the ray that came nearest.

    The first ray of a ``closed`` fan follows the last. On a manifold all is seen in the picture around the source, and
    lengths there are those of the metric at the target: nodes near it are looked for in the one, and the miss is
    measured in the other.
    """
    picture = around.picture(nodes[0, 0])
    near, given = around.distance(np.broadcast_to(nodes[0, 0], targets.shape), targets), targets
    nodes, targets = _pictured(picture, nodes), picture.enter(targets)
    unseen = ~all_finite(targets)
    targets[unseen] = 0.0
    rays, _, dim = nodes.shape
    ahead, behind = np.roll(nodes, -1, axis=0), np.roll(nodes, 1, axis=0)
    if rays == 2:
        ahead, behind = nodes, nodes  # a curve has nothing across it
    elif not closed:
        ahead[-1], behind[0] = np.nan, np.nan
    step = times[1]
    velocity, bend = np.full_like(nodes, np.nan), np.full_like(nodes, np.nan)
    velocity[:, 1:-1] = (nodes[:, 2:] - nodes[:, :-2]) / (2.0 * step)
    bend[:, 1:-1] = (nodes[:, 2:] - 2.0 * nodes[:, 1:-1] + nodes[:, :-2]) / step**2
    across, spread = 0.5 * (ahead - behind), ahead - 2.0 * nodes + behind
    good = (np.isfinite(nodes + velocity + across).all(axis=2) & _shortest(nodes, times)).ravel()
    flat = {name: value.reshape(-1, dim)[good] for name, value in
            {"p": nodes, "v": velocity, "g": bend, "w": across, "c": spread}.items()}  # fmt: skip
    if not len(flat["p"]):
        return np.full(len(targets), np.nan), np.full(len(targets), -1)
    ray = np.repeat(np.arange(rays), len(times))[good]
    measure = _measures(around, picture, given, targets)
    length = np.tile(times, rays)[good]
    found, index = cKDTree(flat["p"]).query(targets, k=min(_CANDIDATES, len(length)))
    found, index = found.reshape(len(targets), -1), index.reshape(len(targets), -1)
    picked = {name: value[index] for name, value in flat.items()}
    picked["p"] = picked["p"] - targets[:, None, :]
    if measure is not None:
        picked = {name: np.einsum("mij,mcj->mci", measure, value) for name, value in picked.items()}
    a, b, miss = _solve(picked)
    inside = (np.abs(a) <= 1.5 * step) & (np.abs(b) <= 1.2) & (miss <= scale)
    # Candidates on other sheets miss by more; among those that hit equally well the shortest counts.
    best = np.min(np.where(inside, miss, np.inf), axis=1, keepdims=True)
    inside &= miss <= best + 0.25 * scale
    value: FloatArray = np.min(np.where(inside, length[index] + a, np.inf), axis=1)
    value = np.where(near <= 0.75 * step, near, np.where(unseen, np.inf, value))
    return np.where(np.isfinite(value), np.maximum(value, 0.0), np.nan), np.where(unseen, -1, ray[index[:, 0]])


def _closest(around: Surroundings, nodes: FloatArray, target: FloatArray) -> tuple[int, int]:
    """Ray and node that come nearest to the ``target`` [dim]."""
    picture = around.picture(nodes[0, 0])
    offsets = _pictured(picture, nodes) - picture.enter(target[None])
    squared = np.einsum("rtd,rtd->rt", offsets, offsets)
    ray, node = np.unravel_index(int(np.nanargmin(squared)), squared.shape)
    return int(ray), int(node)


def _pictured(picture: Picture, nodes: FloatArray) -> FloatArray:
    """Pictures [rays, n_times, m] of nodes, NaN where these are."""
    flat = nodes.reshape(-1, nodes.shape[-1])
    known = all_finite(flat)
    seen = picture.enter(flat[known])
    result = np.full((len(flat), seen.shape[1]), np.nan)
    result[known] = seen
    return result.reshape(*nodes.shape[:2], -1)


def _measures(around: Surroundings, picture: Picture, points: FloatArray, pictures: FloatArray) -> FloatArray | None:
    """W [m, m', m'] with |W u| the length at ``points`` [m, dim] of a vector with the picture u; None if W = 1."""
    if around is FLAT:
        return None
    columns = [
        around.coordinates(points, picture.pull(pictures, np.broadcast_to(unit, pictures.shape)))
        for unit in np.eye(pictures.shape[1])
    ]
    return np.nan_to_num(np.stack(columns, axis=2))


def _shortest(nodes: FloatArray, times: FloatArray) -> np.ndarray:
    """Which nodes [rays, n_times] lie on the part of their ray that no other ray overtakes: up to the cut locus."""
    rays, count = nodes.shape[:2]
    step = times[1]
    valid = np.isfinite(nodes).all(axis=2)
    length = np.broadcast_to(times, (rays, count))[valid]
    tree = cKDTree(nodes[valid])
    near, index = tree.query(nodes[valid], k=min(_WATCHED, len(length)), distance_upper_bound=step)
    reach = np.append(length, np.inf)[index] + near
    overtaken = np.zeros((rays, count), bool)
    overtaken[valid] = reach.min(axis=1) < length - 0.5 * step
    return valid & ~np.logical_or.accumulate(overtaken, axis=1)


def _solve(picked: dict[str, FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gauss–Newton for (a, b) [m, candidates], nodes being relative to the target; also the distance missed by."""
    a = np.zeros(picked["p"].shape[:2])
    b = np.zeros_like(a)
    for _ in range(4):
        miss = _surface(picked, a, b)
        da = picked["v"] + a[..., None] * picked["g"]
        db = picked["w"] + b[..., None] * picked["c"]
        aa, bb, ab = (da * da).sum(-1), (db * db).sum(-1), (da * db).sum(-1)
        ra, rb = (da * miss).sum(-1), (db * miss).sum(-1)
        flat = bb <= 1e-12 * aa  # no direction across: a curve, or the source itself
        determinant = np.where(flat, 1.0, aa * bb - ab * ab)
        determinant = np.where(np.abs(determinant) <= 1e-300, 1.0, determinant)
        a = a - np.where(flat, ra / np.maximum(aa, 1e-300), (bb * ra - ab * rb) / determinant)
        b = b - np.where(flat, 0.0, (aa * rb - ab * ra) / determinant)
        a, b = np.clip(a, -1e3, 1e3), np.clip(b, -10.0, 10.0)
    miss = _surface(picked, a, b)
    return a, b, np.sqrt((miss * miss).sum(-1))


def _surface(picked: dict[str, FloatArray], a: FloatArray, b: FloatArray) -> FloatArray:
    a, b = a[..., None], b[..., None]
    result: FloatArray = (
        picked["p"] + a * picked["v"] + 0.5 * a * a * picked["g"] + b * picked["w"] + 0.5 * b * b * picked["c"]
    )
    return result
