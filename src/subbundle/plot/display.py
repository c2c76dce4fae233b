"""`EmbeddingDisplay`: the coordinates of a fitted estimator in the manner of scikit-learn's displays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from subbundle._types import FloatArray
from subbundle.plot.learned import embedding


class EmbeddingDisplay:
    """A plot of coordinates that can be drawn again elsewhere.

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

        ``color`` may be the name of something that the estimator knows of each training row: ``"distortion"``,
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
        """Draw into ``ax``, or into a figure of its own."""
        self.ax_ = embedding(self.coordinates, self.color, label=self.label, ax=ax)
        self.figure_ = self.ax_.figure
        return self
