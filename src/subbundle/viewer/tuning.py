"""The tuned numbers of the viewer. They decide what a page measures on its own, and which path it draws."""

from __future__ import annotations

# measuring.py

# Relative difference between the length of a path and the distance above which the path leads another way: distances
# of an atlas and of its bundle differ by less.
OTHER_WAY = 0.05

# rows.py: the graph of a page. Both are checked by tests/viewer/test_scenes.py against distances on known surfaces.

# Neighbours of a row: shortest paths are then longer than geodesics by a few per cent.
PAGE_NEIGHBORS = 12
# Coordinates above which neighbours are searched among the leading components, which keep the distances that matter.
PAGE_COMPONENTS = 16
