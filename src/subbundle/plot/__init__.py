"""Figures for print, drawn with Matplotlib.

`embedding`, `mesh`, `geodesics`, `distances`, `bandwidth` and `trust` take axes (``ax=``) or make a figure of pyplot,
which a notebook shows and ``plt.show()`` opens, and return the axes; ``axes.figure.savefig("a.pdf")`` writes them.
`EmbeddingDisplay` is the same as a display of scikit-learn. A `Scene` holds points, curves and triangles in
space and paints them from back to front; `new_figure` makes the panels it is drawn into, without pyplot, and `save_png`
writes them with 256 colours.
Matplotlib is needed only when something is drawn.
"""

from subbundle._scene import Scene, View, fit
from subbundle.plot.canvas import (
    add_scale,
    colours_of,
    draw_lines_of_bundle,
    new_figure,
    png_of,
    require_matplotlib,
    save_png,
)
from subbundle.plot.learned import EmbeddingDisplay, bandwidth, distances, embedding, trust
from subbundle.plot.palette import PALETTE
from subbundle.plot.solid import geodesics, mesh

__all__ = [
    "PALETTE",
    "EmbeddingDisplay",
    "Scene",
    "View",
    "add_scale",
    "bandwidth",
    "colours_of",
    "distances",
    "draw_lines_of_bundle",
    "embedding",
    "fit",
    "geodesics",
    "mesh",
    "new_figure",
    "png_of",
    "require_matplotlib",
    "save_png",
    "trust",
]
