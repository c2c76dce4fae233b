"""From the parameters and the rows of an estimator to a bundle, in R^d or on a known manifold, and to a chart.

On a manifold the steps are those of `_prepare`: the bandwidth is chosen in linear coordinates of the data (offsets in
R^D for spheres, logarithms at the most central observation elsewhere), which nearly preserve distances; the
observations are projected along geodesics onto the ridge of their bundle; and the bundle is estimated again from the
projections, at 0.67 of the bandwidth. In full rank nothing is projected: the bundle is the tangent bundle.
Points are rows [n, D], matrices one after the other.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from subbundle._parallel import one_blas_thread
from subbundle._types import FloatArray, IntArray, SubbundleWarning, all_finite, evenly
from subbundle._validation import as_choice, as_flag, as_integer, as_points, as_positive, readable, tabular
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.bundles.surroundings import surroundings_on
from subbundle.charts.chart import Chart
from subbundle.charts.tuning import MOST_GEODESICS
from subbundle.cloud import Cloud
from subbundle.estimators._input import check_rank
from subbundle.estimators._prepare import Prepared, narrower, onto_ridge, prepare
from subbundle.estimators.tuning import COMPONENTS_OF_ALL, LEAST_OF_GEODESICS
from subbundle.geodesics.start import default_count
from subbundle.local.reach import neighbour_distances
from subbundle.selection.bandwidth import compare_bandwidths
from subbundle.selection.base_point import CANDIDATES, central_landmarks, central_points, first_on_ridge
from subbundle.selection.components import all_components, first_components
from subbundle.selection.rank import FEWEST_ROWS, choose_rank
from subbundle.spaces.base import Space
from subbundle.spaces.rows import as_observations, check_space, flattened, shaped

# Most observations in a sum of squared distances.
_REFERENCES = 300


def prepare_on_manifold(
    points: Any,
    rank: int,
    *,
    space: Space,
    bandwidth: float | str = "auto",
    denoise: bool = True,
    centering: str = "recentred",
    n_jobs: int | None = None,
) -> Prepared:
    """Learn the bundle of the given ``rank`` from ``points`` [N, *shape] or [N, D] on ``space``."""
    rows = as_observations(points, space)
    why = f"dimensions of {space!r}; rank = dim is the manifold itself"
    rank = as_integer(rank, "n_components", low=1, high=space.dim, why=why)
    width, remark = _bandwidth(rows, rank, space, bandwidth, n_jobs)
    bundle = RiemannianSubbundle(rows, rank, width, space=space, centering=centering, n_jobs=n_jobs)
    if denoise and rank < space.dim:
        projected = onto_ridge(bundle, rows)[0]
        narrow = width * narrower(bundle.typical_mass, rank, given=not isinstance(bandwidth, str))
        bundle = RiemannianSubbundle(projected, rank, narrow, space=space, centering=centering, n_jobs=n_jobs)
    return Prepared(all_components(rows), width, bundle, remark=remark)


def central_rows(rows: FloatArray, space: Space) -> IntArray:
    """Rows in increasing order of their sum of squared distances to up to 300 reference rows.

    The references are evenly spaced in lexicographic order, so that the order of the rows does not matter.
    """
    order = np.lexsort(rows.T[::-1])
    references = order[evenly(len(rows), _REFERENCES)]
    points = shaped(space, rows)
    total = np.zeros(len(rows))
    for reference in references:
        total += space.dist(points, points[reference]) ** 2
    return np.asarray(np.argsort(total, kind="stable"), dtype=np.int64)


def kept_variance(chart: Chart, rows: FloatArray, space: Space) -> float:
    """1 − Σ dist(x, x̂)²/Σ dist(x, x̄)²: x̂ the nearest point of the chart, x̄ the most central of ``rows`` [n, D]."""
    around = surroundings_on(space)
    middle = np.broadcast_to(rows[central_rows(rows, space)[0]], rows.shape)
    lost = float(np.sum(chart.locate(rows, outside="nearest").residuals ** 2))
    total = float(np.sum(around.distance(middle, rows) ** 2))
    return 1.0 - lost / total if total > 0.0 else (1.0 if lost == 0.0 else -np.inf)


def _bandwidth(rows: FloatArray, rank: int, space: Space, bandwidth: Any, n_jobs: int | None) -> tuple[float, str]:
    if not isinstance(bandwidth, str):
        return as_positive(bandwidth, "bandwidth", hint="Or pass 'auto'."), ""
    as_choice(bandwidth, "bandwidth", ("auto",))
    flat = surroundings_on(space).local_map(rows[central_rows(rows, space)[0]]).enter(rows)
    flat = flat[all_finite(flat)]
    if rank == space.dim:
        # The subspaces are the tangent spaces for every bandwidth, which only determines the support.
        return float(np.median(neighbour_distances(flat, flat, rank))), ""
    choice = compare_bandwidths(flat, rank, n_jobs=n_jobs)
    return choice.bandwidth, choice.fallback


def checked_rows(estimator: Any, X: Any, space: Space | None, **settings: Any) -> FloatArray:
    """``X`` as rows [n, n_features], by scikit-learn's rules; on ``space`` points [n, *shape] are flattened first."""
    if space is not None:
        check_space(space)
        X = readable(X, "X")
        if np.ndim(X) == 1 + len(space.shape) > 2:
            X = np.reshape(X, (len(X), -1))
    rows: FloatArray = validate_data(estimator, tabular(X, "X"), dtype=np.float64, **settings)
    return rows if space is None else as_observations(rows, space)


