"""Distances from a point to many, from one fan of geodesics.

Rays leave the source in evenly spread directions, and every target is placed between them (`_fan_places`).

Noise in the bundle makes neighbouring rays diverge over long distances. A target in such a gap is searched again in a
narrow fan, between the two rays beside the one that came nearest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from subbundle._elementwise import cos, sin
from subbundle._types import BoolArray, FloatArray, IntArray, Status
from subbundle._validation import check_room
from subbundle.bundles.base import HasLandmarks, Subbundle
from subbundle.bundles.surroundings import surroundings_of
from subbundle.flow import integrate
from subbundle.geodesics._fan_places import closest, place
from subbundle.geodesics.paths import path_graph
from subbundle.geodesics.start import covectors_from_coordinates

# Distance between nodes along a ray, and between rays at the rim, in length scales.
_ALONG, _ACROSS = 0.5, 1.5
# Rays of a full fan: at least as many as resolve a circle, at most as many as narrow fans then refine.
_FEWEST_RAYS, _MOST_RAYS = 32, 160
# Rays of a narrow fan, which spans two intervals between the rays of a full one.
_NARROW_RAYS = 33
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
            found.lengths[row, wanted], found.nearest[row, wanted], found.angles[row, wanted] = place(
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
            length, _, _ = place(around, fan, times, targets[row : row + 1], bundle.length_scale, closed=False)
            lengths[row] = length[0]
            ray, node = closest(around, fan, targets[row])
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
    room = 4.0 * len(covectors) * bundle.ambient_dim * longest / step
    check_room(room, "Fans as long as the cloud at this bandwidth", "Take a larger bandwidth, or leave outliers out.")
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
