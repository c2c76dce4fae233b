"""A page about one computation: input, choices and reasons, results, and how to reproduce them."""

from __future__ import annotations

import base64
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from subbundle.viewer.front import View
from subbundle.viewer.page import page_of

_PACKAGES = ("subbundle", "numpy", "scipy", "scikit-learn", "numba", "trimesh")
_STYLE = """
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
.sb-page .careful { border-left: 4px solid #d55e00; background: #fdf3ec; padding: .5rem 1rem; }
.sb-page #sb-root { height: 600px; border: 1px solid #dde1e7; border-radius: 8px; overflow: hidden; }
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """A setting: its name, the value, and the reason."""

    name: str
    value: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """Input, choices, results and warnings of a computation.

    Attributes
    ----------
    title : str
    given, found : sequence of (str, str)
        Input and results: names and values.
    chosen : sequence of Choice
    warnings : sequence of str
    figures : sequence of (str, Matplotlib figure)
    """

    title: str
    given: Sequence[tuple[str, str]]
    chosen: Sequence[Choice] = ()
    found: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    figures: Sequence[tuple[str, Any]] = field(default_factory=tuple)


def report(account: Account, view: View | None = None, *, command: str = "") -> str:
    """The page about ``account`` as one self-contained HTML document, with the interactive ``view`` inside.

    ``command`` reproduces it; the versions of the packages are added.
    """
    head = f"<h1>{escape(account.title)}</h1>" + _warnings(account.warnings)
    head += _section("Input", _rows(account.given))
    if account.chosen:
        head += _section("Choices and reasons", _rows([(c.name, c.value, c.why) for c in account.chosen]))
    if account.found:
        head += _section("Results", _rows(account.found))
    tail = "".join(_figure(title, figure) for title, figure in account.figures)
    tail = _section("Figures", tail) if tail else ""
    tail += _section("How to reproduce", (f"<pre>{escape(command)}</pre>" if command else "") + _versions())
    if view is None:
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(account.title)}</title><style>{_STYLE}</style></head>"
            f'<body class="sb-page">{head}{tail}</body></html>\n'
        )
    head += "<h2>Interactive view</h2>"
    quiet = '<p class="quiet">Click two points for the path between them; shift-drag selects.</p>'
    return page_of(
        *view.packed(), style_more=_STYLE, before=f'<div class="sb-page">{head}', after=f"{quiet}{tail}</div>"
    )


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>{body}"


def _rows(rows: Sequence[Sequence[str]]) -> str:
    def row(name: str, value: str, why: str = "") -> str:
        reason = f'<td class="why">{escape(why)}</td>' if why else ""
        return f"<tr><th>{escape(name)}</th><td>{escape(value)}</td>{reason}</tr>"

    return f"<table>{''.join(row(*entries) for entries in rows)}</table>"


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return '<p class="fine">No warnings.</p>'
    listed = "".join(f"<li>{escape(text)}</li>" for text in dict.fromkeys(warnings))
    return f'<div class="careful"><strong>Warnings</strong><ul>{listed}</ul></div>'


def _figure(title: str, figure: Any) -> str:
    from subbundle.plot import png_of

    source = base64.b64encode(png_of(figure)).decode("ascii")
    return f'<p><img alt="{escape(title)}" src="data:image/png;base64,{source}"></p>'


def _versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return f'<p class="quiet">{escape(", ".join(found))}; {escape(platform.system())} {escape(platform.machine())}</p>'
