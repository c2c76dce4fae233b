"""Charts that together cover a submanifold, blended into one: the paper's scheme for combining submanifolds.

No single normal chart covers a closed surface, and charts from different base points do not agree exactly where they
overlap, because the bundle is noisy. The atlas projects a point to every chart near it and returns the weighted mean of
the projections; see `blending` for the formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._html import card, dots
from subbundle._types import FloatArray, IntArray, Status
from subbundle._validation import as_batch, as_choice, as_points, as_positive
from subbundle.atlas import blending, tuning
from subbundle.atlas._atlas_charts import MAKERS, cover, sites
from subbundle.atlas.atlas_mesh import mesh_of
from subbundle.atlas.base import ChartAtlas
from subbundle.atlas.blending import Blended, blend, heaviest, sums_over
from subbundle.bundles.base import Subbundle, completed
from subbundle.bundles.ridge_project import codimension, ridge_project
from subbundle.bundles.surroundings import surroundings_of
from subbundle.charts.base import InvertibleChart
from subbundle.charts.quadratic_chart import gathered
from subbundle.triangles.mesh import Mesh

__all__ = ["Atlas", "Blended"]

_NUMBERS = ("threshold", "sigma", "coverage", "closest")


class Atlas(ChartAtlas):
    """Charts of ``bundle`` that cover its cloud.

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    base_points : array-like [m, dim] or "auto"
        Where the charts are based. ``"auto"`` spreads points over the ridge, farthest first, until all of it
        lies in charts.
    radius : float, [m], or "auto"
        Largest distance from the base points. Along each direction a chart ends sooner where its geodesic leaves the
        support of the data or exp is no longer injective; r_j of the weights is that distance. ``"auto"``: 8 length
        scales, 3 for quadratic charts.
    threshold : float or "auto"
        ε: charts further from a point than this do not contribute. ``"auto"``: 4 noise levels of the cloud, measured
        across the ridge at the base points, and at least half a length scale.
    sigma : float or "auto"
        σ, the standard deviation of the weights. ``"auto"``: the largest radius.
    closest : {"rescaled", "geodesic"}
        Which chart the weights are relative to; see `blending`.
    charts : {"geodesic", "quadratic"}
        Normal coordinates along geodesics, or their third-order expansion from one local model each: smaller charts, of
        at most 3 length scales and half a radius of curvature, made a hundred times faster; for clouds in R^d.

    Attributes
    ----------
    charts : sequence of Chart or QuadraticChart
    base_points, radii, labels : [m, dim], [m], [m]
        Of the charts; ``labels`` number their connected components, the largest being 0.
    coverage : float
        Fraction of the ridge, at evenly spread points, that lies in a chart; NaN when the base points were given.
    threshold, sigma : float

    See Also
    --------
    Chart : one chart, without blending.
    AtlasEmbedding : coordinates of the whole cloud in R^k.

    Examples
    --------
    >>> import numpy as np, subbundle as sb
    >>> noisy = sb.datasets.sphere(3000, noise=0.03)
    >>> atlas = sb.Atlas(sb.PrincipalSubbundle(noisy.points, rank=2, bandwidth=0.15))
    >>> blended = atlas.project(noisy.points[:100])
    >>> bool(np.abs(np.linalg.norm(blended.points, axis=1) - 1.0).max() < 0.02)
    True
    """

    def __init__(
        self,
        bundle: Subbundle,
        base_points: Any = "auto",
        radius: Any = "auto",
        *,
        threshold: float | str = "auto",
        sigma: float | str = "auto",
        closest: str = "rescaled",
        charts: str = "geodesic",
    ) -> None:
        self.bundle = bundle
        self.closest = as_choice(closest, "closest", blending.CLOSEST)
        self._kind = as_choice(charts, "charts", tuple(MAKERS))
        maker = MAKERS[self._kind]
        given = partial(_radii, radius, maker.reach * float(bundle.length_scale))
        if isinstance(base_points, str):
            as_choice(base_points, "base_points", ("auto",))
            places = sites(bundle)
            # A median: where curvature is larger, further charts are added.
            reach = float(np.median(maker.limited(given(1, spread=True), places.curvature, float(bundle.length_scale))))
            self.threshold = _threshold(threshold, places.noise, bundle)
            made, self.coverage = cover(
                places, maker.closer * reach,
                lambda bases: maker.at(bundle, bases, np.full(len(bases), reach), self.threshold), self._near,
            )  # fmt: skip
        else:
            bases = as_points(base_points, "base_points", dim=bundle.ambient_dim)
            if len(bases) == 0:
                raise ValueError("base_points must hold at least one point; got none. Pass [m, dim], or 'auto'.")
            noise = ridge_project(bundle, bases).noise
            self.threshold = _threshold(threshold, noise, bundle)
            made, self.coverage = maker.at(bundle, bases, given(len(bases)), self.threshold), float("nan")
        if not made:
            raise ValueError("base_points must lie near a ridge of the cloud; none of them has one. Move them to data.")
        self.charts = gathered(made, completed(bundle).n_jobs)
        self.sigma = float(self.radii.max()) if isinstance(sigma, str) else as_positive(sigma, "sigma")
        if isinstance(sigma, str):
            as_choice(sigma, "sigma", ("auto",))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The atlas, except for its bundle, as arrays that `numpy.savez` can keep."""
        own = (self.threshold, self.sigma, self.coverage, blending.CLOSEST.index(self.closest))
        numbers = dict(zip(_NUMBERS, own, strict=True)) | {"kind": list(MAKERS).index(self._kind)}
        return self.charts.to_arrays() | {name: np.array(value) for name, value in numbers.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], bundle: Subbundle) -> Atlas:
        """The inverse of `to_arrays`, with the ``bundle`` that the atlas was made from."""
        atlas = cls.__new__(cls)
        atlas.threshold, atlas.sigma, atlas.coverage, closest = (float(arrays[name]) for name in _NUMBERS)
        as_positive(atlas.threshold, "threshold")
        as_positive(atlas.sigma, "sigma")
        atlas.closest, atlas._kind = blending.CLOSEST[int(closest)], list(MAKERS)[int(arrays["kind"])]
        atlas.bundle, atlas.charts = bundle, MAKERS[atlas._kind].read(arrays, bundle)
        if (atlas.ambient_dim, atlas.rank) != (bundle.ambient_dim, bundle.rank):
            raise ValueError(f"arrays must be those of an atlas of the bundle; its charts are in R^{atlas.ambient_dim}")
        return atlas

    def __repr__(self) -> str:
        return (
            f"Atlas({len(self)} charts of rank {self.bundle.rank} in R^{self.bundle.ambient_dim}, "
            f"radius={self.sigma:.4g}, threshold={self.threshold:.4g}, coverage={self.coverage:.4g})"
        )

    def _repr_html_(self) -> str:
        facts: list[tuple[str, Any]] = [("charts", len(self)), ("rank", self.bundle.rank)]
        facts += [
            ("largest radius", float(self.radii.max())),
            ("covered", f"{self.coverage:.1%}"),
            ("threshold", self.threshold),
        ]
        return card("Atlas", facts, picture=dots(self.base_points))

    def project(self, points: Any) -> Blended:
        """Project ``points`` [batch, dim] (or one point, [dim]: a batch of one) to the charts near them and blend."""
        given, _ = as_batch(points, "points", self.bundle.ambient_dim)
        rows, charts, coordinates, projections = self._contributions(given)
        radii = self.charts.extent_along(coordinates, charts)
        distances = np.sqrt(np.einsum("pk,pk->p", coordinates, coordinates))
        weights = blending.weights(rows, len(given), distances, radii, self.sigma, closest=self.closest)
        weights = weights / (sums_over(rows, len(given), weights) @ np.ones(len(rows)))[rows]
        nearest = heaviest(rows, len(given), charts, weights)
        return blend(surroundings_of(self.bundle), given, rows, charts, weights, projections, coordinates, nearest)

    def mesh(self, *, spacing: float | None = None, opening: float = 2.0, n_jobs: int | None = None) -> Mesh:
        """A triangle mesh of the blended surface, its vertices blended points; for rank 2 in any R^dim.

        Parameters
        ----------
        spacing : float or None
            Least distance of two vertices; None for half a length scale.
        opening : float
            Half the width, in length scales, up to which a gap is bridged, as in `reconstruct`; wider ones stay open.
        """
        return mesh_of(self, spacing, opening, n_jobs)

    def _contributions(self, given: FloatArray) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """All pairs of a row and a chart of its B, by row and then by chart; their coordinates and projections."""
        around = surroundings_of(self.bundle)
        near = []
        for base, radius in zip(self.base_points, self.radii, strict=True):
            # Geodesics of the bundle are no shorter than those of the space around it.
            apart = around.distance(np.repeat(base[None], len(given), axis=0), given)
            near.append(np.flatnonzero(apart <= radius + self.threshold))
        rows, charts = np.concatenate(near), np.repeat(np.arange(len(self)), [len(each) for each in near])
        order = np.lexsort((charts, rows))
        rows, charts = rows[order], charts[order]
        located = self.charts.locate(given[rows], charts)
        kept = located.status == Status.OK
        kept[kept] = blending.admitted(located.residuals[kept], self.threshold)
        return rows[kept], charts[kept], located.coordinates[kept], located.points[kept]

    def _near(self, chart: InvertibleChart, points: FloatArray) -> NDArray[np.bool_]:
        """Which ``points`` [n, dim] of the ridge lie inside ``chart``, not in its outermost tenth."""
        located = chart.locate(points)
        held = (located.status == Status.OK) & (located.residuals < self.threshold)
        distances = np.linalg.norm(located.coordinates[held], axis=1)
        held[held] = distances <= tuning.OUTERMOST * chart.extent_along(located.coordinates[held])
        return np.asarray(held)


