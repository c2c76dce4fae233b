"""Quality of a layout: neighbourhoods and distances preserved, rows predicted, compared with principal components.

    trustworthiness   1 − rows that are near in the coordinates but not in the table, weighted by their rank in it
    continuity        the same with the roles exchanged: near in the table, not in the coordinates
    stress            Σ (|z_i − z_j| − d_ij)²/Σ d_ij², d along the manifold
    prediction error  fraction of the variance of a row that the coordinates of the others do not predict

Neighbourhoods and predictions are evaluated on at most a thousand rows spread evenly, so that the cost stays linear.

For the last, row i is predicted by a local linear fit of the rows on their coordinates, over its 2k + 4 nearest in the
coordinates, itself left out. A layout folded by short cuts has unlike rows as neighbours and a large error. Fits of few
neighbours predict noise poorly and favour locality: they compare layouts of one kind. Layouts of different kinds are
compared by the least error over fits of all sizes, up to one linear fit to all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from subbundle._types import FloatArray, IntArray, evenly
from subbundle.local.neighbor_fits import distance_weights
from subbundle.local.tuning import PENALTIES
from subbundle.selection.ladder import clipped

# Rows evaluated, more of which change the figures in the third digit, and neighbours of each.
ROWS, _NEAR = 1000, 10


@dataclass(frozen=True, slots=True)
class Quality:
    """Figures of one layout, and those of the principal components of the same dimension.

    Attributes
    ----------
    trustworthiness, continuity : float
        1 where all neighbourhoods of ten rows are preserved.
    stress : float
        NaN where there are no distances along the manifold to compare with.
    prediction_error : float
        0 where the coordinates of other rows predict a row exactly.
    pca_trustworthiness, pca_continuity, pca_prediction_error : float
    """

    trustworthiness: float
    continuity: float
    stress: float
    prediction_error: float
    pca_trustworthiness: float
    pca_continuity: float
    pca_prediction_error: float

    def sentence(self) -> str:
        """The figures in a line, those of principal components in brackets."""
        named = {"trustworthiness": "trustworthiness", "continuity": "continuity", "prediction_error": "unpredicted"}
        figures = [f"{words} {getattr(self, x):.3f} ({getattr(self, 'pca_' + x):.3f})" for x, words in named.items()]
        figures += [] if np.isnan(self.stress) else [f"stress {self.stress:.3f}"]
        return f"{', '.join(figures)} (in brackets: PCA)"

    def as_dict(self) -> dict[str, float | None]:
        """The figures by name, None instead of NaN, as in JSON."""
        return {name: None if np.isnan(value) else value for name, value in asdict(self).items()}

    @classmethod
    def unknown(cls) -> Quality:
        """No figures."""
        return cls(*(float("nan") for _ in fields(cls)))

    @classmethod
    def from_dict(cls, figures: Mapping[str, float | None]) -> Quality:
        """The inverse of `as_dict`."""
        return cls(**{name: float("nan") if value is None else float(value) for name, value in figures.items()})


def quality(points: FloatArray, coordinates: FloatArray, stress: float = float("nan")) -> Quality:
    """Compare ``coordinates`` [n, k] of ``points`` [n, D] with these and with their principal components."""
    count, rank = coordinates.shape
    few = evenly(count, ROWS)
    points, coordinates = points[few], coordinates[few]
    centred = points - points.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    linear = left[:, :rank] * values[:rank]
    ours, theirs = neighborhoods_kept(points, coordinates), neighborhoods_kept(points, linear)
    errors = [prediction_error(points, positions, robust=True) for positions in (coordinates, linear)]
    return Quality(*ours, stress, errors[0], *theirs, errors[1])


def neighborhoods_kept(points: FloatArray, coordinates: FloatArray) -> tuple[float, float]:
    """Trustworthiness and continuity (Venna and Kaski) of ``coordinates`` [n, k] of ``points`` [n, D]."""
    trustworthiness, continuity = kept_by_row(points, coordinates).mean(axis=1)
    return float(trustworthiness), float(continuity)


def kept_by_row(points: FloatArray, coordinates: FloatArray) -> FloatArray:
    """The contributions [2, n] of each row to trustworthiness and continuity, which are their means."""
    count = len(points)
    near = min(_NEAR, (count - 1) // 2)
    if near < 1:
        return np.ones((2, count))
    ranks = [_ranks(cdist(x, x)) for x in (points, coordinates)]
    scale = 2.0 / (near * (2.0 * count - 3.0 * near - 1.0))
    intruders = [np.where((shown <= near) & (true > near), true - near, 0.0) for true, shown in (ranks, ranks[::-1])]
    return np.asarray(1.0 - scale * np.sum(intruders, axis=2))


def _ranks(distances: FloatArray) -> FloatArray:
    """Rank [n, n] of each row among the others by distance, 1 for the nearest, 0 for itself."""
    count = len(distances)
    distances[np.diag_indices(count)] = -1.0
    order = np.argsort(distances, axis=1, kind="stable")
    ranks = np.empty((count, count))
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(count, dtype=float), (count, count)), axis=1)
    return ranks


def prediction_error(points: FloatArray, positions: FloatArray, *, robust: bool = False) -> float:
    """Fraction of the variance of ``points`` [n, D] that ``positions`` [n, k] do not predict, each left out; if
    ``robust`` of squares clipped at their 98 % quantile."""
    count, rank = positions.shape
    size = min(fewest_in_fit(rank), count - 2)
    if size < 1:
        return 1.0
    distances, near = NearestNeighbors(n_neighbors=size).fit(positions).kneighbors()
    total = np.sum((points - points.mean(axis=0)) ** 2, axis=1)
    errors = np.sum((points - smoother(positions[near] - positions[:, None], distances, near, count) @ points) ** 2, 1)
    # Positions that coincide except for rounding, with a far outlier, have no finite fit.
    if not np.isfinite(errors).all():
        return 1.0
    # In a report a few outliers, with more variance than all other rows together, must not decide.
    errors, total = (clipped(errors), clipped(total)) if robust else (errors, total)
    return float(errors.sum() / max(float(total.sum()), 1e-300))


def fewest_in_fit(rank: int) -> int:
    """Neighbours in the smallest local linear fit on coordinates."""
    return 2 * rank + 4


def smoother(steps: FloatArray, distances: FloatArray, near: IntArray, count: int) -> csr_array:
    """The matrix [q, ``count``] from rows to the constants of local linear fits at q places: over the rows ``near``
    [q, m], which lie at the ``distances`` [q, m] and ``steps`` [q, m, k], with weights that fall off to the farthest.
    """
    size, rank = steps.shape[1:]
    weights = distance_weights(distances, np.ones_like(distances))
    features = np.concatenate([np.ones((*near.shape, 1)), steps / (distances.max(axis=1) + 1e-300)[:, None, None]], 2)
    weighted = (features * weights[:, :, None]).transpose(0, 2, 1)
    # The least of the penalties regularises slopes to zero: nearest rows on a line determine none across it.
    held = np.diag([0.0] + [PENALTIES[0]] * rank) + 1e-12 * np.eye(rank + 1)
    # Only the constant of the fit is needed.
    first = np.broadcast_to(np.eye(rank + 1)[:, :1], (len(near), rank + 1, 1))
    loads = np.einsum("bfm,bfo->bm", weighted, np.linalg.solve(weighted @ features + held, first))
    return csr_array((loads.ravel(), near.ravel(), np.arange(0, near.size + 1, size)), shape=(len(near), count))
