"""Coordinates for whole shapes, and where they can be trusted.

Three clouds go through `AtlasEmbedding`: an S-surface with a hole, which can be flattened; a spherical cap, which
cannot; and a closed band with a half turn, which has to be cut. Each picture shows the coordinates coloured by the
distance of the observations off the shape, the same coloured by the distortion of lengths, and the coordinate lines
drawn back among the observations. Run ``python examples/plot_atlas_embedding.py [folder]``.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import subbundle as sb
from subbundle.embedding_figure import draw_embedding


def s_with_a_hole(n: int = 3000) -> np.ndarray:
    """Observations around an S-surface from which an ellipse is missing."""
    data = sb.datasets.s_surface(2 * n, noise=0.025, seed=0)
    t, y = data.coordinates.T
    return data.points[np.hypot(t / 1.5, (y - 1.0) / 0.6) > 1.0][:n]


def spherical_cap(n: int = 2000) -> np.ndarray:
    """Observations around the part of the unit sphere within 1.3 of a pole."""
    rng = np.random.default_rng(0)
    height, turn = rng.uniform(np.cos(1.3), 1.0, n), rng.uniform(0.0, 2.0 * np.pi, n)
    ring = np.sqrt(1.0 - height**2)
    clean = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), height])
    return clean + 0.02 * rng.standard_normal(clean.shape)


def moebius_strip(n: int = 2500) -> np.ndarray:
    """Observations around a Möbius strip of width 1 and radius 1.5."""
    rng = np.random.default_rng(0)
    u, w = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-0.5, 0.5, n)
    ring = 1.5 + w * np.cos(0.5 * u)
    clean = np.column_stack([ring * np.cos(u), ring * np.sin(u), w * np.sin(0.5 * u)])
    return clean + 0.02 * rng.standard_normal(clean.shape)


def main(folder: Path) -> None:
    """Fit, say what was found, draw."""
    shapes = {
        "hole": (s_with_a_hole(), "rigid"),
        "cap": (spherical_cap(), "stress"),
        "moebius": (moebius_strip(), "rigid"),
    }
    for name, (points, metric) in shapes.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = sb.AtlasEmbedding(2, metric=metric).fit(points)
        print(f"{name}: residual {model.alignment_residual_:.4f}, distortion up to {model.distortion_.max():.3f}")
        for warning in said:
            print(f"  {warning.message}")
        print(f"  wrote {draw_embedding(model, points, folder / f'atlas-{name}.png')}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("."))
