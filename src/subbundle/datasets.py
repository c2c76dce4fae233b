"""Synthetic clouds with ground truth: noisy points, the clean points, and the exact distance to the true set.

Every generator takes the number of points, the standard deviation of the isotropic Gaussian noise added to every
coordinate, and a seed; equal arguments give equal bits.

>>> from subbundle import datasets
>>> data = datasets.torus(500, noise=0.02, seed=1)
>>> data.points.shape, bool(data.distance(data.clean).max() < 1e-12)
((500, 3), True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._closest import StarSurface, distance_to_arc, distance_to_curve, spiral_directions
from subbundle._head import head_surface
from subbundle._html import card, dots
from subbundle._types import FloatArray
from subbundle._validation import as_integer, as_nonnegative, as_points, as_positive, check_room


@dataclass(frozen=True, slots=True)
class Dataset:
    """A cloud and its ground truth.

    Attributes
    ----------
    points : [n, dim]
        The observations.
    clean : [n, dim]
        The observations without noise, points of the true set.
    distance : callable
        ``distance(points [m, dim]) -> [m]``: exact distance to the true set.
    coordinates : [n, k] or None
        Where the true set can be unrolled isometrically: the coordinates of the clean points.
    """

    points: FloatArray
    clean: FloatArray
    distance: Callable[[FloatArray], FloatArray]
    coordinates: FloatArray | None = None

    def _repr_html_(self) -> str:
        offset = float(np.sqrt(np.mean(self.distance(self.points) ** 2)))
        facts = [("points", f"{len(self.points)} in R^{self.points.shape[1]}"), ("offset, root mean square", offset)]
        return card("Dataset", facts, picture=dots(self.points))


def sphere(n: int, dim: int = 2, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """``n`` points uniform on the unit sphere S^dim in R^(dim + 1)."""
    dim = as_integer(dim, "dim", low=1)
    rng, n = _start(n, seed)
    directions = rng.standard_normal((n, dim + 1))
    clean = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return _dataset(clean, noise, rng, lambda x: np.abs(np.linalg.norm(x, axis=1) - 1.0))


def torus(n: int, *, major: float = 1.0, minor: float = 0.4, noise: float = 0.0, seed: int = 0) -> Dataset:
    """``n`` points uniform by area on the torus around the z axis, tube radius ``minor`` < ``major``."""
    major, minor = as_positive(major, "major"), as_positive(minor, "minor")
    if minor >= major:
        raise ValueError(f"minor must be below major, or the tube crosses itself; got {minor} and {major}.")
    rng, n = _start(n, seed)
    # The area element is proportional to the distance from the axis.
    angles = _sample_by_density(
        rng, n, lambda m: rng.uniform(0, 2 * np.pi, (m, 2)), lambda v: major + minor * np.cos(v[:, 1]), major + minor
    )
    ring = major + minor * np.cos(angles[:, 1])
    clean = np.column_stack([ring * np.cos(angles[:, 0]), ring * np.sin(angles[:, 0]), minor * np.sin(angles[:, 1])])

    def distance(x: FloatArray) -> FloatArray:
        result: FloatArray = np.abs(np.hypot(np.hypot(x[:, 0], x[:, 1]) - major, x[:, 2]) - minor)
        return result

    return _dataset(clean, noise, rng, distance)


def s_surface(n: int, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """``n`` points uniform by area on the S-surface: two arcs of 3/4 of a unit circle joined to an S, times [0, 2].

    The S has unit speed in its angle t ∈ [−3π/2, 3π/2], so (t, y) are the unrolled coordinates.
    """
    rng, n = _start(n, seed)
    t, y = rng.uniform(-1.5 * np.pi, 1.5 * np.pi, n), rng.uniform(0.0, 2.0, n)
    clean = np.column_stack([np.sin(t), y, np.sign(t) * (np.cos(t) - 1.0)])

    def distance(x: FloatArray) -> FloatArray:
        section = x[:, [0, 2]]
        upper = distance_to_arc(section, (0.0, 1.0), 0.0, 1.5 * np.pi)
        lower = distance_to_arc(section, (0.0, -1.0), -np.pi, 0.5 * np.pi)
        return _beside_strip(np.minimum(upper, lower), x[:, 1], 2.0)

    return _dataset(clean, noise, rng, distance, np.column_stack([t, y]))


def swiss_roll(n: int, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """``n`` points uniform by area on the roll (t cos t / 10, y, t sin t / 10), t ∈ [3π/2, 9π/2], y ∈ [0, 2].

    The unrolled coordinates are (s, y) with the arc length s(t) = (t √(1 + t²) + arsinh t)/20 counted from the start.
    """
    rng, n = _start(n, seed)
    start, stop, scale = 1.5 * np.pi, 4.5 * np.pi, 0.1

    def spiral(t: FloatArray, order: int) -> FloatArray:
        c, s = np.cos(t), np.sin(t)
        rows = [(t * c, t * s), (c - t * s, s + t * c), (-2 * s - t * c, 2 * c - t * s)][order]
        return scale * np.column_stack(rows)

    t, length = _uniform_by_length(rng, n, spiral, start, stop)
    y = rng.uniform(0.0, 2.0, n)
    flat = spiral(t, 0)
    clean = np.column_stack([flat[:, 0], y, flat[:, 1]])

    def distance(x: FloatArray) -> FloatArray:
        return _beside_strip(distance_to_curve(x[:, [0, 2]], spiral, start, stop), x[:, 1], 2.0)

    return _dataset(clean, noise, rng, distance, np.column_stack([length, y]))


def curve_in_plane(n: int, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """``n`` points uniform by arc length on the spiral arm (1 + t/5) (cos t, sin t) in the plane, 0 ≤ t ≤ 3π/2."""
    rng, n = _start(n, seed)

    def arm(t: FloatArray, order: int) -> FloatArray:
        radius, growth = (1.0 + 0.2 * t)[:, None], 0.2
        outward, along = np.column_stack([np.cos(t), np.sin(t)]), np.column_stack([-np.sin(t), np.cos(t)])
        rows: list[FloatArray] = [radius * outward, growth * outward + radius * along]
        rows.append(2.0 * growth * along - radius * outward)
        return rows[order]

    t, length = _uniform_by_length(rng, n, arm, 0.0, 1.5 * np.pi)
    return _dataset(arm(t, 0), noise, rng, lambda x: distance_to_curve(x, arm, 0.0, 1.5 * np.pi), length[:, None])


def bumpy_sphere(n: int, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """``n`` points uniform by area on a closed star-shaped surface: the unit sphere with smooth bumps and dents.

    The surface r(u) = 1 + Σ a_j exp(κ_j (u·c_j − 1)) is the same for every seed.
    """
    return _on_star_surface(n, _bumpy_surface(), 1.0, noise, seed)


def head(n: int, *, noise: float = 0.0, seed: int = 0) -> Dataset:
    """``n`` points uniform by area on a head whose longest side is 1; it faces +x, z is up.

    A closed star-shaped surface with nose, eyes, lips and ears, the same for every seed.
    """
    return _on_star_surface(n, *head_surface(), noise, seed)


def _on_star_surface(n: int, surface: StarSurface, scale: float, noise: float, seed: int) -> Dataset:
    rng, n = _start(n, seed)
    # The margin bounds the increase of the density between two of 20000 evenly spread directions, 0.03 apart.
    bound = 1.1 * surface.area_density(spiral_directions(20000)).max()

    def propose(m: int) -> FloatArray:
        directions = rng.standard_normal((m, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return directions

    directions = _sample_by_density(rng, n, propose, surface.area_density, bound)
    clean = scale * surface.radius(directions)[:, None] * directions
    return _dataset(clean, noise, rng, lambda x: scale * surface.distance(x / scale))


def _bumpy_surface() -> StarSurface:
    """Six bumps and three dents, separated from each other."""
    table = np.array(
        [  # direction, height, sharpness
            [0.9, -0.4, 0.3, 0.34, 9.0],
            [-0.5, -0.8, 0.4, 0.30, 8.0],
            [0.1, 0.3, 1.0, 0.36, 9.0],
            [-0.9, 0.4, 0.1, 0.32, 8.0],
            [0.5, 0.8, -0.2, 0.30, 9.0],
            [0.1, -0.5, -0.9, 0.34, 8.0],
            [0.3, -0.6, 0.75, -0.16, 14.0],
            [-0.5, 0.2, -0.8, -0.20, 8.0],
            [0.9, 0.3, 0.6, -0.14, 10.0],
        ]
    )
    centres = table[:, :3] / np.linalg.norm(table[:, :3], axis=1, keepdims=True)
    return StarSurface(centres, table[:, 3], table[:, 4])


def _start(n: Any, seed: Any) -> tuple[np.random.Generator, int]:
    count = as_integer(n, "n", low=1)
    check_room(8.0 * count, "A dataset of so many points", "Pass a smaller n.")
    return np.random.default_rng(as_integer(seed, "seed", low=0)), count


def _dataset(
    clean: FloatArray,
    noise: float,
    rng: np.random.Generator,
    distance: Callable[[FloatArray], FloatArray],
    coordinates: FloatArray | None = None,
) -> Dataset:
    """Add the noise, and a check of the argument of ``distance``."""
    noise = as_nonnegative(noise, "noise")
    dim = clean.shape[1]
    points = clean + noise * rng.standard_normal(clean.shape)
    return Dataset(points, clean, lambda x: distance(as_points(x, "points", dim=dim)), coordinates)


def _sample_by_density(
    rng: np.random.Generator,
    n: int,
    propose: Callable[[int], FloatArray],
    density: Callable[[FloatArray], FloatArray],
    bound: float,
) -> FloatArray:
    """``n`` rows of ``propose``, accepted with probability density/bound (rejection sampling)."""
    kept: list[FloatArray] = []
    missing = n
    while missing > 0:
        candidates = propose(2 * n + 64)
        accepted = candidates[rng.uniform(0.0, bound, len(candidates)) < density(candidates)][:missing]
        kept.append(accepted)
        missing -= len(accepted)
    return np.concatenate(kept)


def _uniform_by_length(
    rng: np.random.Generator, n: int, curve: Callable[[FloatArray, int], FloatArray], start: float, stop: float
) -> tuple[FloatArray, FloatArray]:
    """Parameters of ``n`` points uniform by arc length, and their arc lengths from the start.

    The length is tabulated by Simpson's rule on 4000 intervals (error below 1e-11) and inverted by interpolation;
    the returned length is then integrated up to the parameter itself, so the two agree to rounding.
    """
    nodes = np.linspace(start, stop, 8001)
    speed = np.linalg.norm(curve(nodes, 1), axis=1)
    pieces = (nodes[2] - nodes[0]) / 6.0 * (speed[:-2:2] + 4.0 * speed[1:-1:2] + speed[2::2])
    table, nodes = np.concatenate([[0.0], np.cumsum(pieces)]), nodes[::2]
    t = np.interp(rng.uniform(0.0, table[-1], n), table, nodes)
    cell = np.minimum(np.searchsorted(nodes, t, side="right") - 1, len(nodes) - 2)
    left = nodes[cell]
    middle = 0.5 * (left + t)
    ends = [np.linalg.norm(curve(x, 1), axis=1) for x in (left, middle, t)]
    return t, table[cell] + (t - left) / 6.0 * (ends[0] + 4.0 * ends[1] + ends[2])


def _beside_strip(across: FloatArray, y: FloatArray, width: float) -> FloatArray:
    """Distance to section × [0, width] from the distance ``across`` to the section and the position ``y`` along it."""
    distance: FloatArray = np.hypot(across, y - np.clip(y, 0.0, width))
    return distance
