"""Checks of arguments, with one form of message: what was required, what was given, what to write instead."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from typing import Any

import numpy as np

from subbundle._types import FloatArray

# Most float64 numbers of one result (4 GiB): larger ones are taken for a mistake.
MOST_NUMBERS = 2**29


def as_points(value: Any, name: str, *, dim: int | None = None, ndim: int | None = 2) -> FloatArray:
    """Return ``value`` as a C-ordered float64 array of finite numbers, or raise.

    Parameters
    ----------
    value : array-like
        Anything NumPy can read as real numbers; float32, memory-mapped and read-only arrays included.
    name : str
        Name of the argument, for the message.
    dim : int, optional
        Required length of the last axis.
    ndim : int, optional
        Required number of axes; None allows any but zero.
    """
    array, is_name = as_real(value, name), name.isidentifier()  # not of a file
    if array.ndim == 0 or (ndim is not None and array.ndim != ndim):
        wanted = {1: "one point, shape (dim,)", 2: "a 2-D array, shape (n_points, dim)", None: "at least 1-D"}
        hint = f" For a single point write {name}[None, :]." if ndim == 2 and array.ndim == 1 and is_name else ""
        raise ValueError(f"{name} must be {wanted.get(ndim, f'{ndim}-D')}; got shape {array.shape}.{hint}")
    if dim is not None and array.shape[-1] != dim:
        matrices = array.ndim > 1 and array.shape[-1] * array.shape[-2] == dim
        hint = f" Matrices are rows of their entries: write np.reshape({name}, (-1, {dim}))." if matrices else ""
        raise ValueError(f"{name} must have {dim} coordinates per point; got shape {array.shape}.{hint}")
    finite = np.isfinite(array)
    if not finite.all():
        rows = np.unique(np.nonzero(~finite)[0])
        hint = f"Drop such rows with {name}[np.isfinite({name}).all(axis=-1)]." if is_name else "Leave such rows out."
        raise ValueError(
            f"{name} must be finite; {np.count_nonzero(~finite)} entries are NaN or infinite, first in row {rows[0]}. "
            f"{hint}"
        )
    return array


def as_batch(value: Any, name: str, dim: int) -> tuple[FloatArray, bool]:
    """Return one point [dim] or several as rows [batch, dim] of finite numbers, and whether it was one; or raise."""
    given = as_points(value, name, dim=dim, ndim=None)
    if given.ndim > 2:
        raise ValueError(f"{name} must be one point or a 2-D array of points; got shape {given.shape}.")
    return np.atleast_2d(given), given.ndim == 1


def as_real(value: Any, name: str) -> FloatArray:
    """Return ``value`` as a C-ordered float64 array of any shape, NaN and infinities allowed, or raise."""
    if np.ma.is_masked(value):
        raise ValueError(
            f"{name} must have no masked entries; {np.sum(value.mask)} are masked. "
            f"Drop such rows with np.ma.compress_rows({name})."
        )
    array = np.asarray(readable(value, name))
    if array.dtype.kind not in "fiub":
        hint = f"np.asarray({name}, dtype=float) after removing what is not a number"
        if array.dtype.kind == "c":
            hint = "the real and imaginary parts as separate columns"
        raise TypeError(f"{name} must hold real numbers; got an array of dtype {array.dtype}. Pass {hint}.")
    return np.asarray(array, dtype=np.float64, order="C")


def readable(value: Any, name: str) -> Any:
    """Return ``value`` if NumPy can read it as one array, or raise: the first check of every function and estimator.

    Lists are returned as arrays; tables with named columns are returned unchanged.
    """
    kind = type(value).__name__
    got = f"got {'an' if kind[0] in 'aeiou' else 'a'} {kind}."
    what = f"{name} must be an array of numbers, one row per observation; {got}"
    if isinstance(value, Mapping) and not hasattr(value, "tocsr"):  # one kind of sparse matrix is a dictionary
        raise TypeError(f"{what} Write np.column_stack(list({name}.values())) if its values are columns.")
    if isinstance(value, Iterator | Set):
        raise TypeError(f"{what} Write np.array(list({name})).")
    if isinstance(value, str | bytes):
        raise TypeError(f"{what} Read the file first: np.loadtxt({value!r:.60}).")
    try:
        value = np.asarray(value) if isinstance(value, list | tuple) else value
    except ValueError:
        raise ValueError(f"{name} must be an array; got rows of unequal length. Make all equally long.") from None
    return value


def tabular(value: Any, name: str) -> Any:
    """`readable` for tables that scikit-learn converts: entries other than numbers, or text of numbers, are refused."""
    value = readable(value, name)
    framed = hasattr(value, "iloc") and hasattr(value, "columns")
    if not framed and getattr(getattr(value, "dtype", None), "kind", "-") not in "USO":
        return value
    columns = value.items() if hasattr(value, "iloc") else enumerate(np.atleast_2d(np.asarray(value).T))
    refused = {label: entry for label, column in columns for entry in _no_number(column)}
    if refused:
        labels, entry = list(refused)[:5], next(iter(refused.values()))
        without = f"{name}.drop(columns={labels})" if framed else f"np.delete({name}, {labels}, axis=1)"
        days = [way for label, found in refused.items() for way in _as_days(name, label, found, framed)]
        encoded = f"encode them first{f', pd.get_dummies({name})' if framed else ''}"
        ways = "; ".join([encoded] * (len(days) < len(refused)) + days[:1])
        # scikit-learn's wording for entries that are neither text nor number.
        what = f"{entry!r:.60}" + ("" if isinstance(entry, str) else ", where an argument must be a string or a number")
        raise (ValueError if isinstance(entry, str) else TypeError)(
            f"{name} must hold numbers in every column; {len(refused)} of {value.shape[-1]} do not, such as "
            f"{labels[0]!r} with {what}. Leave them out, {without}, or {ways}."
        )
    return value


def _as_days(name: str, label: Any, entry: Any, framed: bool) -> Iterator[str]:
    """How a column of dates such as ``entry`` becomes one of numbers, if it is a date."""
    with suppress(ValueError):
        datetime.fromisoformat(str(entry))
        column = f"{name}[{label!r}]" if framed else f"{name}[:, {label}]"
        dates, kind, day = f"pd.to_datetime({column})", "pd.Timestamp", "pd.Timedelta(days=1)"
        if not framed:
            dates, kind, day = f"{column}.astype('M8[s]')", "np.datetime64", "np.timedelta64(1, 'D')"
        yield f"count days from a fixed date on: {column} = ({dates} - {kind}({str(entry)!r})) / {day}"


def _no_number(column: Any) -> Iterator[Any]:
    """The first entry of ``column`` that is no number and does not read as one, if there is one."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "fiubc":  # complex numbers scikit-learn refuses itself
        return
    entries = np.asarray(column).ravel()
    for entry in entries if kind in "OUS" else entries[:1].astype(str):
        try:
            float(np.nan if entry is None else entry)
        except (TypeError, ValueError):
            yield str(entry) if isinstance(entry, str) else entry
            return


