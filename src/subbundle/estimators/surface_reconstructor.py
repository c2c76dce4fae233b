"""`SurfaceReconstructor`: a mesh of the surface near points of R^d, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, Status
from subbundle._validation import tabular
from subbundle.charts.base import Located
from subbundle.estimators._shown import ShownWhenFitted
from subbundle.estimators.state import State
from subbundle.graph.neighbor_graph import by_size
from subbundle.surface.ambient import project_to_surface
from subbundle.surface.prepare import LEAST_POINTS
from subbundle.surface.reconstruct import reconstruct
from subbundle.triangles.mesh import Mesh, Summary
from subbundle.triangles.topology import component_labels

# Names in a file: arrays of the mesh, its attributes, and arrays of its summary.
_MESH, _ATTRIBUTE, _SUMMARY = "mesh.", "attribute.", "summary."


class SurfaceReconstructor(ShownWhenFitted, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Reconstruct a surface from unoriented, noisy points.

    Parameters
    ----------
    bandwidth, closed, opening, n_jobs
        As in `subbundle.reconstruct`.

    Attributes
    ----------
    mesh_ : Mesh
        With estimates and stages in ``mesh_.summary``.
    bandwidth_ : float
        Standard deviation of the window for normals and topology, as given or chosen.
    n_features_in_ : int
        d.
    feature_names_in_ : [d]

    Examples
    --------
    >>> import subbundle as sb
    >>> data = sb.datasets.sphere(3000, noise=0.02, seed=0)
    >>> model = sb.SurfaceReconstructor().fit(data.points)
    >>> model.mesh_.euler_characteristic
    2
    >>> bool(data.distance(model.transform(data.points)).mean() < 0.5 * data.distance(data.points).mean())
    True
    """

    def __init__(
        self,
        *,
        bandwidth: float | str = "auto",
        closed: bool = False,
        opening: float = 3.0,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.closed = closed
        self.opening = opening
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, *, attributes: Mapping[str, Any] | None = None) -> Self:
        """Reconstruct the surface of ``X`` [n_samples, d], d ≥ 3; ``y`` is ignored."""
        X = validate_data(self, tabular(X, "X"), dtype=np.float64, ensure_min_features=3)
        if len(X) < LEAST_POINTS:
            raise ValueError(f"X must have at least {LEAST_POINTS} points of a surface; got n_samples={len(X)}.")
        mesh = reconstruct(
            X, bandwidth=self.bandwidth, closed=self.closed, opening=self.opening, attributes=attributes,
            n_jobs=self.n_jobs,
        )  # fmt: skip
        self._set(X, mesh)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Rows of ``X`` [n, d] projected onto the surface: to the second-order ridge of the points it was fitted to.

        Rows with none of them nearby are unchanged.
        """
        return self.locate(X).points

    def locate(self, X: Any) -> Located:
        """Projection, residual, status and connected component of each row of ``X``; see `subbundle.Located`.

        A mesh has no coordinates: they have no columns. ``labels`` are the connected components of ``mesh_``.
        """
        check_is_fitted(self)
        X = validate_data(self, tabular(X, "X"), dtype=np.float64, reset=False)
        points, seen = project_to_surface(self._points, X, self.bandwidth_, resolve_jobs(self.n_jobs))
        vertices, residuals = self.mesh_.vertices, np.linalg.norm(X - points, axis=1)
        labels = by_size(component_labels(self.mesh_.faces, len(vertices)))[cKDTree(vertices).query(points)[1]]
        status = np.where(seen, Status.OK, Status.LEFT_SUPPORT).astype(np.int8)
        return Located(np.empty((len(X), 0)), points, residuals, status, labels=np.where(seen, labels, -1))

    def _set(self, points: FloatArray, mesh: Mesh) -> None:
        assert mesh.summary is not None  # a reconstruction has one
        self._points, self.mesh_, self._summary = points, mesh, mesh.summary
        self.bandwidth_ = mesh.summary.bandwidth

    def _state(self) -> State:
        values = asdict(self._summary)
        arrays = {_SUMMARY + name: values.pop(name) for name in ("outliers", "handles_at")}
        arrays |= {"points": self._points, _MESH + "vertices": self.mesh_.vertices, _MESH + "faces": self.mesh_.faces}
        if self.mesh_.normals is not None:
            arrays[_MESH + "normals"] = self.mesh_.normals
        arrays |= {_ATTRIBUTE + name: np.asarray(value) for name, value in self.mesh_.attributes.items()}
        return {"summary": values}, arrays

    def _restore(self, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        known: dict[str, Any] = dict(values["summary"])
        known |= {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        known |= {name: arrays[_SUMMARY + name] for name in ("outliers", "handles_at")}
        attributes = {
            name.removeprefix(_ATTRIBUTE): value for name, value in arrays.items() if name.startswith(_ATTRIBUTE)
        }
        vertices, faces = arrays[_MESH + "vertices"], arrays[_MESH + "faces"]
        if faces.ndim != 2 or faces.shape[1] != 3 or not (faces.min() >= 0 and faces.max() < len(vertices)):
            raise ValueError("faces must be triples of rows of the vertices")
        self._set(arrays["points"], Mesh(vertices, faces, arrays.get(_MESH + "normals"), attributes, Summary(**known)))
