"""Exact distances from points to the curves and surfaces of `subbundle.datasets`.

The nearest point y* of x on a smooth set is a stationary point of ½ |y − x|². Newton's method starts at the nearest
point of a dense sample, within one sample spacing of y*, so the distances are exact to rounding wherever y* is unique.
Where it is not (near the medial axis) the iteration may diverge; the distance to the sample is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray

# Most steps of Newton's method, which doubles the digits in each, from the nearest point of a sample.
_NEWTON_STEPS = 12


def distance_to_arc(points: FloatArray, centre: tuple[float, float], start: float, stop: float) -> FloatArray:
    """Distance from ``points`` [n, 2] to the unit circular arc of angles ``start..stop`` around ``centre``.

    Inside the arc's sector the distance is | |x − centre| − 1 |; outside, that to the nearer end.
    """
    offset = points - np.asarray(centre)
    angle = np.arctan2(offset[:, 1], offset[:, 0])
    inside = np.mod(angle - start, 2 * np.pi) <= stop - start
    ends = np.array([[np.cos(start), np.sin(start)], [np.cos(stop), np.sin(stop)]])
    to_ends = np.linalg.norm(offset[:, None, :] - ends, axis=2).min(axis=1)
    radial: FloatArray = np.abs(np.linalg.norm(offset, axis=1) - 1.0)
    return np.where(inside, radial, to_ends)


def distance_to_curve(
    points: FloatArray, curve: Callable[[FloatArray, int], FloatArray], start: float, stop: float
) -> FloatArray:
    """Distance from ``points`` [n, dim] to the curve c(t), start ≤ t ≤ stop.

    Parameters
    ----------
    points : [n, dim]
    curve : callable
        ``curve(t, order)`` returns c, c′ or c″ (order 0, 1, 2) at ``t`` [n], as [n, dim].
    start, stop : float
        The interval of the parameter; its ends belong to the curve.
    """
    sample, spacing = np.linspace(start, stop, 8001, retstep=True)
    to_sample, nearest = cKDTree(curve(sample, 0)).query(points)
    low, high = np.maximum(sample[nearest] - spacing, start), np.minimum(sample[nearest] + spacing, stop)
    t = sample[nearest]
    for _ in range(_NEWTON_STEPS):
        offset, tangent = curve(t, 0) - points, curve(t, 1)
        slope = np.sum(offset * tangent, axis=1)
        second = np.sum(tangent * tangent, axis=1) + np.sum(offset * curve(t, 2), axis=1)
        # No step where the second derivative is not positive: the bracket is already one spacing wide.
        t = np.clip(t - np.where(second > 0, slope / np.where(second > 0, second, 1.0), 0.0), low, high)
    distance: FloatArray = np.minimum(to_sample, np.linalg.norm(curve(t, 0) - points, axis=1))
    return distance


@dataclass(frozen=True, slots=True)
class StarSurface:
    """The closed surface {r(u) u : |u| = 1} in R³ with r(u) = 1 + Σ_j a_j exp(κ_j (u·c_j − 1)).

    Each term is a smooth bump (a_j > 0) or dent (a_j < 0) around the unit vector c_j, of angular width about 1/√κ_j.

    Attributes
    ----------
    centres : [bumps, 3]
        Unit vectors c_j.
    heights : [bumps]
        a_j.
    sharpness : [bumps]
        κ_j.
    """

    centres: FloatArray
    heights: FloatArray
    sharpness: FloatArray

    def radius(self, directions: FloatArray) -> FloatArray:
        """r(u) at unit ``directions`` [n, 3]."""
        result: FloatArray = 1.0 + self._bumps(directions).sum(axis=1)
        return result

    def area_density(self, directions: FloatArray) -> FloatArray:
        """Area of the surface per solid angle at unit ``directions`` [n, 3]: r √(r² + |∇r|²)."""
        radius = self.radius(directions)
        slope = (self._bumps(directions) * self.sharpness) @ self.centres
        slope -= np.sum(slope * directions, axis=1, keepdims=True) * directions
        density: FloatArray = radius * np.sqrt(radius**2 + np.sum(slope**2, axis=1))
        return density

    def distance(self, points: FloatArray) -> FloatArray:
        """Distance from ``points`` [n, 3] to the surface.

        Newton's method on y − x + ν ∇f(y) = 0, f(y) = 0 for the implicit function f(y) = |y| − r(y/|y|).
        """
        directions = spiral_directions(20000)
        sample = self.radius(directions)[:, None] * directions
        to_sample, nearest = cKDTree(sample).query(points)
        y = sample[nearest]
        gradient = self._implicit(y)[1]
        multiplier = np.sum((points - y) * gradient, axis=1) / np.sum(gradient**2, axis=1)
        for _ in range(_NEWTON_STEPS):
            value, gradient, hessian = self._implicit(y)
            system = np.zeros((len(y), 4, 4))
            system[:, :3, :3] = np.eye(3) + multiplier[:, None, None] * hessian
            system[:, :3, 3] = system[:, 3, :3] = gradient
            residual = np.column_stack([y - points + multiplier[:, None] * gradient, value])
            # The pseudo-inverse takes a bounded step where the system is singular (x at a centre of curvature).
            step = np.einsum("nij,nj->ni", np.linalg.pinv(system, rcond=1e-10, hermitian=True), residual)
            step *= np.minimum(1.0, 0.1 / np.maximum(np.linalg.norm(step[:, :3], axis=1, keepdims=True), 1e-300))
            y = y - step[:, :3]
            multiplier = multiplier - step[:, 3]
            if np.abs(step).max() < 1e-9:  # quadratic convergence: the next step would be below rounding
                break
        on_surface = np.abs(self._implicit(y)[0]) < 1e-12
        return np.where(on_surface, np.minimum(to_sample, np.linalg.norm(y - points, axis=1)), to_sample)

    def _bumps(self, directions: FloatArray) -> FloatArray:
        """The terms a_j exp(κ_j (u·c_j − 1)), [n, bumps]."""
        bumps: FloatArray = self.heights * np.exp(self.sharpness * (directions @ self.centres.T - 1.0))
        return bumps

    def _implicit(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """f, ∇f and ∇²f at ``y`` [n, 3].

        With ρ = |y|, u = y/ρ and s_j = u·c_j:  ∇s = (c − s u)/ρ,  ∇²s = (3 s u uᵀ − c uᵀ − u cᵀ − s I)/ρ².
        """
        length = np.linalg.norm(y, axis=1)
        u = y / length[:, None]
        s = u @ self.centres.T
        bumps = self._bumps(u)
        first, second = bumps * self.sharpness, bumps * self.sharpness**2
        slopes = (self.centres - s[:, :, None] * u[:, None, :]) / length[:, None, None]
        gradient = u - np.einsum("nj,nja->na", first, slopes)
        along = np.einsum("nj,nj->n", first, s)
        pull = first @ self.centres
        identity, uu = np.eye(3), u[:, :, None] * u[:, None, :]
        cross = pull[:, :, None] * u[:, None, :]
        bend = along[:, None, None] * (3 * uu - identity) - cross - cross.transpose(0, 2, 1)
        hessian = (identity - uu) / length[:, None, None] - bend / (length**2)[:, None, None]
        hessian -= np.einsum("nj,nja,njb->nab", second, slopes, slopes)
        return length - 1.0 - bumps.sum(axis=1), gradient, hessian


def spiral_directions(n: int) -> FloatArray:
    """``n`` unit vectors [n, 3] spread evenly over the sphere along a golden-angle spiral."""
    index = np.arange(n) + 0.5
    height = 1.0 - 2.0 * index / n
    angle = np.pi * (1.0 + np.sqrt(5.0)) * index
    ring = np.sqrt(1.0 - height**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])
