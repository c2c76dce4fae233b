"""Interactive scenes of the gallery: every `View` that an example makes becomes a page and a frame beneath the picture.

`View.save` writes pages that stand alone, 1.4 MB each for the drawing library inside. Here the library, our modules and
the style lie beside the scenes once, as plain scripts, which browsers also load from disk; a scene is then its data.
"""

import base64
import json
import re
import warnings
from html import escape
from pathlib import Path

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst
from sphinx_gallery.sorting import FileNameSortKey

from subbundle import SubbundleWarning
from subbundle.viewer import View
from subbundle.viewer.page import library, module, style

FOLDER = Path(__file__).parents[1] / "_scenes" / "scenes"
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="viewer.css"></head>
<body><div id="sb-root"></div>
<script type="application/json" id="sb-description">{description}</script>
<script type="application/octet-stream" id="sb-data">{data}</script>
<script src="library.js"></script><script src="viewer.js"></script><script>{start}</script></body></html>
"""
# In the frame of a page there is room for the scene only; its controls are a click away.
_START = """const framed = window !== window.top;
document.documentElement.classList.toggle("framed", framed);
document.getElementById("sb-root").classList.toggle("sb-wide", framed);
startPage();"""
_STYLE = """
html, body { margin: 0; height: 100%; }
.framed .sb-report:not(:has(img)), .framed .sb-foot, .framed .sb-mode { display: none; }
@media (max-width: 760px) {
  .framed .sb-dock, .framed .sb-subtitle, .framed .sb-bar h1 { display: none; }
  .framed .sb-stage { min-height: 100%; }
}
"""
_LIBRARY = """const element = document.createElement("script");
Object.assign(element, {{ type: "application/octet-stream", id: "sb-library", textContent: "{code}" }});
document.body.append(element);
"""
_FRAME = """
.. raw:: html

    <figure class="sb-scene"><iframe src="../../scenes/{name}" title="{title}" loading="lazy"></iframe>
    <figcaption>{title}: drag to turn, click two points for the path between them.
    <a href="../../scenes/{name}">On a page of its own</a></figcaption></figure>
"""


def refuse_warnings(gallery_conf, name):
    """Before every example: one that warns without catching it must not get into the gallery."""
    warnings.filterwarnings("error", category=SubbundleWarning)


def scrape(block, block_vars, gallery_conf):
    """What this block of an example has made, as reStructuredText: figures that pyplot knows nothing of, and views."""
    names = block_vars["example_globals"]
    seen = names.setdefault("__scraped__", set())
    made = []
    for name, value in list(names.items()):
        if not isinstance(value, Figure | View) or id(value) in seen or name.startswith("_"):
            continue
        seen.add(id(value))
        if isinstance(value, View):
            file = f"{Path(block_vars['src_file']).stem.removeprefix('plot_')}-{name}.html"
            write(value, file)
            made.append(_FRAME.format(name=file, title=escape(value.scene.title)))
        elif not hasattr(value, "number"):  # which pyplot gives to its own, and those have a scraper
            path = next(block_vars["image_path_iterator"])
            value.savefig(path, dpi=100)
            made.append(figure_rst([path], gallery_conf["src_dir"]))
    return "".join(made)


def write(view: View, file: str) -> None:
    """Write the scene, and what all scenes share if it is not there."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    code = base64.b64encode(library()).decode("ascii")
    shared = {"viewer.css": style() + _STYLE, "viewer.js": module(), "library.js": _LIBRARY.format(code=code)}
    for name, text in shared.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    description, block = view.packed()
    text = json.dumps(description, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    data = base64.b64encode(block).decode("ascii")
    page = _PAGE.format(title=escape(description["title"]), description=text, data=data, start=_START)
    (FOLDER / file).write_text(page, encoding="utf-8")


def without_remote_styles(app, name, source):
    """Animations ask another server for the icons of their buttons, which the theme has."""
    source[0] = re.sub(r'<link rel="stylesheet"\s+href="https://[^"]*">', "", source[0])


def setup(app):
    """Keep what is fetched from elsewhere out of the pages of the gallery."""
    app.connect("source-read", without_remote_styles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class InOrderOfHeader(FileNameSortKey):
    """Examples in the order in which GALLERY_HEADER.rst of their folder names them; the others after, by name."""

    def __call__(self, filename):
        header = (Path(self.src_dir) / "GALLERY_HEADER.rst").read_text(encoding="utf-8")
        place = header.find(filename.removesuffix(".py"))
        return (place if place >= 0 else len(header), filename)
