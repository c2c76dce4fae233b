"""Estimators, bundles, charts and atlases in files: arrays in ``.npz``, everything else in a line of JSON inside it.

Nothing in the file is code: it is read with ``allow_pickle=False``, so that a model from any source is safe to open.
It is written under a temporary name and moved into place when complete.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from subbundle import estimators
from subbundle._archives import DamagedError, read_arrays
from subbundle._atomic import check_source, check_target
from subbundle.atlas.atlas import Atlas
from subbundle.bundles.analytic import Heisenberg, SphereTangent
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.charts.chart import Chart
from subbundle.charts.quadratic_chart import QuadraticChart
from subbundle.estimators.state import HasState, State, bundle_from, bundle_state
from subbundle.io import atomic_path
from subbundle.spaces.base import Space
from subbundle.spaces.description import describe, restore

FORMAT = "subbundle model"
# Version 3 has bundles, charts and atlases, which files of estimators, of version 2, do not hold.
VERSION = 3
_DESCRIPTION, _OWN = "description", "own."
_ESTIMATORS: dict[str, type[Any]] = {
    name: value for name, value in vars(estimators).items() if isinstance(value, type) and issubclass(value, HasState)
}
_BUNDLES = (PrincipalSubbundle, RiemannianSubbundle)
_GEOMETRY: dict[str, type[Any]] = {each.__name__: each for each in (Atlas, Chart, QuadraticChart, *_BUNDLES)}
_CLOSED: dict[str, type[Any]] = {each.__name__: each for each in (Heisenberg, SphereTangent)}


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write ``model`` to ``path``, which must end in ``.npz``; return the path. `load` reads it.

    Parameters
    ----------
    model : estimator, Atlas, Chart, QuadraticChart, PrincipalSubbundle or RiemannianSubbundle
        Estimators are fitted ones; an atlas or a chart is written together with its bundle.
    path : str or path
        Ends in ``.npz``. The file holds numbers and a description, no code.

    See Also
    --------
    load : the inverse.

    Examples
    --------
    >>> import tempfile, numpy as np, subbundle as sb
    >>> data = sb.datasets.s_surface(400, seed=0).points
    >>> model = sb.PrincipalSubmanifold(2, bandwidth=0.4).fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = sb.load(sb.save(model, f"{folder}/model.npz"))
    >>> bool(np.array_equal(again.transform(data), model.transform(data)))
    True
    """
    path = check_target(path, (".npz",))
    values, arrays = _state_of(model)
    description = {"format": FORMAT, "class": type(model).__name__, **values}
    text = json.dumps(description, ensure_ascii=False).encode("utf-8")
    arrays[_DESCRIPTION] = np.frombuffer(text, dtype=np.uint8)
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(stream, **cast(Any, arrays))
    return path


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` has written. Its results have the same bits.

    Parameters
    ----------
    path : str or path
        A file that `save` has written.

    Raises
    ------
    ValueError
        When the file is not a saved model, is damaged, or was written by a later version.

    See Also
    --------
    save : the inverse.
    """
    path = check_source(path)
    arrays = _read(path)
    description = _describe(path, arrays)
    try:
        return _restore(description, arrays)
    except Exception as error:  # anything may be missing from the file, or of another type
        reason = f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is damaged: {reason.rstrip('.')}. Save the model again.") from error


def _state_of(model: Any) -> State:
    name = type(model).__name__
    if isinstance(model, tuple(_GEOMETRY.values())):
        return _state_of_geometry(model)
    if name not in _ESTIMATORS:
        closed = hasattr(model, "frame") and hasattr(model, "field")
        advice = "Meshes have write, arrays numpy.save."
        if closed:
            advice = "A bundle in closed form holds no data: make it again where it is needed."
        raise TypeError(f"model must be one of {', '.join([*_ESTIMATORS, *_GEOMETRY])}; got {name}. {advice}")
    if not hasattr(model, "n_features_in_"):
        raise ValueError(f"model must be fitted before it is saved; this {name} is not. Call fit first.")
    values, arrays = model._state()
    own = {
        "version": 2,
        "parameters": {key: _plain(value) for key, value in model.get_params(deep=False).items()},
        "features": model.n_features_in_,
        "feature_names": list(getattr(model, "feature_names_in_", [])),
    }
    return own | values, arrays


def _state_of_geometry(model: Any) -> State:
    values: dict[str, Any] = {"version": VERSION}
    bundle: Any = model
    arrays: dict[str, Any] = {}
    if not isinstance(model, _BUNDLES):
        bundle = getattr(model, "bundle", None)
        arrays = {_OWN + name: value for name, value in model.to_arrays().items()}
    if isinstance(bundle, _BUNDLES):
        own, more = bundle_state(bundle)
        return values | own | {"n_jobs": bundle.n_jobs}, arrays | more
    if isinstance(bundle, Heisenberg | SphereTangent):
        values["bundle"] = {"class": type(bundle).__name__, **asdict(bundle)}
    elif bundle is not None:
        raise TypeError(
            f"the bundle of a model must be learned from data or one of {', '.join(_CLOSED)} to be saved; got "
            f"{type(bundle).__name__}, which is code. Save model.to_arrays() by numpy.savez."
        )
    return values, arrays


def _restored_geometry(description: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    made, bundle = _GEOMETRY[description["class"]], None
    if "cloud" in arrays:
        bundle = bundle_from(description, arrays, description["n_jobs"])
    elif "bundle" in description:
        closed = dict(description["bundle"])
        bundle = _CLOSED[closed.pop("class")](**closed)
    if made in _BUNDLES:
        if type(bundle) is not made:
            raise ValueError(f"its bundle is no {made.__name__}")
        return bundle
    own = {name.removeprefix(_OWN): value for name, value in arrays.items() if name.startswith(_OWN)}
    return made.from_arrays(own) if made is QuadraticChart else made.from_arrays(own, bundle)


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, Space):
        return describe(value)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _read(path: Path) -> dict[str, NDArray[Any]]:
    try:
        arrays = read_arrays(path)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} must be a file written by sb.save; it is not one, or it was cut off.") from error
    except DamagedError as error:
        raise ValueError(f"{path} is damaged: {error}. Save the model again.") from error
    if _DESCRIPTION not in arrays:
        raise ValueError(f"{path} must be a file written by sb.save; it is not one: it has no description.")
    return arrays


def _describe(path: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The description in the file, checked as far as the version."""
    try:
        description = json.loads(arrays[_DESCRIPTION].tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be a file written by sb.save; its description is no JSON.") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ValueError(f"{path} must be a file written by sb.save; it is another kind of file.")
    version = description.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(
            f"{path} was written by a later version of subbundle (file version {version}, this one reads up to "
            f"{VERSION}). "
            "Write: pip install --upgrade subbundle"
        )
    if description.get("class") not in _ESTIMATORS | _GEOMETRY:
        raise ValueError(f"{path} is damaged: it holds a {description.get('class')!r}, which no version has.")
    return description


def _renamed(description: dict[str, Any]) -> None:
    """Replace the name of the kernel in a file of version 1 by its present one."""
    for owner in (description["parameters"], description.get("bundle", {})):
        if owner.get("kernel") == "compact":
            owner["kernel"] = "quartic"


def _restore(description: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    if description["class"] in _GEOMETRY:
        return _restored_geometry(description, arrays)
    if description["version"] < 2:
        _renamed(description)
    parameters = description["parameters"]
    if parameters.get("space") is not None:
        parameters["space"] = restore(parameters["space"])
    made = _ESTIMATORS[description["class"]]
    gone = sorted(set(parameters) - set(made().get_params(deep=False)))
    if gone:
        raise ValueError(
            f"it was fitted with {', '.join(gone)}, which {made.__name__} does not have in this version; fit it again"
        )
    model = made(**parameters)
    model.n_features_in_ = int(description["features"])
    if description["feature_names"]:
        model.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    model._restore(description, arrays)
    return model
