"""Charts laid out in R^k: coordinates for points near them, and points for coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from subbundle._numbers import LARGEST
from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, IntArray
from subbundle.embedding._placing_kernels import place, unplace

# Rounds that make the inverse agree with the way there, each a factor of the disagreement between charts better.
_ROUNDS = 4
# Charts beyond twice the dimension that are asked about a point.
_MORE = 6
# Contradiction between charts at which they are averaged evenly; twice as much makes the nearest count four times more.
_EVEN, _SHARPEST = 0.02, 1e-3
ARRAYS = (
    "origins",
    "bases",
    "frames",
    "forms",
    "maps",
    "shifts",
    "labels",
    "radii",
    "link_starts",
    "links",
)


@dataclass(frozen=True, slots=True)
class Placement:
    """Points placed by an atlas.

    Attributes
    ----------
    coordinates : [n, k]
    projections : [n, D]
        Nearest points of the atlas.
    coverage : [n]
        Charts that hold the point, relative to the middle of the data: about 1 inside, 0 beyond all charts.
    disagreement : [n]
        Standard deviation of the coordinates that the charts give.
    distortion : [n]
        Largest |log| of the factor by which lengths change from the shape to the coordinates.
    nearest : [n]
        The nearest chart.
    labels : [n]
        Connected component.
    outside : [n]
        How far beyond the disc of the nearest chart, along it; 0 inside.
    """

    coordinates: FloatArray
    projections: FloatArray
    coverage: FloatArray
    disagreement: FloatArray
    distortion: FloatArray
    nearest: IntArray
    labels: IntArray
    outside: FloatArray


class LaidOutAtlas:
    """Charts x(τ) = x_c + F τ + ½ II(τ, τ) and the maps z = z_c + v A_c that lay them out.

    Attributes
    ----------
    origins : [M, D]
        The rows that the charts were made at.
    bases, frames, forms : [M, D], [M, D, k], [M, k(k+1)/2, D]
        x_c, F and II; x_c is the row itself, or the fit to its neighbours.
    maps, shifts : [M, k, k], [M, k]
        A_c and z_c.
    stretches : [M]
        Distortion at each chart: largest |log| of the singular values of A_c.
    labels : [M]
        Connected component of each chart, the largest being 0.
    radii : [M]
        How far a chart reaches.
    link_starts, links : [M + 1], [l]
        Charts linked to chart c are links[link_starts[c] : link_starts[c + 1]], in rising order.
    contradiction : float
        How far the charts contradict each other, relative to their size.
    """

    origins: FloatArray
    bases: FloatArray
    frames: FloatArray
    forms: FloatArray
    maps: FloatArray
    shifts: FloatArray
    stretches: FloatArray
    labels: IntArray
    radii: FloatArray
    link_starts: IntArray
    links: IntArray

    def __init__(self, arrays: Mapping[str, NDArray[Any]], contradiction: float, *, n_jobs: int | None = None) -> None:
        for name in ARRAYS:
            setattr(self, name, np.ascontiguousarray(arrays[name]))
        self.contradiction, self.n_jobs = contradiction, n_jobs
        self._check()
        singular = np.linalg.svd(self.maps, compute_uv=False)
        self.stretches = np.abs(np.log(np.clip(singular, 1e-6, 1e6))).max(axis=1)
        self._sharp = max((_EVEN / max(contradiction, _EVEN)) ** 2, _SHARPEST)
        self._inverses = np.ascontiguousarray(np.linalg.inv(self.maps))
        self._candidates = min(2 * self.rank + _MORE + 1, len(self.bases))
        self._search = NearestNeighbors(n_neighbors=self._candidates).fit(self.origins)
        self._image_search = NearestNeighbors(n_neighbors=self._candidates).fit(self.shifts)
        self.typical = 1.0
        self.typical = float(np.median(self.place(self.origins).coverage)) or 1.0

    @property
    def rank(self) -> int:
        """k."""
        return int(self.frames.shape[2])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that the atlas consists of."""
        return {name: getattr(self, name) for name in ARRAYS}

    def moved(self, turn: FloatArray, shift: FloatArray) -> Self:
        """The same atlas with coordinates (z − ``shift``) ``turn``, where ``turn`` [k, k] may also scale."""
        arrays = self.to_arrays() | {"maps": self.maps @ turn, "shifts": (self.shifts - shift) @ turn}
        return type(self)(arrays, self.contradiction, n_jobs=self.n_jobs)

    def _check(self) -> None:
        """Raise when the arrays are not those of an atlas: the kernels follow their indices without looking."""
        count, dim, rank = self.frames.shape
        pairs = rank * (rank + 1) // 2
        shapes = {
            "origins": (count, dim), "bases": (count, dim), "forms": (count, pairs, dim), "maps": (count, rank, rank),
            "shifts": (count, rank), "radii": (count,), "labels": (count,), "link_starts": (count + 1,),
        }  # fmt: skip
        odd = [name for name, shape in shapes.items() if getattr(self, name).shape != shape]
        whole = ("labels", "link_starts", "links")
        odd += [name for name in ARRAYS if getattr(self, name).dtype != (np.int64 if name in whole else np.float64)]
        if odd or count == 0:
            raise ValueError(f"{', '.join(odd) or 'frames'} must fit the other arrays of the atlas")
        starts = self.link_starts
        ordered = starts[0] == 0 and starts[-1] == self.links.size and (np.diff(starts) >= 0).all()
        if not ordered or not within(self.links, count) or not within(self.labels, count):
            raise ValueError("links and labels must be numbers of charts")
        if not all((np.abs(getattr(self, name)) < LARGEST).all() for name in ARRAYS) or self.radii.min() <= 0.0:
            raise ValueError(f"all numbers of an atlas must be below {LARGEST:g}, and radii positive")

    def place(self, points: FloatArray) -> Placement:
        """Coordinates of ``points`` [n, D]; every point gets some, `Placement.coverage` tells on what grounds."""
        points = np.ascontiguousarray(points)
        count, dim = points.shape
        images, projections = np.empty((count, self.rank)), np.empty((count, dim))
        coverage, disagreement, distortion, outside = (np.empty(count) for _ in range(4))
        nearest = np.empty(count, np.int64)
        near = self._near(self._search, points)

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            place(
                near[part], self.origins, self.bases, self.frames, self.forms, self.maps, self.shifts,
                self.stretches, self.link_starts, self.links, self.radii, self._sharp, points[part], images[part],
                projections[part], coverage[part], disagreement[part], distortion[part], nearest[part], outside[part],
            )  # fmt: skip

        run_rows(work, count, resolve_jobs(self.n_jobs), calls_blas=False)
        return Placement(
            images,
            projections,
            coverage / self.typical,
            disagreement,
            distortion,
            nearest,
            self.labels[nearest],
            outside,
        )

    def points_at(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points [n, D] with ``coordinates`` [n, k], and their coverage [n].

        A few rounds of z ← z + (z − place(x)) make the two ways agree.
        """
        wanted = np.ascontiguousarray(coordinates)
        points, coverage = self._unplace(wanted)
        inside = np.flatnonzero(coverage > 0.0)
        asked = wanted[inside].copy()
        for _ in range(_ROUNDS):
            if inside.size == 0:
                break
            gap = wanted[inside] - self.place(points[inside]).coordinates
            # Across a cut, or where the coordinates overlap, the way back leads elsewhere: nothing is to be gained.
            near = np.linalg.norm(gap, axis=1) <= 0.3 * float(np.median(self.radii))
            inside, asked, gap = inside[near], asked[near], gap[near]
            asked = asked + gap
            points[inside] = self._unplace(asked)[0]
        return points, coverage

    def jacobian(self, coordinates: FloatArray) -> FloatArray:
        """∂x/∂z [n, D, k] of `points_at`, by central differences of a twentieth of a chart's radius."""
        width = 0.05 * float(np.median(self.radii))
        columns = []
        for a in range(self.rank):
            step = np.zeros(self.rank)
            step[a] = width
            ahead, behind = self.points_at(coordinates + step)[0], self.points_at(coordinates - step)[0]
            columns.append((ahead - behind) / (2.0 * width))
        return np.stack(columns, axis=2)

    def _unplace(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        coordinates = np.ascontiguousarray(coordinates)
        count = len(coordinates)
        points, coverage = np.empty((count, self.bases.shape[1])), np.empty(count)
        near = self._near(self._image_search, coordinates)

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            unplace(
                near[part], self.bases, self.frames, self.forms, self._inverses, self.shifts, self.link_starts,
                self.links, self.radii, self._sharp, coordinates[part], points[part], coverage[part],
            )  # fmt: skip

        run_rows(work, count, resolve_jobs(self.n_jobs), calls_blas=False)
        return points, coverage / self.typical

    def _near(self, search: NearestNeighbors, queries: FloatArray) -> IntArray:
        """Charts [n, K] whose bases, or images, are nearest."""
        if len(queries) == 0:
            return np.empty((0, self._candidates), np.int64)
        return np.ascontiguousarray(search.kneighbors(queries, return_distance=False), np.int64)


def within(indices: NDArray[Any], count: int) -> bool:
    """Whether all of ``indices`` number one of ``count`` things."""
    return indices.size == 0 or bool(indices.min() >= 0 and indices.max() < count)
