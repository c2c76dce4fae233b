"""Any geomstats space with its metric, as a `Space`. geomstats is imported only when it is needed."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from subbundle.spaces._geomstats_space import GeomstatsSpace
from subbundle.spaces.base import Space


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
    """Raise unless geomstats is there, runs on NumPy, and ``space`` is one of its manifolds."""
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
