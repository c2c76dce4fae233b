"""An atlas of small charts laid out in R^k: coordinates for points near it, and points for coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, IntArray
from subbundle.embedding._blend_kernels import place, unplace
from subbundle.embedding.chart_links import Links
from subbundle.embedding.quadratic_charts import SmallCharts, tree_of

# Charts vote on a point up to this many spacings from their base; every point of the cover has one within a spacing.
_REACH = 1.7
_GRAIN = 256
# Rounds that make the inverse agree with the way there, each a factor of the disagreement between charts better.
_ROUNDS = 4
# The square of a coordinate must not overflow.
_LARGEST = 1e150
_ARRAYS = (
    "bases", "frames", "forms", "boxes", "radii", "spacings", "maps", "shifts", "stretches", "labels", "link_starts",
    "links",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Placement:
    """Points placed by an atlas.

    Attributes
    ----------
    coordinates : [n, k]
    feet : [n, D]
        Nearest points of the atlas.
    coverage : [n]
        How many charts hold the point, relative to the middle of the data: about 1 inside, 0 beyond all charts.
    disagreement : [n]
        Standard deviation of what the charts say.
    distortion : [n]
        Largest |log| of the factor by which lengths change from the manifold to the coordinates.
    homes : [n]
        Chart that is nearest.
    labels : [n]
        Connected part of the atlas.
    outside : [n]
        How far beyond the edge of the nearest chart, along it; 0 inside.
    """

    coordinates: FloatArray
    feet: FloatArray
    coverage: FloatArray
    disagreement: FloatArray
    distortion: FloatArray
    homes: IntArray
    labels: IntArray
    outside: FloatArray


class DevelopedAtlas:
    """Charts, their links, and the maps z = v A_c + t_c that lay them out.

    Parameters
    ----------
    charts : SmallCharts
    links : Links
    maps, shifts : [M, k, k], [M, k]
        A_c and t_c.
    stretches : [M]
        Distortion at each chart.
    labels : [M]
        Connected part of each chart, the largest being 0.
    """

    def __init__(
        self, charts: SmallCharts, links: Links, maps: FloatArray, shifts: FloatArray, stretches: FloatArray,
        labels: IntArray, *, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.bases, self.frames, self.forms, self.boxes = charts.bases, charts.frames, charts.forms, charts.boxes
        self.radii, self.spacings = charts.radii, charts.spacings
        self.maps, self.shifts = np.ascontiguousarray(maps), np.ascontiguousarray(shifts)
        self.stretches, self.labels = np.ascontiguousarray(stretches), labels
        graph = links.neighbours()
        self.link_starts, self.links = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
        self.n_jobs = n_jobs
        self._prepare()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, n_jobs: int | None = None) -> Self:
        """The atlas that `to_arrays` described, the same to the bit."""
        atlas = cls.__new__(cls)
        for name in _ARRAYS:
            setattr(atlas, name, np.ascontiguousarray(arrays[name]))
        atlas.n_jobs = n_jobs
        atlas._check()
        atlas._prepare()
        return atlas

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that the atlas consists of."""
        return {name: getattr(self, name) for name in _ARRAYS}

    def _check(self) -> None:
        """Raise when the arrays are not those of an atlas: the kernels follow their indices without looking."""
        count, dim, rank = self.frames.shape
        pairs = rank * (rank + 1) // 2
        shapes = {
            "bases": (count, dim), "forms": (count, pairs, dim), "maps": (count, rank, rank), "shifts": (count, rank),
            "radii": (count,), "spacings": (count,), "stretches": (count,), "labels": (count,),
            "link_starts": (count + 1,), "boxes": tree_of(self.bases)[1].shape,
        }  # fmt: skip
        odd = [name for name, shape in shapes.items() if getattr(self, name).shape != shape]
        whole = ("labels", "link_starts", "links")
        odd += [name for name in _ARRAYS if getattr(self, name).dtype != (np.int64 if name in whole else np.float64)]
        if odd or count == 0:
            raise ValueError(f"{', '.join(odd) or 'frames'} must fit the other arrays of the atlas")
        starts = self.link_starts
        ordered = starts[0] == 0 and starts[-1] == self.links.size and (np.diff(starts) >= 0).all()
        if not ordered or not _within(self.links, count) or not _within(self.labels, count):
            raise ValueError("links and labels must be numbers of charts")
        if not all((np.abs(getattr(self, name)) < _LARGEST).all() for name in _ARRAYS) or self.spacings.min() <= 0.0:
            raise ValueError(f"all numbers of an atlas must be below {_LARGEST:g}, and spacings positive")

    def _prepare(self) -> None:
        """What follows from the arrays."""
        self._inverses = np.ascontiguousarray(np.linalg.inv(self.maps))
        self._reaches = _REACH * self.spacings
        order, self._image_boxes = tree_of(self.shifts)
        self._image_order = order
        self.typical = 1.0
        coverage = self.place(self.bases).coverage
        self.typical = float(np.median(coverage)) or 1.0

    @property
    def rank(self) -> int:
        """k."""
        return int(self.frames.shape[2])

    def place(self, points: FloatArray) -> Placement:
        """Coordinates of ``points`` [n, D]; every point gets some, `Placement.coverage` says on what grounds."""
        points = np.ascontiguousarray(points)
        count, dim = points.shape
        images, feet = np.empty((count, self.rank)), np.empty((count, dim))
        coverage, disagreement, distortion, outside = (np.empty(count) for _ in range(4))
        homes = np.empty(count, np.int64)

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            place(
                self.boxes, self.bases, self.frames, self.forms, self.maps, self.shifts, self.stretches,
                self.link_starts, self.links, self._reaches, self.spacings, points[part], images[part], feet[part],
                coverage[part], disagreement[part], distortion[part], homes[part], outside[part],
            )  # fmt: skip

        run_rows(work, count, resolve_jobs(self.n_jobs), grain=_GRAIN, calls_blas=False)
        return Placement(
            images, feet, coverage / self.typical, disagreement, distortion, homes, self.labels[homes], outside
        )

    def points_at(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points [n, D] with ``coordinates`` [n, k], and their coverage [n].

        The charts near z say where z lies, and a smooth average decides; a few rounds of z ← z + (z − place(x)) make
        the two ways agree.
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
            near = np.linalg.norm(gap, axis=1) <= 0.5 * float(np.median(self.spacings))
            inside, asked, gap = inside[near], asked[near], gap[near]
            asked = asked + gap
            points[inside] = self._unplace(asked)[0]
        return points, coverage

    def _unplace(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        coordinates = np.ascontiguousarray(coordinates)
        count = len(coordinates)
        points, coverage = np.empty((count, self.bases.shape[1])), np.empty(count)
        homes = np.empty(count, np.int64)

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            unplace(
                self._image_boxes, self._image_order, self.bases, self.frames, self.forms, self._inverses, self.shifts,
                self.link_starts, self.links, self._reaches, coordinates[part], points[part], coverage[part],
                homes[part],
            )  # fmt: skip

        run_rows(work, count, resolve_jobs(self.n_jobs), grain=_GRAIN, calls_blas=False)
        return points, coverage / self.typical

    def jacobian(self, coordinates: FloatArray) -> FloatArray:
        """∂x/∂z [n, D, k] of `points_at`, by central differences of a hundredth of a spacing."""
        width = 1e-2 * float(np.median(self.spacings))
        columns = []
        for a in range(self.rank):
            step = np.zeros(self.rank)
            step[a] = width
            ahead, behind = self.points_at(coordinates + step)[0], self.points_at(coordinates - step)[0]
            columns.append((ahead - behind) / (2.0 * width))
        return np.stack(columns, axis=2)


def _within(indices: IntArray, count: int) -> bool:
    return indices.size == 0 or bool(indices.min() >= 0 and indices.max() < count)
