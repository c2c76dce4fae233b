"""Records in notebooks: a small table and a plot as SVG, without any plotting package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from subbundle._types import FloatArray, count_statuses

# Side of a plot in pixels.
_SIDE = 150.0
_BLUE = "#0072b2"


def card(title: str, facts: Iterable[tuple[str, Any]], *, picture: str = "", notes: Sequence[str] = ()) -> str:
    """HTML of a table of ``facts`` (name, value) under ``title``, a ``picture`` (SVG) beside it, ``notes`` below."""
    cell = 'style="text-align:left;padding:1px 12px 1px 0"'
    rows = "".join(f"<tr><th {cell}>{escape(name)}</th><td {cell}>{escape(_shown(v))}</td></tr>" for name, v in facts)
    below = "".join(f"<p>⚠ {escape(note)}</p>" for note in notes)
    return (
        f'<div style="display:inline-block;border:1px solid #8886;border-radius:4px;padding:6px 10px">'
        f'<strong>{escape(title)}</strong><div style="display:flex;gap:16px;align-items:center">'
        f"<table>{rows}</table>{picture}</div>{below}</div>"
    )


def endings(status: Any) -> list[tuple[str, str]]:
    """Number of rows of each status [n] (or one), the most frequent first."""
    return [(message, f"{count} of {np.size(status)}") for message, count in count_statuses(status).items()]


def dots(points: Any) -> str:
    """Points [n, d] along their two leading principal axes, an even subset of them."""
    flat = _flattened(np.asarray(points, dtype=np.float64), 400)
    return _svg("".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.3"/>' for x, y in flat), f'fill="{_BLUE}"')


def strokes(curves: Any) -> str:
    """Curves [batch, n, d] (or one, [n, d]) along the two leading principal axes of all their points."""
    curves = np.asarray(curves, dtype=np.float64)
    curves = curves[None] if curves.ndim == 2 else curves
    curves = curves[:: -(-len(curves) // 40), :: -(-curves.shape[1] // 60)]
    known = np.isfinite(curves).all(axis=2)
    flat = iter(_flattened(curves.reshape(-1, curves.shape[2]), curves.shape[0] * curves.shape[1]))
    lines = [[next(flat) for _ in range(count)] for count in known.sum(axis=1)]
    text = ("".join(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in line)}"/>' for line in lines)).strip()
    return _svg(text, f'fill="none" stroke="{_BLUE}"')


def _flattened(points: FloatArray, most: int) -> FloatArray:
    """Pixel coordinates [m, 2] of an even subset of the finite ``points``."""
    points = points[np.isfinite(points).all(axis=1)]
    points = points[:: max(1, -(-len(points) // most))]
    if len(points) < 2:
        return np.full((len(points), 2), 0.5 * _SIDE)
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    flat = np.zeros((len(points), 2))
    flat[:, : len(axes)] = centred @ axes.T
    extent = float(np.abs(flat).max()) or 1.0
    return 0.5 * _SIDE + flat * [1.0, -1.0] * (0.47 * _SIDE / extent)


def _svg(inside: str, style: str) -> str:
    return f'<svg width="{_SIDE:g}" height="{_SIDE:g}" {style}>{inside}</svg>' if inside else ""


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
