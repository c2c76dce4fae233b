"""The tuned constants of the viewer, for the distances of a page without Python and the path drawn."""

from __future__ import annotations

# measuring.py

# Relative difference between the length of a path and the distance above which the path is another one: distances of
# an atlas and of its bundle differ by less.
OTHER_WAY = 0.05

# rows.py: the graph of a page. Mean errors of its shortest paths are those of small clouds with known distances.

# Neighbours of a row. On a sphere of 2000 points with noise 0.02 paths are longer than arcs by 13 % with 6 neighbours,
# 5 % with 12 and 2 % with 24, which would double the size of the page. tests/viewer/test_pages.py bounds the error.
PAGE_NEIGHBORS = 12
