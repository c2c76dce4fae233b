"""A page about one computation: input, choices and reasons, results, and how to reproduce them."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from subbundle._html import STYLE, document, picture, table, warned
from subbundle.plot import png_of
from subbundle.viewer.front import View
from subbundle.viewer.page import page_of

_PACKAGES = ("subbundle", "numpy", "scipy", "scikit-learn", "numba", "trimesh")
_SCENE = ".sb-page #sb-root { height: 600px; border: 1px solid #dde1e7; border-radius: 8px; overflow: hidden; }"


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
    head = f"<h1>{escape(account.title)}</h1>" + warned(account.warnings) + _section("Input", table(account.given))
    if account.chosen:
        head += _section("Choices and reasons", table([(c.name, c.value, c.why) for c in account.chosen]))
    if account.found:
        head += _section("Results", table(account.found))
    tail = "".join(picture(title, png_of(figure)) for title, figure in account.figures)
    tail = _section("Figures", tail) if tail else ""
    tail += _section("How to reproduce", (f"<pre>{escape(command)}</pre>" if command else "") + _versions())
    if view is None:
        return document(account.title, head + tail)
    head += "<h2>Interactive view</h2>"
    quiet = '<p class="quiet">Click two points for the path between them; shift-drag selects.</p>'
    return page_of(
        *view.packed(), style_more=STYLE + _SCENE, before=f'<div class="sb-page">{head}', after=f"{quiet}{tail}</div>"
    )


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>{body}"


def _versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return f'<p class="quiet">{escape(", ".join(found))}; {escape(platform.system())} {escape(platform.machine())}</p>'
