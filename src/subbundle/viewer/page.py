"""One self-contained HTML page: the modules, the drawing library of the installed package, and the data.

Its content security policy forbids loading anything else.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from functools import cache
from html import escape
from importlib import resources, util
from pathlib import Path
from typing import Any

from subbundle._validation import not_installed

_IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./([\w-]+\.js)";\n', re.MULTILINE)
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' blob:; \
style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src {connect}; worker-src blob:">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style></head>
<body>{before}<div id="sb-root"></div>{after}
<script type="application/json" id="sb-description">{description}</script>
<script type="application/octet-stream" id="sb-data">{data}</script>
<script type="application/octet-stream" id="sb-library">{library}</script>
<script type="module">{code}
startPage();
</script></body></html>
"""


_WHOLE_PAGE = "html, body { margin: 0; height: 100%; }"


def page_of(
    description: dict[str, Any], block: bytes, *, style_more: str = "", before: str = "", after: str = ""
) -> str:
    """The page for a description and its gzipped block, both from `packing.pack`; HTML ``before`` and ``after`` it."""
    # "<" cannot end the element early when written as an escape, which JSON allows inside strings.
    text = json.dumps(description, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return _PAGE.format(
        title=escape(description["title"]),
        connect="'self'" if description["address"] else "'none'",
        style=style() + (style_more or _WHOLE_PAGE),
        before=before,
        after=after,
        description=text,
        data=base64.b64encode(block).decode("ascii"),
        library=base64.b64encode(library()).decode("ascii"),
        code=module(),
    )


@cache
def library() -> bytes:
    """The gzipped code of three.js as the installed package ``k3d`` ships it."""
    found = util.find_spec("k3d")  # not imported: that takes a second
    path = Path(found.origin).parent / "static" / "standalone.js" if found and found.origin else None
    if path is None or not path.is_file():
        raise not_installed("k3d 3.2 or later", "view", "the viewer")
    return gzip.compress(path.read_bytes(), compresslevel=9, mtime=0)


@cache
def style() -> str:
    """The style sheet."""
    return (resources.files("subbundle.viewer") / "static" / "style.css").read_text(encoding="utf-8")


@cache
def module() -> str:
    """The modules as one, imported ones first; it defines `startPage` and `startWidget`."""
    folder = resources.files("subbundle.viewer") / "static"
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = (folder / name).read_text(encoding="utf-8")
        for needed in _IMPORT.findall(text):
            add(needed)
        done[name] = re.sub(r"^export ", "", _IMPORT.sub("", text), flags=re.MULTILINE)

    add("boot.js")
    return "\n".join(f"// {name}\n{text}" for name, text in done.items())
