"""An atlas laid out in R^k: an affine map of every chart to R^k, blended with the weights of the atlas.

Chart c maps its normal coordinates v to z = z_c + v A_c. A point is mapped to the weighted mean of its images under the
charts at it. Links across a cut are left out, so that no mean is taken across it. The inverse is that of the charts, or
drawn towards the rows nearby where these predict others better (`shrinkage`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from subbundle._compiled import kernel
from subbundle._memory import blocks
from subbundle._numbers import LARGEST, MOST_ROUNDS, NOTICEABLE
from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle.atlas.blending import Blended
from subbundle.atlas.linked_atlas import LinkedAtlas, NearestCharts
from subbundle.charts.base import Located, OnDomain
from subbundle.charts.quadratic_chart import QuadraticCharts
from subbundle.embedding.shrinkage import local_means, shrinkage
from subbundle.embedding.tuning import DIFFERENCE_RADII

# Integer arrays come last: the links of the layout, and those along the manifold.
_REAL = ("origins", "bases", "frames", "forms", "maps", "shifts", "radii", "lengths")
_WHOLE = ("link_starts", "links", "length_starts", "length_columns")
ARRAYS = (*_REAL, *_WHOLE)


@kernel
def place_rows(coordinates, charts, weights, maps, shifts, images, spreads):  # type: ignore[no-untyped-def]
    """Write the means [n, k] of z_c + v A_c over the charts of a row, for ``coordinates`` v [n, m, k] in ``charts`` c
    [n, m] with ``weights`` [n, m], and the mean squares [n] of the distances from them."""
    rank = images.shape[1]
    places = np.empty((charts.shape[1], rank))
    for n in range(len(charts)):
        for a in range(rank):
            images[n, a] = 0.0
            for m in range(charts.shape[1]):
                total = shifts[charts[n, m], a]
                for b in range(rank):
                    total += coordinates[n, m, b] * maps[charts[n, m], b, a]
                places[m, a] = total
                images[n, a] += weights[n, m] * total
        spreads[n] = 0.0
        for m in range(charts.shape[1]):
            for a in range(rank):
                spreads[n] += weights[n, m] * (places[m, a] - images[n, a]) ** 2


@kernel
def enter_rows(images, charts, inverses, shifts, coordinates):  # type: ignore[no-untyped-def]
    """Write v = (z − z_c) A_c⁻¹ [n, m, k] for ``images`` z [n, k] in ``charts`` c [n, m]."""
    rank = images.shape[1]
    for n in range(len(charts)):
        for m in range(charts.shape[1]):
            c = charts[n, m]
            for a in range(rank):
                total = 0.0
                for b in range(rank):
                    total += (images[n, b] - shifts[c, b]) * inverses[c, b, a]
                coordinates[n, m, a] = total


class LaidOutAtlas(OnDomain):
    """A map from an atlas to R^k, with the inverse of a chart: `inverse_transform`, `jacobian` and `inside`.

    Parameters
    ----------
    atlas : LinkedAtlas
        The charts x(τ) = x_c + F τ + ½ II(τ, τ), linked along the manifold.
    maps, shifts : [M, k, k], [M, k]
        A_c and z_c.
    links : csr_array [M, M]
        Links of the atlas except those that were cut.
    """

    def __init__(self, atlas: LinkedAtlas, maps: FloatArray, shifts: FloatArray, links: csr_array) -> None:
        self.atlas, self.links = atlas, links
        self.maps, self.shifts = np.ascontiguousarray(maps), np.ascontiguousarray(shifts)
        self._opened = atlas.relinked(links)
        if all(np.array_equal(*pair) for pair in zip(self._opened.link_arrays, atlas.link_arrays, strict=True)):
            self._opened = atlas
        self._near = NearestCharts(self.shifts, atlas.rank)

    @property
    def rank(self) -> int:
        """k."""
        return self.atlas.rank

    @property
    def bases(self) -> FloatArray:
        """x_c [M, D]: the rows at which the charts are based, or the fits to their neighbours."""
        return self.atlas.base_points

    @property
    def radii(self) -> FloatArray:
        """Radii [M] of the charts."""
        return self.atlas.radii

    @cached_property
    def stretches(self) -> FloatArray:
        """Distortion [M] at each chart: largest |log| of the singular values of A_c."""
        singular = np.linalg.svd(self.maps, compute_uv=False)
        return np.asarray(np.abs(np.log(np.clip(singular, 1e-6, 1e6))).max(axis=1))

    @cached_property
    def _inverses(self) -> FloatArray:
        return np.ascontiguousarray(np.linalg.inv(self.maps))

    def moved(self, turn: FloatArray, shift: FloatArray) -> LaidOutAtlas:
        """The same atlas with coordinates (z − ``shift``) ``turn``, where ``turn`` [k, k] may also scale."""
        return LaidOutAtlas(self.atlas, self.maps @ turn, (self.shifts - shift) @ turn, self.links)

    def locate(self, points: FloatArray) -> Located:
        """Coordinates in R^k and the other quantities of `Located` for ``points`` [n, D]; extrapolated, with a
        ``coverage`` of 0, beyond all charts."""
        points = np.ascontiguousarray(points)
        return Located.joined([self._placed(self._opened.considered(points[rows])) for rows in self._blocks(points)])

    def _blocks(self, points: FloatArray) -> list[slice]:
        """Rows of ``points`` [n, D] that are located at a time."""
        return blocks(len(points), self._near.count * points.shape[1]) or [slice(0, 0)]

    def _images(self, numbers: IntArray, coordinates: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean [n, k] of the images of ``coordinates`` [n m, k] under the charts ``numbers`` [n, m], and the mean
        squares of the distances from it."""
        images, spreads = np.empty((len(numbers), self.rank)), np.empty(len(numbers))
        own = coordinates.reshape(*numbers.shape, self.rank)
        place_rows(own, numbers, weights.reshape(numbers.shape), self.maps, self.shifts, images, spreads)
        return images, spreads

    def coordinates_of(self, points: FloatArray) -> FloatArray:
        """The coordinates of `locate` alone."""
        found = []
        for rows in self._blocks(points):
            near, coordinates, _, residuals = self._opened.near_charts(points[rows])
            weights, _, _ = self._opened.weighed(near, residuals, coordinates, along=False)
            found.append(self._images(near.numbers, coordinates, weights)[0])
        return np.concatenate(found)

    def _placed(self, blended: Blended) -> Located:
        charts, own = blended.charts, blended.own_coordinates
        images, spread = self._images(charts.reshape(len(own), -1), blended.coordinates, blended.weights)
        outside = np.maximum(np.linalg.norm(own, axis=1) - self.radii[blended.nearest], 0.0)
        return Located(
            images, blended.points, blended.residuals, blended.status, coverage=blended.coverage,
            disagreement=np.sqrt(spread), distortion=blended.mean(self.stretches[charts]),
            labels=self.atlas.labels[blended.nearest], beyond=outside, charts=blended.nearest,
        )  # fmt: skip

    def evaluate(self, coordinates: FloatArray) -> FloatArray:
        """As `inverse_transform`, of charts continued beyond their radius, at ``coordinates`` [n, k]."""
        points = self._mapped_to(coordinates)
        size, factor = self.shrinkage
        if factor < 1.0 and len(points):
            means = local_means(self.shifts, self.atlas.origins, coordinates, size)
            points = means + factor * (points - means)
        return points

    def slopes(self, coordinates: FloatArray) -> FloatArray:
        """∂x/∂z [n, D, k] of `evaluate`, by central differences."""
        width = DIFFERENCE_RADII * float(np.median(self.radii))
        steps = width * np.eye(self.rank)
        columns = [self.evaluate(coordinates + step) - self.evaluate(coordinates - step) for step in steps]
        return np.stack(columns, axis=2) / (2.0 * width)

    def coverage_at(self, coordinates: FloatArray) -> FloatArray:
        """Coverage [n] of ``coordinates`` [n, k], as in `Located`; 0 outside the domain."""
        return self.blended_at(coordinates)[1]

    @property
    def _shape(self) -> tuple[int, int]:
        return self.atlas.ambient_dim, self.rank

    def _contains(self, coordinates: FloatArray) -> BoolArray:
        return self.coverage_at(coordinates) > 0.0

    _points_at, _jacobians_at = evaluate, slopes

    @cached_property
    def shrinkage(self) -> tuple[int, float]:
        """Number of rows in the means that `evaluate` is drawn to, and the fraction λ that is left of the offset."""
        return shrinkage(self)

    def without(self, numbers: IntArray) -> LaidOutAtlas:
        """The layout of the other charts."""
        left = np.setdiff1d(np.arange(len(self.shifts)), numbers)
        lengths, links = (csr_array(graph[left][:, left]) for graph in (self.atlas.links, self.links))
        whole = self.atlas.charts
        own = (whole.base_points, whole.frames, whole.forms, whole.radii)
        charts = QuadraticCharts(*(one[left] for one in own), n_jobs=whole.n_jobs)
        atlas = LinkedAtlas(charts, self.atlas.origins[left], lengths, self.atlas.contradiction)
        return LaidOutAtlas(atlas, self.maps[left], self.shifts[left], links)

    def _mapped_to(self, coordinates: FloatArray) -> FloatArray:
        """Points [n, D] of the charts that `locate` maps to ``coordinates`` [n, k].

        Iterations of z ← z + (z − coordinates of x) make it an inverse; they converge linearly, at a rate of the
        disagreement between charts. A row is iterated as long as its residual falls and charts cover it: across a cut,
        or where the coordinates overlap, there is no inverse, and charts continued beyond their discs diverge.
        """
        target = np.ascontiguousarray(coordinates)
        points, coverage = self.blended_at(target)
        inside = np.flatnonzero(coverage > 0.0)
        shifted, before = target[inside], np.full(len(inside), np.inf)
        found = points[inside]
        for _ in range(MOST_ROUNDS):
            if inside.size == 0:
                break
            gap = target[inside] - self.coordinates_of(found)
            size = np.linalg.norm(gap, axis=1)
            better = size < before
            points[inside[better]] = found[better]
            left = better & (size > NOTICEABLE * float(np.median(self.radii)))
            inside, shifted, before = inside[left], shifted[left] + gap[left], size[left]
            found, held = self.blended_at(shifted)
            covered = held > 0.0
            inside, shifted, before, found = inside[covered], shifted[covered], before[covered], found[covered]
        return points

    def blended_at(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted means [n, D] of the points of the charts near ``coordinates`` [n, k], and their coverage [n]."""
        near = self._near.of(coordinates)
        own = np.empty((*near.numbers.shape, self.rank))
        enter_rows(coordinates, near.numbers, self._inverses, self.shifts, own)
        flat = own.reshape(-1, self.rank)
        weights, _, held = self._opened.weighed(near, np.zeros(len(flat)), flat, along=True)
        points = self.atlas.charts.means(own, near.numbers, weights.reshape(near.numbers.shape))
        return points, held / self._opened.typical

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays of the atlas and its layout."""
        charts, along, own = self.atlas.charts, self.atlas.link_arrays, self._opened.link_arrays
        values = (
            self.atlas.origins, charts.base_points, charts.frames, charts.forms, self.maps, self.shifts, charts.radii,
            self.atlas.links.data, *own, *along,
        )  # fmt: skip
        return dict(zip(ARRAYS, values, strict=True))

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], contradiction: float, *, n_jobs: int | None
    ) -> LaidOutAtlas:
        """The inverse of `to_arrays`, with the ``contradiction`` of the atlas."""
        listed = {"base_points": arrays["bases"], "max_residuals": np.full(len(arrays["radii"]), np.inf)}
        charts = QuadraticCharts.from_arrays({**arrays, **listed}, n_jobs)
        _check(arrays)
        shape = len(charts), len(charts)
        lengths = csr_array(tuple(arrays[x] for x in ("lengths", "length_columns", "length_starts")), shape=shape)
        links = csr_array((np.ones(len(arrays["links"])), arrays["links"], arrays["link_starts"]), shape=shape)
        atlas = LinkedAtlas(charts, arrays["origins"], lengths, contradiction)
        return cls(atlas, arrays["maps"], arrays["shifts"], links)


