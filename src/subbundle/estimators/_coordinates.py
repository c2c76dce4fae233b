"""What estimators that give coordinates do alike, for arrays, tables and Dask collections."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from subbundle._types import FloatArray, StatusArray, SubbundleWarning
from subbundle.estimators._checks import checked_coordinates
from subbundle.estimators._lazy import is_lazy, transformed
from subbundle.estimators._shown import ShownWhenFitted


class GivesCoordinates(ShownWhenFitted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ABC):
    """A transformer to coordinates; a mixin before `BaseEstimator`."""

    def fit_transform(self, X: Any, y: Any = None, **settings: Any) -> FloatArray:
        """Fit, and return the coordinates [n_samples, n_components] of the training points."""
        fitted = self.fit(X, **settings)
        coordinates: FloatArray = fitted.transform(X) if is_lazy(X) else fitted.embedding_
        return coordinates

    def transform(self, X: Any) -> FloatArray:
        """Coordinates [n_samples, n_components] of ``X``; see ``outside`` for points that have none.

        Dask arrays and data frames give such again, lazily, with the same partitions.
        """
        if is_lazy(X):
            return transformed(self, X)
        coordinates, status = self._found(self._checked(X))
        message = self._outside_message(status)
        if message:
            warnings.warn(message, SubbundleWarning, stacklevel=2)
        return coordinates

    def loadings(self, X: Any) -> FloatArray:
        """How each feature changes along each coordinate, [n, n_features, n_components], at coordinates ``X``."""
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
        """A sentence where too many rows have no place; empty otherwise."""

    @abstractmethod
    def _jacobian_at(self, coordinates: FloatArray) -> FloatArray:
        """How each kept component changes along each coordinate [n, r, k]."""
