"""Display of fitted estimators in notebooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from subbundle._html import card, dots, endings

# Fitted attributes and their labels.
_FACTS = {
    "n_components_": "dimension",
    "rank_": "dimension",
    "n_features_in_": "features",
    "bandwidth_": "bandwidth",
    "noise_": "noise",
    "n_neighbors_": "neighbours",
    "metric_": "layout",
    "n_connected_components_": "connected components",
    "alignment_residual_": "alignment residual of the charts",
    "radius_": "radius",
}


class ShownWhenFitted:
    """Adds a table of fitted attributes and a plot to scikit-learn's display; a mixin before `BaseEstimator`."""

    @property
    def _repr_html_(self) -> Callable[[], str]:
        inner: Callable[[], str] = super()._repr_html_  # type: ignore[misc]
        return lambda: inner() + self._learned_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        output: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in output:
            output["text/html"] += self._learned_html()
        return output

    def _learned_html(self) -> str:
        known = vars(self)
        if "n_features_in_" not in known:
            return ""
        if "mesh_" in known:
            return str(known["mesh_"]._repr_html_())
        facts = [(label, known[name]) for name, label in _FACTS.items() if known.get(name) is not None]
        facts += endings(known["status_"]) if "status_" in known else []
        shown = known.get("embedding_", known.get("points_"))
        return card(f"{type(self).__name__}, fitted", facts, picture="" if shown is None else dots(shown))
