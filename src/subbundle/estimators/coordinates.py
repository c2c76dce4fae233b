"""The protocol of estimators that give coordinates: arrays, tables and Dask collections, and columns of tables."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from subbundle._types import BoolArray, FloatArray, Status, StatusArray, SubbundleWarning
from subbundle.charts.base import Located
from subbundle.estimators._input import checked_coordinates
from subbundle.estimators._lazy import is_lazy, transformed
from subbundle.estimators._shown import ShownWhenFitted

# Quantities of rows and the attributes that keep those of the training points.
_KEPT = {
    "coordinates": "embedding_", "residual": "residuals_", "status": "status_", "distortion": "distortion_",
    "coverage": "coverage_", "disagreement": "disagreement_", "label": "labels_",
}  # fmt: skip


def columns_of(found: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The columns of a table of located rows, from `Located.as_dict`: coordinates first, component and status last."""
    columns = {f"coordinate_{i + 1}": column for i, column in enumerate(found["coordinates"].T)}
    columns |= {name: found[name] for name in found if name not in ("coordinates", "label", "status")}
    whole = {"component": found.get("label"), "status": found["status"]}
    return columns | {name: values.astype(np.int64) for name, values in whole.items() if values is not None}


def everywhere(used: BoolArray, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """``columns`` of the rows that are ``used`` [N] as columns of all; rows left out have NaN, component −1, status."""
    whole = {}
    for name, column in columns.items():
        absent = {"component": -1, "status": int(Status.NOT_FINITE)}.get(name, np.nan)
        whole[name] = np.full(len(used), absent, np.asarray(column).dtype)
        whole[name][used] = column
    return whole


class GivesCoordinates(ShownWhenFitted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ABC):
    """A transformer to coordinates, as commands, jobs and scenes use it; a mixin before `BaseEstimator`."""

    # Whether the length of the coordinates is the distance from a base point, along geodesics of ``bundle_``.
    normal_coordinates = False

    @abstractmethod
    def locate(self, X: Any) -> Located:
        """Quantities of each row of ``X``; see `subbundle.Located`."""

    def training_quantities(self) -> dict[str, Any]:
        """Quantities of `locate` that are kept of the training points, by their names in tables."""
        known = {name: getattr(self, attribute, None) for name, attribute in _KEPT.items()}
        return {name: values for name, values in known.items() if values is not None}

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
