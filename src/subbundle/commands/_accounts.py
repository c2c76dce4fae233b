"""What the commands did, for their reports: what came in, what was chosen and why, and what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subbundle._types import FloatArray, Status, StatusArray, count_statuses
from subbundle.estimators.atlas_messages import fit_message
from subbundle.viewer.report import Account, Choice

# Rows among which distances are drawn.
_MOST_DRAWN = 600


def account_of_atlas(path: Path, model: Any, values: FloatArray, found: Mapping[str, Any]) -> Account:
    """Of ``embed --method atlas``."""
    from subbundle import plot

    why = "given" if model.n_neighbors != "auto" else "rows are predicted best from the coordinates of others"
    size = Choice("chart size", f"{model.n_neighbors_} neighbours each", why)
    count = model.n_denoising_neighbors_
    why = "least estimated error" if count else "rows as they are have the least estimated error"
    averaged = Choice("rows averaged over", str(count), why if model.bandwidth == "auto" else "given")
    message = fit_message(model)
    inside = float(np.mean(found["status"] == Status.OK))
    return Account(
        f"Coordinates of {path.name}",
        _table_in(path, values),
        [_dimension(model.n_components, model.n_components_), size, averaged, _components(model, values)],
        [
            ("charts", f"{len(model.atlas_.bases)}, in {model.n_connected_components_} connected component(s)"),
            ("rows inside the charts", f"{inside:.1%}"),
            ("residual", f"{np.mean(found['residual']):.4g} on average"),
            ("distortion of lengths", f"{np.mean(found['distortion']):.3g} on average, |log| of the factor"),
            ("contradiction of charts", f"{model.alignment_residual_:.2%} of their size"),
            ("quality", model.quality_.sentence()),
        ],
        [message] if message else [],
        [("where to trust the coordinates", plot.trust(model).figure)],
    )


def account_of_chart(path: Path, model: Any, values: FloatArray, residuals: FloatArray, status: StatusArray) -> Account:
    """Of ``embed --method chart``."""
    from subbundle import plot

    outside = status[status != Status.OK]
    why = "given" if model.bandwidth not in ("auto", "local") else "least estimated error of the middle of the cloud"
    reached = "given" if model.radius != "auto" else "as far as the data and the geodesics allow"
    return Account(
        f"Coordinates of {path.name}",
        _table_in(path, values),
        [
            _dimension(model.n_components, model.n_components_),
            Choice("bandwidth", f"{model.bandwidth_:.4g}", why),
            Choice("radius", f"{model.radius_:.4g}", reached),
            _components(model, values),
        ],
        [
            ("rows inside the chart", f"{np.mean(status == Status.OK):.1%}"),
            ("residual", f"{np.nanmean(residuals):.4g} on average"),
        ],
        [f"outside the chart, {words}: {count} rows" for words, count in count_statuses(outside).items()],
        [("coordinates", plot.trust(model).figure)],
    )


def account_of_distances(
    path: Path, metric: Any, values: FloatArray, sources: FloatArray, targets: FloatArray, matrix: FloatArray,
    messages: Sequence[str],
) -> Account:  # fmt: skip
    """Of ``distance``."""
    from subbundle import plot

    finite = matrix[np.isfinite(matrix)]
    few, many = sources[:_MOST_DRAWN], targets[:_MOST_DRAWN]
    straight = np.linalg.norm(few[:, None] - many[None], axis=2)
    lost = [f"{np.count_nonzero(np.isnan(matrix))} distances were not found"] if np.isnan(matrix).any() else []
    apart = int(np.count_nonzero(np.isinf(matrix)))
    why = "given" if metric.bandwidth not in ("auto", "local") else "least estimated error of the middle of the cloud"
    return Account(
        f"Distances along {path.name}",
        _table_in(path, values),
        [
            _dimension(metric.rank, metric.rank_),
            Choice("bandwidth", f"{metric.bandwidth_:.4g}", why),
            _components(metric, values),
        ],
        [
            ("distances", f"{matrix.shape[0]} × {matrix.shape[1]}"),
            ("largest", f"{finite.max():.4g}" if finite.size else "none"),
            ("not connected", str(apart)),
        ],
        [*messages, *lost],
        [("along the shape, and straight", plot.distances(matrix[:_MOST_DRAWN, :_MOST_DRAWN], straight).figure)],
    )


def _table_in(path: Path, values: FloatArray) -> list[tuple[str, str]]:
    return [("file", path.name), ("rows", f"{len(values):,}"), ("features", str(values.shape[1]))]


def _dimension(wanted: Any, found: int) -> Choice:
    return Choice("dimension", str(found), "counted in the data" if wanted == "auto" else "given")


def _components(model: Any, values: FloatArray) -> Choice:
    kept, features = model.axes_.shape[1], values.shape[1]
    why = "all features" if kept == features else "those above the noise floor"
    return Choice("principal components", f"{kept} of {features}", why)
