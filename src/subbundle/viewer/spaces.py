"""Where points of R^d are drawn: as they are up to three dimensions, above by their leading principal components."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from subbundle._types import FloatArray
from subbundle.viewer.rows import ENOUGH
from subbundle.viewer.scene import Panel, Quantity, Scene, in_space

_LETTERS = ("x", "y", "z")
# Numbers up to which all features are offered as colours and axes: 16-bit codes of so many are 8 MB.
_MOST_FEATURE_VALUES = 4_000_000


@dataclass(slots=True)
class Spaces:
    """One projection R^d → R³ for every d on a page, that of the first points that came."""

    axes: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    def panel(self, scene: Scene, points: FloatArray, names: tuple[str, ...], *, choose: bool) -> str:
        """Key of the panel for points like ``points`` [n, d], made when there is none; ``choose`` other axes there."""
        dim = points.shape[1]
        if dim > 3 and dim not in self.axes:
            self._learn(scene, points)
        drawn = min(max(dim, 2), 3)
        axes = names if dim <= 3 else component_names()
        shown = choose and dim > 3 and points.size <= _MOST_FEATURE_VALUES
        title = "Space" if dim <= 3 else f"R^{dim}"
        return scene.panel(
            Panel(f"space{dim}", title, drawn, axes, real=dim <= 3, choices=(*axes, *names) if shown else ())
        )

    def place(self, points: FloatArray) -> FloatArray:
        """``points`` [n, d] where they are drawn, [n, 3]."""
        if points.shape[1] <= 3:
            return in_space(points)
        mean, axes = self.axes[points.shape[1]]
        return (points - mean) @ axes

    def _learn(self, scene: Scene, points: FloatArray) -> None:
        sample = points[:: max(1, len(points) // ENOUGH)]
        mean = sample.mean(axis=0)
        _, sizes, rows = np.linalg.svd(sample - mean, full_matrices=False)
        axes = np.zeros((points.shape[1], 3))
        axes[:, : min(3, len(rows))] = rows[:3].T
        # The largest entry of each axis is positive, so that a picture does not flip between runs.
        axes *= np.where(axes[np.abs(axes).argmax(axis=0), range(3)] < 0.0, -1.0, 1.0)
        self.axes[points.shape[1]] = (mean, axes)
        held = float((sizes[:3] ** 2).sum() / max(float((sizes**2).sum()), 1e-300))
        scene.notes.append(
            f"{points.shape[1]} dimensions: the first three principal components are shown, {held:.0%} of the variance"
        )


def component_names() -> tuple[str, ...]:
    """Names of the three leading components."""
    return ("component 1", "component 2", "component 3")


def letters(dim: int) -> tuple[str, ...]:
    """x, y, z, or x1, x2, … for more coordinates."""
    return _LETTERS[:dim] if dim <= 3 else tuple(f"x{i + 1}" for i in range(dim))


def feature_quantities(points: FloatArray, placed: FloatArray, names: tuple[str, ...]) -> list[Quantity]:
    """Features of ``points`` [n, d] and the components they are drawn by, as quantities; none of very many."""
    if points.shape[1] <= 3 or points.size > _MOST_FEATURE_VALUES:
        return []
    components = [Quantity(name, placed[:, i]) for i, name in enumerate(component_names())]
    return components + [Quantity(name, points[:, i]) for i, name in enumerate(names)]