def _radii(radius: Any, auto: float, count: int, *, spread: bool = False) -> FloatArray:
    """One radius for each of ``count`` charts, or for all that are ``spread``; ``auto`` for ``"auto"``."""
    if isinstance(radius, str):
        as_choice(radius, "radius", ("auto",))
        return np.full(count, auto)
    if isinstance(radius, Sequence | np.ndarray) and np.ndim(radius) > 0:
        given = np.asarray(radius, dtype=np.float64)
        if spread or given.shape != (count,) or not (given > 0.0).all() or not np.isfinite(given).all():
            allowed = "one positive number, since base_points='auto'" if spread else f"{count} positive numbers"
            raise ValueError(f"radius must be 'auto', a positive number, or {allowed}; got {radius!r}.")
        return given
    return np.full(count, as_positive(radius, "radius", hint="It is the largest distance from the base points."))


def _threshold(threshold: Any, noise: FloatArray, bundle: Subbundle) -> float:
    if not isinstance(threshold, str):
        return as_positive(threshold, "threshold", hint="It is ε, comparable with the noise.")
    as_choice(threshold, "threshold", ("auto",))
    known = noise[np.isfinite(noise)]
    level = float(np.median(known)) if known.size else 0.0
    return max(
        tuning.THRESHOLD_LEVELS * level * float(np.sqrt(codimension(bundle))),
        tuning.LEAST_THRESHOLD * float(bundle.length_scale),
    )
