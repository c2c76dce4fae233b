"""Where targets lie in a fan of geodesics: between which rays, and how far along them.

Rays γ_i(s) leave the source in evenly spread directions. Near the node γ_i(s_j) the points at equal distance from
the source run across the rays, so with b counted in rays and a in arc length,

    y ≈ γ_i(s_j) + a γ̇ + ½ a² γ̈ + b (γ_{i+1} − γ_{i−1})/2 + ½ b² (γ_{i+1} − 2 γ_i + γ_{i−1})        d(y) = s_j + a.

(a, b) is solved for by Gauss–Newton. A target is tried from several nodes near it, and the shortest geodesic counts:
rays beyond the cut locus are longer than others and are discarded.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray, all_finite
from subbundle.bundles.surroundings import FLAT, Picture, Surroundings
from subbundle.geodesics.tuning import START_NODES

# Neighbouring nodes that are checked for another ray that arrives earlier.
_WATCHED = 32


def place(
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


def closest(around: Surroundings, nodes: FloatArray, target: FloatArray) -> tuple[int, int]:
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
