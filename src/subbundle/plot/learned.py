"""Plots in the plane: coordinates, their reliability, distances, and the choice of a bandwidth."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, Status
from subbundle._validation import as_real
from subbundle.plot.canvas import new_axes
from subbundle.plot.palette import GREY, INK, MARKS, MOST_CATEGORIES, PALETTE

# Points beyond which dots overlap at any size; an even subset of so many is drawn.
_MOST_POINTS = 20_000


def embedding(coordinates: Any, color: Any = None, *, label: str = "", ax: Any = None) -> Any:
    """Draw coordinates [n, k] (of k > 2 the first two), or those of a fitted estimator; return the axes.

    Parameters
    ----------
    color : [n], optional
        Numbers get a colour scale; strings and whole numbers of up to twelve values get colours, marks and a legend.
    label : str
        What ``color`` is.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np, subbundle as sb
    >>> ax = sb.plot.embedding(np.random.default_rng(0).random((50, 2)), np.arange(50.0), label="time")
    >>> ax.get_xlabel()
    'coordinate 1'
    """
    flat = _flat(getattr(coordinates, "embedding_", coordinates))
    ax = new_axes(ax)
    rows = _subset(len(flat))
    values = None if color is None else _per_row(color, len(flat))[rows]
    size = float(np.clip(9000.0 / len(rows), 2.0, 26.0))
    if values is None:
        ax.scatter(*flat[rows].T, s=size, color=PALETTE[0], linewidths=0.0)
    elif _is_category(values):
        _categories(ax, flat[rows], values, size, label)
    else:
        codes = np.unique(values, return_inverse=True)[1] if values.dtype.kind in "OUS" else values
        _numbers(ax, flat[rows], codes, size, label)
    _name_axes(ax)
    return ax


def trust(model: Any, X: Any = None, *, ax: Any = None) -> Any:
    """Draw the reliability of the coordinates of a fitted estimator; return the axes.

    Colour is the local distortion of lengths, |log| of the factor (for a `PrincipalSubmanifold` the distance to the
    shape); rows that no chart covers are hollow. ``X`` [n, n_features]: other rows than those it was fitted to.
    """
    found = model.training_quantities() if X is None else model.locate(X).as_dict()
    values, label = _doubt(found)
    flat, inside = _flat(found["coordinates"]), np.asarray(found["status"]) == Status.OK
    ax = new_axes(ax)
    rows = _subset(len(flat))
    rows, lost = rows[inside[rows]], rows[~inside[rows]]
    size = float(np.clip(9000.0 / max(len(rows), 1), 2.0, 26.0))
    _numbers(ax, flat[rows], values[rows], size, label)
    if len(lost):
        style = {"facecolors": "none", "edgecolors": GREY, "linewidths": 0.6}
        ax.scatter(*flat[lost].T, s=size, label=f"outside the charts: {len(lost)}", **style)
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, -0.12))
    _name_axes(ax)
    return ax


def distances(along: Any, straight: Any, *, ax: Any = None) -> Any:
    """Draw distances along the shape over those they are compared with; return the axes.

    ``along`` and ``straight`` are matrices of the same shape, or ``straight`` is points [n, d] among which ``along``
    [n, n] was measured. No pair lies below the diagonal when ``straight`` are Euclidean distances. Pairs without a
    path (infinite or NaN) are counted, not drawn.
    """
    along = as_real(along, "along")
    other = as_real(straight, "straight")
    if other.shape != along.shape:
        if along.ndim != 2 or along.shape[0] != along.shape[1] or other.ndim != 2 or len(other) != len(along):
            raise ValueError(
                f"straight must have the shape of along, {along.shape}, or be one point per row of it; got shape "
                f"{other.shape}."
            )
        other = np.linalg.norm(other[:, None] - other[None], axis=2)
    square = along.ndim == 2 and along.shape[0] == along.shape[1] and np.array_equal(along, along.T, equal_nan=True)
    pairs = np.triu_indices(len(along), 1) if square else tuple(np.indices(along.shape).reshape(along.ndim, -1))
    y, x = along[pairs], other[pairs]
    known = np.isfinite(x) & np.isfinite(y)
    ax = new_axes(ax)
    if known.any():
        high = float(max(x[known].max(), y[known].max()))
        ax.hexbin(x[known], y[known], gridsize=60, mincnt=1, bins="log", cmap="viridis_r", linewidths=0.2)
        ax.plot([0.0, high], [0.0, high], "--", color=INK, lw=1.0)
    if not known.all():
        ax.set_title(f"{np.count_nonzero(~known)} of {known.size} pairs without a path", fontsize=9)
    ax.set(xlabel="straight distance", ylabel="distance along the shape")
    return ax


def bandwidth(choice: Any, *, ax: Any = None) -> Any:
    """Draw the risk over the bandwidths compared (``subbundle.selection.choose_bandwidth``); return the axes.

    Also takes the `Report` of `diagnose`. The dashed line is the choice, the band the risks within 10 % of its own.
    """
    choice = getattr(choice, "bandwidth_choice", choice)
    if choice is None:
        raise ValueError(
            "the bandwidth was given, not chosen; there is no risk to draw. Diagnose with bandwidth='auto'."
        )
    known = np.isfinite(choice.risks) & (choice.risks > 0.0)
    ax = new_axes(ax)
    if known.any():
        errors = np.sqrt(choice.risks[known])
        ax.loglog(choice.ladder[known], errors, "o-", ms=4, color=PALETTE[0])
        good = choice.ladder[known][errors <= np.sqrt(1.1) * errors.min()]
        ax.axvspan(good.min(), good.max(), color=PALETTE[4], alpha=0.25, lw=0.0)
    ax.axvline(choice.bandwidth, color=PALETTE[5], ls="--", label=f"chosen: {choice.bandwidth:.3g}")
    ax.set(xlabel="bandwidth", ylabel="estimated error, root mean square")
    ax.legend(frameon=False)
    return ax


class EmbeddingDisplay:
    """A plot of coordinates that can be drawn repeatedly.

    Parameters
    ----------
    coordinates : [n, k]
    color : [n], optional
    label : str
        What ``color`` is.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn last.

    Examples
    --------
    >>> import subbundle as sb
    >>> model = sb.AtlasEmbedding(2).fit(sb.datasets.s_surface(600, noise=0.01).points)
    >>> display = sb.plot.EmbeddingDisplay.from_estimator(model)
    >>> display.ax_.get_ylabel()
    'coordinate 2'
    """

    def __init__(self, coordinates: FloatArray, color: Any = None, *, label: str = "") -> None:
        self.coordinates, self.color, self.label = coordinates, color, label

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, color: Any = None, label: str = "", ax: Any = None
    ) -> Self:
        """Draw the coordinates of the training data, or those of ``X`` [n, n_features], coloured by ``color`` [n].

        ``color`` may be the name of a quantity of each training row: ``"distortion"``,
        ``"residuals"``, ``"status"`` …
        """
        if not hasattr(estimator, "embedding_"):
            raise ValueError(f"{type(estimator).__name__} must be fitted before it is drawn; call fit first.")
        coordinates = estimator.embedding_ if X is None else estimator.transform(X)
        if isinstance(color, str):
            label = label or color
            known = sorted(
                name.removesuffix("_")
                for name, value in vars(estimator).items()
                if name.endswith("_") and np.shape(value) == (len(estimator.embedding_),)
            )
            if color not in known or X is not None:
                raise ValueError(f"color must be an array, or without X one of {', '.join(known)}; got {color!r}.")
            color = getattr(estimator, f"{color}_")
        return cls(np.asarray(coordinates), color, label=label).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw into ``ax``, or into a new figure."""
        self.ax_ = embedding(self.coordinates, self.color, label=self.label, ax=ax)
        self.figure_ = self.ax_.figure
        return self