def _check(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise when ``arrays`` do not fit the frames of the charts: the kernels do not check indices."""
    count, dim, rank = arrays["frames"].shape
    shapes = {
        "origins": (count, dim), "maps": (count, rank, rank), "shifts": (count, rank), "link_starts": (count + 1,),
        "length_starts": (count + 1,), "lengths": arrays["length_columns"].shape,
    }  # fmt: skip
    odd = [name for name, shape in shapes.items() if arrays[name].shape != shape]
    odd += [name for name in ARRAYS if arrays[name].dtype.kind != ("i" if name in _WHOLE else "f")]
    if odd:
        raise ValueError(f"{', '.join(odd)} must fit the other arrays of the atlas")
    for starts, links in (("link_starts", "links"), ("length_starts", "length_columns")):
        if not _within(arrays[starts], arrays[links], count):
            raise ValueError(f"{links} must be numbers of charts")
    if not all((np.abs(arrays[name]) < LARGEST).all() for name in ARRAYS):
        raise ValueError(f"all numbers of an atlas must be below {LARGEST:g}")
    if not (arrays["lengths"] >= 0.0).all():
        raise ValueError("lengths must be those between the charts")


def _within(starts: IntArray, links: IntArray, count: int) -> bool:
    """Whether ``links`` with row ``starts`` are numbers of ``count`` charts."""
    ordered = starts[0] == 0 and starts[-1] == links.size and (np.diff(starts) >= 0).all()
    return bool(ordered and (links.size == 0 or (links.min() >= 0 and links.max() < count)))
