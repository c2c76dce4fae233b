"""Any geomstats space with its metric, as a `Space`. geomstats is imported only when it is needed.

It broadcasts one leading axis only, so the pairs of a larger batch are passed one base point at a time. Derived
here are an orthonormal tangent basis from `to_tangent`, the covector h_x v from `inner_product`, the
cut locus from the round trip exp_x(log_x(y)), and parallel transport without a closed form from its pole ladder (exact
in symmetric spaces, of second order in the rungs elsewhere).
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from subbundle._types import BoolArray, FloatArray
from subbundle.spaces.base import MEMBERSHIP_TOLERANCE, BaseSpace, Space
from subbundle.spaces.tuning import LADDER_RUNGS, ROUND_TRIP


def from_geomstats(space: Any) -> Space:
    """Return a geomstats space, with the metric it is equipped with, as a space of this library.

    Parameters
    ----------
    space : geomstats.geometry.manifold.Manifold
        Equipped with a Riemannian metric, on geomstats' NumPy backend, with real points. For a quotient pass the
        quotient space (``total.equip_with_quotient()``, then ``total.quotient``).

    Notes
    -----
    Rows that geomstats refuses (rotations by π, say) become NaN. If its metric has no parallel transport in closed
    form, a pole ladder of 16 rungs is used. For shapes and other orbit spaces, transported vectors are given at
    ``end_point`` itself, where geomstats gives them at the aligned end point.

    Examples
    --------
    >>> from geomstats.geometry.hypersphere import Hypersphere
    >>> from_geomstats(Hypersphere(2)).dim
    2
    """
    _require_geomstats(space)
    if getattr(space, "metric", None) is None:
        raise ValueError(
            f"space must be equipped with a metric; got {type(space).__name__} without one. "
            "Create it with equip=True or call space.equip_with_metric()."
        )
    return GeomstatsSpace(space)


def _require_geomstats(space: Any) -> None:
    """Raise unless geomstats is installed, runs on NumPy, and ``space`` is one of its manifolds."""
    try:
        with warnings.catch_warnings():
            # geomstats loads its backend through an import hook of the old kind.
            warnings.filterwarnings("ignore", message="BackendImporter", category=ImportWarning)
            backend = importlib.import_module("geomstats.backend")
            manifolds = importlib.import_module("geomstats.geometry.manifold")
    except ImportError as error:
        raise ImportError(
            'from_geomstats needs geomstats, which cannot be imported: pip install "subbundle[geomstats]".'
        ) from error
    name = backend.__name__.removeprefix("geomstats.")
    if name != "numpy":
        raise RuntimeError(
            f"from_geomstats needs geomstats' NumPy backend; it runs on {name!r}. Set the environment variable "
            "GEOMSTATS_BACKEND=numpy before geomstats is imported."
        )
    if not isinstance(space, manifolds.Manifold):
        raise TypeError(f"space must be a geomstats manifold with real points, such as Hypersphere(2); got {space!r}.")


@final
@dataclass(frozen=True, init=False, repr=False, eq=False)
class GeomstatsSpace(BaseSpace):
    """What `from_geomstats` returns; ``manifold`` is the geomstats space.

    ``dim`` is counted from the metric: for an orbit space geomstats itself states the dimension of the total space.
    """

    manifold: Any
    dim: int
    shape: tuple[int, ...]
    vertical_dim: int

    def __init__(self, manifold: Any) -> None:
        object.__setattr__(self, "manifold", manifold)
        object.__setattr__(self, "shape", tuple(int(size) for size in manifold.shape))
        object.__setattr__(self, "vertical_dim", 0)
        sample = _random(manifold, 1, np.random.default_rng(0))
        if np.iscomplexobj(sample):
            raise TypeError(f"from_geomstats takes spaces with real points; those of {self!r} are complex.")
        point = np.asarray(sample, dtype=np.float64).reshape(self.shape)
        _, sizes, rows = np.linalg.svd(self._projections(point))
        basis = rows[sizes > 1e-9].reshape(-1, *self.shape)
        gram = self.inner_product(basis[:, None], basis[None, :], point)
        values = np.linalg.eigvalsh(gram)
        small = 1e-9 * np.abs(values).max()
        if values[0] < -small:
            raise ValueError(f"from_geomstats takes Riemannian metrics; that of {self!r} is indefinite.")
        object.__setattr__(self, "dim", int(np.count_nonzero(values > small)))
        object.__setattr__(self, "vertical_dim", len(basis) - self.dim)

    def __repr__(self) -> str:
        return f"from_geomstats({type(self.manifold).__name__} of shape {self.shape})"

    @property
    def requirement(self) -> str:
        """What a point must be."""
        return f"points of geomstats' {type(self.manifold).__name__}"

    def exp(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """geomstats' exp."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        return self._pairs(lambda base, vector: self.manifold.metric.exp(vector, base), self.shape, x, v)

    def log(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """geomstats' log; NaN where it refuses a point, or where the geodesic along the log misses the point."""
        y, x = self.coerce(point, "point"), self.coerce(base_point, "base_point")
        return self._pairs(self._log, self.shape, x, y)

    def dist(self, point_a: FloatArray, point_b: FloatArray) -> FloatArray:
        """geomstats' dist; NaN where it refuses a point."""
        x, y = self.coerce(point_a, "point_a"), self.coerce(point_b, "point_b")
        return self._pairs(lambda a, b: _row_by_row(self.manifold.metric.dist, b, a, ()), (), x, y)

    def inner_product(self, tangent_vec_a: FloatArray, tangent_vec_b: FloatArray, base_point: FloatArray) -> FloatArray:
        """geomstats' inner product."""
        a, b = self.coerce(tangent_vec_a, "tangent_vec_a"), self.coerce(tangent_vec_b, "tangent_vec_b")
        x = self.coerce(base_point, "base_point")
        return self._pairs(lambda base, u, v: self.manifold.metric.inner_product(u, v, base), (), x, a, b)

    def parallel_transport(self, tangent_vec: FloatArray, base_point: FloatArray, end_point: FloatArray) -> FloatArray:
        """geomstats' parallel transport, or its pole ladder."""
        w, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        y = self.coerce(end_point, "end_point")
        direction = self.log(y, x)
        batch = self.batch(w, x, y)
        w, x, y, direction = (np.broadcast_to(a, (*batch, *self.shape)) for a in (w, x, y, direction))
        result = self._pairs(self._transport, self.shape, x, w, direction)
        return self._to_fibre(result, self.exp(direction, x), y) if self.vertical_dim else result

    def to_tangent(self, vector: FloatArray, base_point: FloatArray) -> FloatArray:
        """geomstats' projection on the tangent space, and on its horizontal part for orbits."""
        v, x = self.coerce(vector, "vector"), self.coerce(base_point, "base_point")
        tangent = self._pairs(lambda base, u: self.manifold.to_tangent(u, base), self.shape, x, v)
        return self._horizontal(tangent, x) if self.vertical_dim else tangent

    def projection(self, point: FloatArray) -> FloatArray:
        """geomstats' projection."""
        return self._points(self.manifold.projection, self.shape, self.coerce(point, "point"))

    def violation(self, point: FloatArray) -> FloatArray:
        """Distance to geomstats' projection; for spaces without one, the first power of ten that `belongs` accepts."""
        x = self.coerce(point, "point")
        try:
            return super().violation(x)
        except NotImplementedError:
            accepted = [np.where(self.belongs(x, 10.0**power), 10.0**power, np.inf) for power in range(-12, 1)]
            return np.asarray(np.min(accepted, axis=0))

    def belongs(self, point: FloatArray, atol: float = MEMBERSHIP_TOLERANCE) -> BoolArray:
        """geomstats' belongs."""
        x = self.coerce(point, "point")
        return self._points(lambda points: self.manifold.belongs(points, atol=atol), (), x).astype(bool)

    def at_cut_locus(self, point: FloatArray, base_point: FloatArray) -> BoolArray:
        """Whether geomstats gives no log."""
        log = self.log(point, base_point)
        return np.asarray(~np.isfinite(log).all(axis=tuple(range(-len(self.shape), 0))))

    def tangent_basis(self, base_point: FloatArray) -> FloatArray:
        """Right singular vectors of the matrix of `to_tangent`, whose rows span the tangent space."""
        x = self.coerce(base_point, "base_point")
        rows = np.linalg.svd(self._projections(x))[2][..., : self.dim, :]
        return np.asarray(rows.reshape(*self.batch(x), self.dim, *self.shape))

    def vertical_basis(self, base_point: FloatArray) -> FloatArray:
        """Basis of the kernel of the horizontal projection; empty if points are not orbits."""
        if not self.vertical_dim:
            return super().vertical_basis(base_point)
        x = self.coerce(base_point, "base_point")
        units = np.eye(self.ambient_dim).reshape(-1, *self.shape)
        spread = x.reshape(*self.batch(x), 1, *self.shape)
        tangent = self._pairs(lambda base, u: self.manifold.to_tangent(u, base), self.shape, spread, units)
        vertical = (tangent - self._horizontal(tangent, spread)).reshape(*self.batch(x), -1, self.ambient_dim)
        rows = np.linalg.svd(vertical)[2][..., : self.vertical_dim, :]
        return np.asarray(rows.reshape(*self.batch(x), self.vertical_dim, *self.shape))

    def flat(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """Σ_a h(v, U_a) U_a over the orthonormal tangent basis U."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        basis = self.tangent_basis(x)
        axis = -len(self.shape) - 1
        inner = self.inner_product(np.expand_dims(v, axis), basis, np.expand_dims(x, axis))
        flat = np.einsum("...a,...ai->...i", inner, basis.reshape(*basis.shape[:axis], self.dim, self.ambient_dim))
        return np.asarray(flat.reshape(*flat.shape[:-1], *self.shape))

    def random_point(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """geomstats' random points, from a seed drawn from ``rng``."""
        points = np.asarray(_random(self.manifold, n_samples, rng), dtype=np.float64)
        return points.reshape(n_samples, *self.shape)

    def _projections(self, x: FloatArray) -> FloatArray:
        """`to_tangent` of the ambient unit vectors, as rows: ``[..., D, D]``."""
        units = np.eye(self.ambient_dim).reshape(-1, *self.shape)
        projected = self.to_tangent(units, x.reshape(*self.batch(x), 1, *self.shape))
        return projected.reshape(*self.batch(x), self.ambient_dim, self.ambient_dim)

    def _horizontal(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        bundle = self.manifold.metric._fiber_bundle
        return self._pairs(lambda base, u: bundle.horizontal_projection(u, base), self.shape, base_point, tangent_vec)

    def _log(self, base: FloatArray, points: FloatArray) -> FloatArray:
        """Logs of rows of points, at one base point or at one for each; at its cut locus geomstats may return zero."""
        metric = self.manifold.metric
        logs = _row_by_row(lambda x, y: metric.log(y, x), points, base, self.shape).reshape(points.shape)
        finite = np.asarray(np.isfinite(logs).reshape(len(points), -1).all(axis=1))
        reached = np.asarray(metric.exp(np.where(np.isfinite(logs), logs, 0.0), base)).reshape(points.shape)
        missed = np.abs(reached - points).reshape(len(points), -1).max(axis=1)
        suspect = np.nonzero(finite & ~(missed <= ROUND_TRIP))[0]
        # The end point may be another representative: an angle plus 2π, another pre-shape of the orbit.
        for row in suspect:
            finite[row] = metric.dist(points[row], reached[row]) <= ROUND_TRIP
        logs[~finite] = np.nan
        return logs

    def _transport(self, base: FloatArray, vectors: FloatArray, direction: FloatArray) -> FloatArray:
        metric = self.manifold.metric
        try:
            return np.asarray(metric.parallel_transport(vectors, base, direction=direction))
        except NotImplementedError:
            ladder = metric.ladder_parallel_transport(
                vectors, base, direction, n_rungs=LADDER_RUNGS, scheme="pole", alpha=2
            )
            return np.asarray(ladder["transported_tangent_vec"])

    def _to_fibre(self, tangent_vec: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
        """Move horizontal vectors along the orbit: log_end(exp_start(w)), which is linear in w, at |w| = 0.1."""
        norm = np.sqrt(self.inner_product(tangent_vec, tangent_vec, start)).reshape(
            *self.batch(start), *(1,) * len(self.shape)
        )
        scale = 0.1 / np.where(norm == 0.0, 1.0, norm)
        return np.asarray(self.log(self.exp(scale * tangent_vec, start), end) / scale)

    def _points(self, function: Callable[..., Any], tail: tuple[int, ...], x: FloatArray) -> FloatArray:
        """A function of points, for any number of leading axes."""
        rows = x.reshape(-1, *self.shape)
        return np.asarray(function(rows)).reshape((*self.batch(x), *tail))

    def _pairs(
        self, function: Callable[..., Any], tail: tuple[int, ...], base: FloatArray, *others: FloatArray
    ) -> FloatArray:
        """``function(base, *others)`` for broadcast leading axes: all rows at once, or one base point at a time."""
        batch = self.batch(base, *others)
        own = self.batch(base)
        own = (1,) * (len(batch) - len(own)) + own
        base = base.reshape(*own, *self.shape)
        others = tuple(np.broadcast_to(array, (*batch, *self.shape)) for array in others)
        result = np.empty((*batch, *tail))
        if own == batch and math.prod(batch) > 1:
            rows = [array.reshape(-1, *self.shape) for array in (base, *others)]
            return np.asarray(function(*rows), dtype=np.float64).reshape(result.shape)
        for index in np.ndindex(*own):
            window = tuple(slice(None) if size == 1 else i for i, size in zip(index, own, strict=True))
            rows = [array[window].reshape(-1, *self.shape) for array in others]
            value = np.asarray(function(base[index], *rows), dtype=np.float64)
            result[window] = value.reshape(result[window].shape)
        return result


def _row_by_row(
    function: Callable[..., Any], points: FloatArray, base: FloatArray, tail: tuple[int, ...]
) -> FloatArray:
    """``function(base, points)``; when geomstats refuses the batch, the rows one by one, NaN for the refused ones."""
    try:
        return np.asarray(function(base, points))
    except (ValueError, np.linalg.LinAlgError):
        result = np.full((len(points), *tail), np.nan)
    bases = np.broadcast_to(base, points.shape)
    for row in range(len(points)):
        try:
            result[row] = function(bases[row], points[row])
        except (ValueError, np.linalg.LinAlgError):
            continue
    return result


def _random(manifold: Any, n_samples: int, rng: np.random.Generator) -> Any:
    """Random points of a geomstats space, which draws from NumPy's global generator; its state is restored."""
    state = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
        return manifold.random_point(n_samples)
    finally:
        np.random.set_state(state)  # noqa: NPY002
