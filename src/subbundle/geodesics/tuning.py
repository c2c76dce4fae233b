"""Numbers that several files of geodesics share, each with what it scales and why."""

from __future__ import annotations

# Landmarks that represent a cloud in graphs: half a bandwidth apart on a surface of 30 × 30 bandwidths.
MOST_LANDMARKS = 4000
# Tolerance of geodesics, relative to the bandwidth, where noise and curvature leave more undecided: a sampled
# submanifold, and a search that is still under way. It costs half the evaluations of the default.
COARSE_TOL = 1e-4
# Nodes of a fan, the nearest to a target, from which the search for it may start. One may lie on another
# sheet, beside a fold or a cut.
START_NODES = 6
