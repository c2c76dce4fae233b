"""HTML: records in notebooks, a small table and a plot as SVG; and the parts of pages about a computation."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from subbundle._types import FloatArray, count_statuses

# Side of a plot in pixels.
_SIDE = 150.0
_BLUE = "#0072b2"
STYLE = """
.sb-page { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; color: #2b2f36; max-width: 68rem; }
.sb-page { margin: 0 auto; padding: 2rem 1.25rem 4rem; }
.sb-page > h1 { font-size: 1.75rem; margin: 0 0 .2rem; }
.sb-page > h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
.sb-page > table { border-collapse: collapse; }
.sb-page > table th { text-align: left; font-weight: 600; padding: .18rem 2rem .18rem 0; vertical-align: top; }
.sb-page > table td { padding: .18rem 1.5rem .18rem 0; vertical-align: top; overflow-wrap: anywhere; }
.sb-page .why { color: #626a76; }
.sb-page p img { max-width: 100%; }
.sb-page pre { background: #f2f4f7; padding: .8rem 1rem; border-radius: 8px; overflow-x: auto; font-size: .88rem; }
.sb-page li { margin: .35rem 0; }
.sb-page .fine { color: #1d6b3a; }
.sb-page .quiet { color: #626a76; font-size: .9rem; }
.sb-page .careful { border-left: 4px solid #d55e00; background: #fdf3ec; padding: .5rem 1rem; margin: 0 0 1rem; }
"""


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


def document(title: str, body: str) -> str:
    """A self-contained page."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<style>{STYLE}</style></head><body class="sb-page">{body}</body></html>\n'
    )


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of a name, a value, and perhaps the reason for it."""

    def row(name: str, value: str, why: str = "") -> str:
        reason = f'<td class="why">{escape(why)}</td>' if why else ""
        return f"<tr><th>{escape(name)}</th><td>{escape(value)}</td>{reason}</tr>"

    return f"<table>{''.join(row(*entries) for entries in rows)}</table>"


def warned(warnings: Iterable[str]) -> str:
    """A box of warnings, each once, or a line that there are none."""
    listed = "".join(f"<li>{escape(text)}</li>" for text in dict.fromkeys(warnings))
    if not listed:
        return '<p class="fine">No warnings.</p>'
    return f'<div class="careful"><strong>Warnings</strong><ul>{listed}</ul></div>'


def picture(title: str, png: bytes) -> str:
    """An image inside the page."""
    source = base64.b64encode(png).decode("ascii")
    return f'<p><img alt="{escape(title)}" src="data:image/png;base64,{source}"></p>'