# Fraction of the points that support a rank below which a warning is issued.
_UNSURE = 0.5


def resolved_rank(rank: int | str, name: str, X: FloatArray, space: Space | None = None, of_few: int = 0) -> int:
    """``rank`` itself, or for ``"auto"`` the dimension of the rows ``X`` [n, d], in ``space`` where there is one.

    At least 1, and below the number of features. Too few rows to have one get ``of_few`` unless it is 0.
    """
    if not isinstance(rank, str):
        return rank
    if space is not None:
        X = _tangent_coordinates(X, space)
    most = X.shape[1] - 1 if space is None else space.dim
    if of_few and len(X) < FEWEST_ROWS:
        found = max(min(of_few, most, len(X) - 2), 1)
        remark = f"{name}='auto' needs {FEWEST_ROWS} rows and took {found} for {len(X)}. Pass {name}."
        warnings.warn(remark, SubbundleWarning, stacklevel=3)
        return found
    choice = choose_rank(X, max_rank=most)
    found = max(choice.rank, 1)
    if choice.confidence < _UNSURE:
        warnings.warn(
            f"{name}='auto' chose {found}, which only {choice.confidence:.0%} of the sampled points support: the "
            "dimension is uncertain, or varies, or the cloud fills the space. "
            f"See subbundle.diagnose(X), or pass {name}.",
            SubbundleWarning,
            stacklevel=3,
        )
    return found


def _tangent_coordinates(rows: FloatArray, space: Space) -> FloatArray:
    """Logarithms [n, dim] at the most central of ``rows`` [n, D]; those without one are left out.

    Rows in R^D would give the dimension of the manifold instead of that of the data in it.
    """
    points = shaped(space, rows)
    logs = flattened(space, space.log(points, points[central_rows(rows, space)[0]]))
    known: FloatArray = np.ascontiguousarray(logs[all_finite(logs)])
    return first_components(known, space.dim).enter(known)


@one_blas_thread()
def learn(estimator: Any, X: FloatArray, rank: int, name: str) -> Prepared:
    """The bundle of ``X`` [n, n_features] with the settings of ``estimator``, whose ``name`` for the rank is given."""
    e, denoise = estimator, as_flag(estimator.denoise, "denoise")
    if e.space is not None:
        return prepare_on_manifold(
            X, rank, space=e.space, bandwidth=e.bandwidth, denoise=denoise, centering=e.centering or "recentred",
            n_jobs=e.n_jobs,
        )  # fmt: skip
    check_rank(rank, name, X)
    return prepare(
        X, rank, bandwidth=e.bandwidth, denoise=denoise, reduce_dim=e.reduce_dim, kernel=e.kernel,
        centering=e.centering or "local", n_jobs=e.n_jobs,
    )  # fmt: skip


# Highest rank of a fan of geodesics: above, a thousand rows take a minute.
_HIGHEST = 12


def find_base_point(learned: Prepared, base_point: Any, space: Space | None) -> FloatArray:
    """The base point [r] in the kept components, projected onto the ridge; ``space`` as the estimator has it."""
    bundle, components = learned.bundle, learned.components
    if isinstance(base_point, str):
        if as_choice(base_point, "base_point", ("frechet", "learned", "auto")) == "learned":
            candidates = central_landmarks(bundle, CANDIDATES)[0]
        elif space is None:
            candidates = central_points(Cloud(bundle.rows), CANDIDATES)
        else:
            candidates = bundle.rows[central_rows(bundle.rows, space)[:CANDIDATES]]
        wanted = f"one of the {len(candidates)} most central observations"
        hint = "Pass another bandwidth, or a base_point inside the data."
    else:
        given = (
            as_points(base_point, "base_point", dim=len(components.mean), ndim=1)[None]
            if space is None
            else as_observations(np.asarray(base_point)[None], space)
        )
        candidates, wanted = components.enter(given), "the given base_point"
        hint = "Choose a point on the data, for instance one of its rows."
    return first_on_ridge(bundle, candidates, wanted, hint)[1]


def first_chart(learned: Prepared, base: FloatArray, radius: float | str, space: Space | None) -> Chart:
    """The chart at ``base`` [r]; in many components of fewer geodesics, no longer than the diameter of the data.

    Of rank 2 it has half of the most geodesics of a chart, in half of the time: the error of its interpolant is at most
    a hundredth of a bandwidth, far below the noise; the tolerance of `Chart` is a thousandth.
    """
    bundle, rank = learned.bundle, learned.bundle.rank
    if rank > _HIGHEST:
        raise ValueError(
            f"n_components must be at most {_HIGHEST} for one chart, a fan of geodesics in all directions; got {rank}. "
            f"Use AtlasEmbedding(n_components={rank}), which integrates none."
        )
    fraction = (COMPONENTS_OF_ALL / learned.components.axes.shape[1]) ** 8
    if space is not None or fraction >= 1.0 or rank == 1:
        return Chart(bundle, base, radius, n_geodesics=MOST_GEODESICS // 2 if rank == 2 else None)
    full = MOST_GEODESICS // 2 if rank == 2 else default_count(rank)
    rays = int(max(fraction, LEAST_OF_GEODESICS) * full)
    return Chart(bundle, base, radius, n_geodesics=rays, max_radius=Cloud(bundle.rows).size)
