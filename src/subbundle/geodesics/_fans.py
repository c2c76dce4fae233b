"""Distances from a point to many, from one fan of geodesics.

Rays γ_i(s) leave the source in evenly spread directions. Near the node γ_i(s_j) the points at equal distance from
the source run across the rays, so with b counted in rays and a in arc length,

    y ≈ γ_i(s_j) + a γ̇ + ½ a² γ̈ + b (γ_{i+1} − γ_{i−1})/2 + ½ b² (γ_{i+1} − 2 γ_i + γ_{i−1})        d(y) = s_j + a.

(a, b) is solved for by Gauss–Newton. A target is tried from several nodes near it, and the shortest geodesic counts:
rays beyond the cut locus are longer than others and are discarded.

Noise in the bundle makes neighbouring rays diverge over long distances. A target in such a gap is searched again in a
narrow fan, between the two rays beside the one that came nearest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._elementwise import cos, sin
from subbundle._types import BoolArray, FloatArray, IntArray, Status, all_finite
from subbundle.bundles.base import HasLandmarks, Subbundle
from subbundle.bundles.surroundings import FLAT, Picture, Surroundings, surroundings_of
from subbundle.flow import integrate
from subbundle.geodesics.paths import path_graph
from subbundle.geodesics.start import covectors_from_coordinates
from subbundle.geodesics.tuning import START_NODES

# Distance between nodes along a ray, and between rays at the rim, in length scales.
_ALONG, _ACROSS = 0.5, 1.5
# Rays of a full fan: at least as many as resolve a circle, at most as many as narrow fans then refine.
_FEWEST_RAYS, _MOST_RAYS = 32, 160
# Rays of a narrow fan, which spans two intervals between the rays of a full one.
_NARROW_RAYS = 33
# Neighbouring nodes that are checked for another ray that arrives earlier.
_WATCHED = 32
# Rows of one batch: enough to keep the threads busy, few enough for their outputs to fit in memory.
_ROWS = 4096


@dataclass(frozen=True, slots=True)
class FanDistances:
    """Distances found by fans.

    Attributes
    ----------
    lengths : [n, m]
        NaN where no ray came near the target.
    nearest : [n, m]
        The ray that came nearest; −1 where there was none.
    rays : [n, m]
        Rays of the fan that was sent; 0 where there was none.
    longest : [n, m]
        How far they ran.
    angles : [n, m]
        Direction at the source of the geodesic to the target, for rank 2; NaN where the length is.
    """

    lengths: FloatArray
    nearest: IntArray
    rays: IntArray
    longest: FloatArray
    angles: FloatArray


def fan_distances(
    bundle: Subbundle, sources: FloatArray, targets: FloatArray, apart: BoolArray, tol: float
) -> FanDistances:
    """Distances from every source [n, dim] to every target [m, dim]; pairs that are ``apart`` [n, m] are left out.

    How long and how dense a fan is follows from the bundle, or without data from the pair, never from the other
    points of the call.
    """
    shape = (len(sources), len(targets))
    found = FanDistances(
        np.full(shape, np.nan), np.full(shape, -1), np.zeros(shape, np.int64), np.zeros(shape), np.full(shape, np.nan)
    )
    usable = bundle.frame(sources).status == Status.OK
    asked = ~apart & usable[:, None]
    if asked.any():
        found.longest[asked] = _longest(bundle, sources, targets)[asked]
    for longest in np.unique(found.longest[asked]):
        _fill(bundle, sources, targets, asked & (found.longest == longest), float(longest), found, tol)
    return found


def _fill(
    bundle: Subbundle,
    sources: FloatArray,
    targets: FloatArray,
    asked: BoolArray,
    longest: float,
    found: FanDistances,
    tol: float,
) -> None:
    """Put the distances of the pairs ``asked`` [n, m] for into ``found``, from fans that run as far as ``longest``."""
    around = surroundings_of(bundle)
    across = 2.0 * np.pi * longest / (_ACROSS * bundle.length_scale)
    rays = 2 if bundle.rank == 1 else int(np.clip(across, _FEWEST_RAYS, _MOST_RAYS))
    angles = 2.0 * np.pi * np.arange(rays) / rays
    leaving = np.flatnonzero(asked.any(axis=1))
    count = max(_ROWS // rays, 1)
    for start in range(0, leaving.size, count):
        rows = leaving[start : start + count]
        times, nodes = _fans(bundle, sources[rows], np.tile(angles, (len(rows), 1)), longest, tol)
        for row, fan in zip(rows, nodes, strict=True):
            wanted = np.flatnonzero(asked[row])
            found.lengths[row, wanted], found.nearest[row, wanted], found.angles[row, wanted] = _place(
                around, fan, times, targets[wanted], bundle.length_scale
            )
    found.rays[asked] = rays


def narrow_fan_distances(
    bundle: Subbundle,
    sources: FloatArray,
    targets: FloatArray,
    pairs: tuple[IntArray, IntArray],
    found: FanDistances,
    tol: float,
) -> tuple[FloatArray, FloatArray]:
    """Distances [n] from each source to the target in the same row, which are the ``pairs`` (i, j) of the full fans.

    NaN where a narrow fan misses the target too. Also the coordinates [n, 2] of the geodesic that came nearest.
    """
    lengths, starts = np.empty(len(sources)), np.empty((len(sources), 2))
    spacing, longest = 2.0 * np.pi / found.rays[pairs], found.longest[pairs]
    middles: FloatArray = found.nearest[pairs] * spacing
    for far in np.unique(longest):
        rows = np.flatnonzero(longest == far)
        lengths[rows], starts[rows] = aimed_fan_distances(
            bundle, sources[rows], targets[rows], middles[rows], float(spacing[rows[0]]), float(far), tol
        )
    return lengths, starts


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
            length, _, _ = _place(around, fan, times, targets[row : row + 1], bundle.length_scale, closed=False)
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
    return times, run.points.reshape(len(sources), rays, len(times), bundle.ambient_dim)


def _longest(bundle: Subbundle, sources: FloatArray, targets: FloatArray) -> FloatArray:
    """Upper estimates [n, m] of the distances, of few different values.

    With data, 1.25 times the longest shortest path through the landmarks: any two points are nearer than the sum of two
    such paths. Without, π times the chord (half a great circle is π/2 times its chord), rounded up to a power of two.
    """
    scale = float(bundle.length_scale)
    if isinstance(bundle, HasLandmarks):
        return np.full((len(sources), len(targets)), 1.25 * path_graph(bundle).diameter + 2.0 * scale)
    offsets = sources[:, None, :] - targets[None, :, :]
    chords = np.sqrt(np.einsum("nmd,nmd->nm", offsets, offsets))
    return np.asarray(scale * np.ldexp(1.0, np.frexp(np.maximum(np.pi * chords / scale, 1.0))[1]))


def _place(
    around: Surroundings,
    nodes: FloatArray,
    times: FloatArray,
    targets: FloatArray,
    scale: float,
    *,
    closed: bool = True,
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Distances [m] of ``targets`` [m, dim] in one fan of ``nodes`` [rays, t, dim], the ray that came nearest, and the
    angle between the first ray and the geodesic to the target, for a full fan.

    The first ray of a ``closed`` fan follows the last. On a manifold everything is computed in the picture around the
    source, with the metric at the target: nodes near it are searched in the picture, and the residual is measured in
    the metric.
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
        return np.full(len(targets), np.nan), np.full(len(targets), -1), np.full(len(targets), np.nan)
    ray = np.repeat(np.arange(rays), len(times))[good]
    measure = _measures(around, picture, given, targets)
    length = np.tile(times, rays)[good]
    found, index = cKDTree(flat["p"]).query(targets, k=min(START_NODES, len(length)))
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
    reach: FloatArray = np.where(inside, length[index] + a, np.inf)
    first = np.argmin(reach, axis=1, keepdims=True)
    value = np.take_along_axis(reach, first, axis=1)[:, 0]
    angle = 2.0 * np.pi / rays * np.take_along_axis(ray[index] + b, first, axis=1)[:, 0]
    value = np.where(near <= 0.75 * step, near, np.where(unseen, np.inf, value))
    lost = ~np.isfinite(value)
    nearest = np.where(unseen, -1, ray[index[:, 0]])
    return np.where(lost, np.nan, np.maximum(value, 0.0)), nearest, np.where(lost, np.nan, angle)


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
    """Which nodes [rays, n_times] lie on their ray before another ray overtakes it: up to the cut locus."""
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