def _flat(coordinates: Any) -> FloatArray:
    """The first two coordinates; a single one is drawn along a line."""
    array = as_real(coordinates, "coordinates")
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(f"coordinates must be a 2-D array, shape (n, k); got shape {array.shape}.")
    return array[:, :2] if array.shape[1] > 1 else np.column_stack([array[:, 0], np.zeros(len(array))])


def _subset(count: int) -> NDArray[np.intp]:
    return np.linspace(0, count - 1, min(count, _MOST_POINTS)).astype(np.intp)


def _per_row(color: Any, count: int) -> NDArray[Any]:
    values = np.asarray(color)
    if values.shape != (count,):
        raise ValueError(f"color must have one entry per row, {count}; got shape {values.shape}.")
    return values


def _is_category(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "OUSbiu" and len(np.unique(values)) <= MOST_CATEGORIES


def _categories(ax: Any, flat: FloatArray, values: NDArray[Any], size: float, label: str) -> None:
    for i, value in enumerate(np.unique(values)):
        own = values == value
        style = {"color": PALETTE[i % len(PALETTE)], "marker": MARKS[i % len(MARKS)], "linewidths": 0.0}
        ax.scatter(*flat[own].T, s=1.3 * size, label=str(value), **style)
    ax.legend(frameon=False, title=label or None, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=1.6)


def _numbers(ax: Any, flat: FloatArray, values: NDArray[Any], size: float, label: str) -> None:
    values = values.astype(np.float64)
    known = np.isfinite(values)
    low, high = np.quantile(values[known], [0.01, 0.99]) if known.any() else (0.0, 1.0)
    ax.scatter(*flat[~known].T, s=size, color=GREY, linewidths=0.0)
    drawn = ax.scatter(*flat[known].T, s=size, c=values[known], vmin=low, vmax=high, cmap="viridis", linewidths=0.0)
    cut = (values[known] < low).any(), (values[known] > high).any()
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[cut]
    # Beside a wide strip of equal scale a vertical scale would be much higher than the strip.
    place = "bottom" if np.ptp(flat[:, 0]) > 2.0 * np.ptp(flat[:, 1]) else "right"
    bar = ax.figure.colorbar(drawn, ax=ax, location=place, shrink=0.7, pad=0.02, label=label, extend=extend)
    bar.outline.set_visible(False)


def _doubt(found: dict[str, Any]) -> tuple[FloatArray, str]:
    if found.get("distortion") is not None:
        return np.asarray(found["distortion"], dtype=np.float64), "distortion of lengths, |log|"
    return np.asarray(found["residual"], dtype=np.float64), "residual: distance to the shape"


def _name_axes(ax: Any) -> None:
    ax.set_aspect("equal")
    ax.set(xlabel="coordinate 1", ylabel="coordinate 2")
