"""A fan of geodesics: from one base point in many directions, sampled at equal distances, and how it spreads.

All geodesics have unit speed, so the node at distance r on the geodesic in the direction u is exp(r u), and its
velocity is ∂/∂r exp(r u). They are followed stage by stage, all to the same distance; after each stage those that
are no longer needed are dropped, so that no geodesic winds around a closed surface. Points and velocities are stored
under a local map around the base point (see `bundles.surroundings`): offsets from it in R^d.

On a circle of L directions the derivative in the angle is that of the polynomial through the node and up to three
neighbours on either side, as many as exist: order 6 inside, one-sided where neighbours ended earlier. In higher
dimension the neighbours are scattered, and the derivatives come from a least-squares fit to the nearest ones. The
component across the velocity is the *Jacobi field* of the fan,

    W = (I − γ̇γ̇ᵀ/|γ̇|²) ∂/∂u exp(r u)          [dim, k − 1],    |W| = r where the submanifold is flat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import BoolArray, FloatArray, Status, StatusArray
from subbundle.bundles.base import Subbundle
from subbundle.bundles.surroundings import LocalMap, surroundings_of
from subbundle.flow.integrate import integrate, shared_steps
from subbundle.geodesics.start import covectors_from_coordinates


@dataclass(frozen=True, slots=True)
class Fan:
    """L geodesics, with nodes at the distances 0, h, 2h, …, Rh.

    Attributes
    ----------
    directions : [L, k]
        Unit vectors, coordinates in the frame at the base point.
    step : float
        h.
    points, velocities : [L, R + 1, m]
        Images of the nodes, and their velocities; NaN where a geodesic was not followed.
    reached : [L]
        Distance up to which each was followed.
    ends, end_velocities : [L, m]
        Point and velocity at that distance.
    status : [L]
        OK, or why it ended early.
    """

    directions: FloatArray
    step: float
    points: FloatArray
    velocities: FloatArray
    reached: FloatArray
    ends: FloatArray
    end_velocities: FloatArray
    status: StatusArray

    @property
    def distances(self) -> FloatArray:
        """Distances [R + 1] of the nodes from the base point."""
        return np.asarray(self.step * np.arange(self.points.shape[1]), dtype=np.float64)

    @property
    def real(self) -> BoolArray:
        """Which nodes [L, R + 1] were reached."""
        return np.isfinite(self.velocities[:, :, 0])


def trace(
    bundle: Subbundle,
    base_point: FloatArray,
    frame: FloatArray,
    directions: FloatArray,
    step: float,
    n_steps: int,
    tol: float,
    *,
    duals: FloatArray | None = None,
    stage: int | None = None,
    useful: Callable[[Fan], BoolArray] | None = None,
) -> Fan:
    """Follow the geodesics in ``directions`` [L, k] of the ``frame`` [dim, k] for up to ``n_steps`` steps.

    ``duals`` [dim, k] as in `Frame`. After every ``stage`` steps, ``useful(fan)`` selects those [L] to follow
    further. One that leaves the domain of the map ends at its last node there.
    """
    local_map = surroundings_of(bundle).local_map(base_point)
    n = len(directions)
    positions = np.repeat(base_point[None], n, axis=0)
    covectors = covectors_from_coordinates(frame[None], directions, None if duals is None else duals[None])
    ends = local_map.enter(positions)
    velocity, reached, status = np.full(ends.shape, np.nan), np.zeros(n), np.zeros(n, np.int8)
    nodes = np.empty((2, n, 0, ends.shape[1]))
    going = np.arange(n)
    stage = n_steps if stage is None else stage
    for first in range(0, n_steps, stage):
        last = min(first + stage, n_steps)
        times = np.asarray(step * np.arange(last - first + 1), dtype=np.float64)
        most = shared_steps(bundle, times[-1], len(going) * -(-n_steps // stage))
        run = integrate(bundle, positions[going], covectors[going], times, unit_speed=True, tol=tol, max_steps=most)
        positions[going], covectors[going] = run.end_points, run.end_covectors
        end = mapped(bundle, local_map, run.end_points[:, None], run.end_covectors[:, None])
        ends[going], velocity[going] = end[0][:, 0], end[1][:, 0]
        status[going] = run.status
        reached[going] = np.where(run.status == Status.OK, step * last, step * first + run.reached)
        new = np.full((2, n, len(times), ends.shape[1]), np.nan)
        new[:, going] = mapped(bundle, local_map, run.points, run.covectors)
        # The first node of a stage is the last of the one before, and known for more geodesics there.
        nodes = np.concatenate([nodes, new[:, :, 1 if first else 0 :]], axis=2)
        end_before_unknown_nodes(nodes, step, reached, ends, velocity, status)
        fan = Fan(directions, step, nodes[0], nodes[1], reached, ends, velocity, status)
        still = (status == Status.OK) & (reached == step * last)
        if useful is not None and last < n_steps and still.any():
            still &= useful(fan)
        going = np.flatnonzero(still)
        if going.size == 0:
            break
    return fan


def interleave(even: Fan, odd: Fan) -> Fan:
    """One fan from two of as many geodesics each, taken in turn."""
    width = max(even.points.shape[1], odd.points.shape[1])

    def merge(name: str) -> FloatArray:
        parts = []
        for fan in (even, odd):
            part = getattr(fan, name)
            if name in ("points", "velocities"):
                part = np.pad(part, ((0, 0), (0, width - part.shape[1]), (0, 0)), constant_values=np.nan)
            parts.append(part)
        merged: FloatArray = np.stack(parts, axis=1).reshape(2 * len(parts[0]), *parts[0].shape[1:])
        return merged

    return Fan(
        merge("directions"), even.step, merge("points"), merge("velocities"), merge("reached"),
        merge("ends"), merge("end_velocities"), merge("status").astype(np.int8),
    )  # fmt: skip


def mapped(bundle: Subbundle, local_map: LocalMap, points: FloatArray, covectors: FloatArray) -> FloatArray:
    """Images of points and velocities [2, n, m, dim'] at ``points`` [n, m, dim], NaN where these are."""
    known = np.isfinite(points).all(axis=2)
    velocities = bundle.field(points[known], covectors[known]).velocity
    images = np.stack([local_map.enter(points[known]), local_map.push(points[known], velocities)])
    result = np.full((2, *points.shape[:2], images.shape[2]), np.nan)
    result[:, known] = images
    return result


def end_before_unknown_nodes(
    nodes: FloatArray, step: float, reached: FloatArray, ends: FloatArray, velocity: FloatArray, status: StatusArray
) -> None:
    """End geodesics at their last node before one that is not known, in place.

    They left the domain of the map, or passed a region without a field narrower than their steps.
    """
    known = np.asarray(np.isfinite(nodes).all(axis=(0, 3)))
    first = np.where(known.all(axis=1), known.shape[1], known.argmin(axis=1))
    lost = ~(np.isfinite(ends) & np.isfinite(velocity)).all(axis=1) | (step * first <= reached)
    for ray in np.flatnonzero(lost & (reached > 0.0)):
        last = max(int(first[ray]) - 1, 0)
        nodes[:, ray, last + 1 :] = np.nan
        reached[ray], ends[ray], velocity[ray] = step * last, *nodes[:, ray, last]
        status[ray] = Status.NOT_FINITE


# Neighbours on either side of a node: differences of order 6.
_SIDE = 3


def angular(values: FloatArray, real: BoolArray) -> FloatArray:
    """Derivatives in the angle of ``values`` [L, m, dim] from the nodes that are ``real`` [L, m]; else NaN."""
    n = len(values)
    side = min(_SIDE, (n - 1) // 2)
    before, after = _run_length(real, 1, side), _run_length(real, -1, side)
    result = np.full_like(values, np.nan)
    for left in range(side + 1):
        for right in range(side + 1):
            ray, node = np.nonzero(real & (before == left) & (after == right))
            if ray.size == 0 or left + right == 0:
                continue
            total = np.zeros((ray.size, values.shape[2]))
            for offset, weight in zip(range(-left, right + 1), _weights(left, right), strict=True):
                total += weight * values[(ray + offset) % n, node]
            result[ray, node] = total * (n / (2.0 * np.pi))
    return result


def _run_length(real: BoolArray, shift: int, longest: int) -> NDArray[np.int64]:
    """Number of consecutive neighbours, up to ``longest``, are real on one side of each node."""
    count = np.zeros(real.shape, np.int64)
    unbroken = np.ones(real.shape, bool)
    for distance in range(1, longest + 1):
        unbroken &= np.roll(real, shift * distance, axis=0)
        count += unbroken
    return count


def _weights(left: int, right: int) -> FloatArray:
    """Weights that differentiate at 0 the polynomial through −left..right."""
    offsets = np.arange(-left, right + 1)
    powers = offsets[None, :] ** np.arange(len(offsets))[:, None]
    slope = np.zeros(len(offsets))
    slope[1] = 1.0
    return np.asarray(np.linalg.solve(powers.astype(float), slope))


def jacobi_fields(fan: Fan) -> FloatArray:
    """W [L, R + 1, dim, k − 1]; NaN where there are too few neighbours."""
    planar = fan.directions.shape[1] == 2
    spread = angular(fan.points, fan.real)[:, :, :, None] if planar else _scattered(fan)
    speed = np.einsum("lmd,lmd->lm", fan.velocities, fan.velocities)
    along = np.einsum("lmd,lmdi->lmi", fan.velocities, spread) / speed[:, :, None]
    return np.asarray(spread - fan.velocities[:, :, :, None] * along[:, :, None, :])


def _scattered(fan: Fan) -> FloatArray:
    """∂exp(r u)/∂u in an orthonormal basis across u [L, R + 1, dim, k − 1], by least squares over near directions."""
    n, rank = fan.directions.shape
    count = min(2 * rank + 1, n)
    _, near = cKDTree(fan.directions).query(fan.directions, k=count)
    result = np.full((*fan.points.shape, rank - 1), np.nan)
    for ray in range(n):
        u = fan.directions[ray]
        across = np.linalg.svd(u[None])[2][1:]
        offsets = (fan.directions[near[ray, 1:]] - u) @ across.T
        # A node needs all its neighbours: where they end, a fan loses one node.
        moved = fan.points[near[ray, 1:]] - fan.points[ray]
        result[ray] = np.einsum("in,nmd->mdi", np.linalg.pinv(offsets), moved)
    return result
