"""What fitted estimators share: display in notebooks, coordinates of arrays, tables and Dask collections."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from subbundle._html import card, dots, endings
from subbundle._types import FloatArray, StatusArray, SubbundleWarning
from subbundle.estimators._input import checked_coordinates
from subbundle.estimators._lazy import is_lazy, transformed

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


class GivesCoordinates(ShownWhenFitted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ABC):
    """A transformer to coordinates; a mixin before `BaseEstimator`."""

    def fit_transform(self, X: Any, y: Any = None, **settings: Any) -> FloatArray:
        """Fit, and return the coordinates [n_samples, n_components] of the training points."""
        fitted = self.fit(X, **settings)
        coordinates: FloatArray = fitted.transform(X) if is_lazy(X) else fitted.embedding_
        return coordinates

    def transform(self, X: Any) -> FloatArray:
        """Coordinates [n_samples, n_components] of ``X``; see ``outside`` for points that have none.

        Of Dask arrays and data frames the result is one, lazily, with the same partitions.
        """
        if is_lazy(X):
            return transformed(self, X)
        coordinates, status = self._found(self._checked(X))
        message = self._outside_message(status)
        if message:
            warnings.warn(message, SubbundleWarning, stacklevel=2)
        return coordinates

    def loadings(self, X: Any) -> FloatArray:
        """Derivatives of the features by the coordinates, [n, n_features, n_components], at coordinates ``X``."""
        jacobian = self._jacobian_at(checked_coordinates(self, X))
        return np.asarray(np.einsum("dr,nrk->ndk", self.axes_, jacobian))

    @abstractmethod
    def _checked(self, X: Any) -> FloatArray:
        """``X`` as rows [n, n_features]."""

    @abstractmethod
    def _found(self, X: FloatArray) -> tuple[FloatArray, StatusArray]:
        """Coordinates [n, k] of rows, and statuses [n]."""

    @abstractmethod
    def _outside_message(self, status: StatusArray) -> str:
        """A sentence where too many rows lie outside all charts; empty otherwise."""

    @abstractmethod
    def _jacobian_at(self, coordinates: FloatArray) -> FloatArray:
        """Derivatives of the kept components by the coordinates [n, r, k]."""