def as_bundle(value: Any) -> Any:
    """Return ``value`` if it has the members of the protocol `Subbundle`, or raise."""
    wanted = ("ambient_dim", "rank", "length_scale", "is_costly", "frame", "field")
    missing = [name for name in wanted if not hasattr(value, name)]
    if missing or isinstance(value, type):
        lacks = f", which has no {', '.join(missing)}" if 0 < len(missing) < len(wanted) else ""
        raise TypeError(
            "bundle must be a subbundle, such as sb.PrincipalSubbundle(points, rank, bandwidth); "
            f"got {value!r:.80}{lacks}."
        )
    return value


def check_room(numbers: float, what: str, hint: str) -> None:
    """Raise a MemoryError, before anything is allocated, if a result has more than `MOST_NUMBERS` ``numbers``."""
    if not numbers <= MOST_NUMBERS:
        raise MemoryError(
            f"{what} would hold {numbers:.3g} numbers, {8 * numbers / 2**30:.3g} GiB; at most {MOST_NUMBERS:.3g} are "
            f"allowed. {hint}"
        )


def as_integer(value: Any, name: str, *, low: int, high: int | None = None, why: str = "") -> int:
    """Return ``value`` as an int in ``low..high``, or raise."""
    wanted = f"an integer >= {low}" if high is None else f"an integer in {low}..{high}"
    reason = f" ({why})" if why else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be {wanted}{reason}; got {value!r}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be {wanted}{reason}; got {number}.")
    return number


def as_positive(value: Any, name: str, *, hint: str = "") -> float:
    """Return ``value`` as a positive, finite float, or raise."""
    return _as_number(value, name, ("a positive number", "positive and finite"), hint, zero=False)


def as_nonnegative(value: Any, name: str, *, hint: str = "") -> float:
    """Return ``value`` as a finite float, 0 or more, or raise."""
    return _as_number(value, name, ("0 or a positive number", "0 or a positive number"), hint, zero=True)


def _as_number(value: Any, name: str, wanted: tuple[str, str], hint: str, *, zero: bool) -> float:
    """``wanted``: what a value of another type, and a number out of range, must be instead."""
    hint = " " + hint if hint else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {wanted[0]}; got {value!r}.{hint}")
    number = float(value)
    if not np.isfinite(number) or number < 0.0 or (number == 0.0 and not zero):
        raise ValueError(f"{name} must be {wanted[1]}; got {number!r}.{hint}")
    return number


def as_flag(value: Any, name: str) -> bool:
    """True or False, or 1 or 0."""
    if not isinstance(value, bool | np.bool_ | int):
        raise TypeError(f"{name} must be True or False; got {value!r:.80}.")
    return bool(value)


def as_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise with the list."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}.")
    return str(value)


def needed(module: str, extra: str = "dask", what: str = "this") -> Any:
    """The optional ``module``, or an error that names the extra of this package that has it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise not_installed(module.partition(".")[0].replace("_", "-"), extra, what) from error


def not_installed(name: str, extra: str, what: str) -> ImportError:
    """The error where ``what`` needs the package ``name``, which the ``extra`` of this package has."""
    return ImportError(f'{what} needs {name}, which is not installed. Write: pip install "subbundle[{extra}]"')
