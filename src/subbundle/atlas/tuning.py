"""Tuned numbers of the atlas, by the file that reads them; benchmarks/tables.py checks those of linked atlases, the
tests of the atlas on spheres, tori and Möbius bands the others."""

from __future__ import annotations

# _atlas_charts: base points
# Distance between base points as a fraction of the radius, so that each point lies in several charts; where charts
# ended early further ones are closer by this factor in every round.
BASES_APART = 0.7

# _atlas_charts: charts
# Largest radius of a quadratic chart, in length scales: that of the observations of one local model.
QUADRATIC_REACH = 3.0
# Largest radius times curvature: at 1/2 the fourth order, which the graph of a quadric leaves out, lifts the border by
# κ³ρ⁴/8 = ρ/64.
MOST_BEND = 0.5

# atlas
# Radius of a geodesic chart unless given, in length scales: noise in the bundle focuses geodesics longer than that.
GEODESIC_REACH = 8.0
# Threshold ε by default, in noise levels; and never below this fraction of the length scale.
THRESHOLD_LEVELS, LEAST_THRESHOLD = 4.0, 0.5
# Fraction of the extent of a chart beyond which a point is at its border: the weight vanishes there, so that the chart
# does not cover a site, and a vertex of a mesh may be on the border of the surface.
OUTERMOST = 0.9

# atlas_mesh
# Least distance of two vertices, in length scales, and by the same factor the grids in the charts are finer.
VERTICES_APART = 0.5

# base
# Distance of the points at which orientations of charts are compared, in radii.
PLACES_APART = 0.1

# linked_atlas
# Disagreement between charts up to which ε is 1; at twice as much it is 1/4, and the nearest has the larger weight.
EVEN_CONTRADICTION = 0.02

# atlas_distance, _path_kernels
# Pairs of points on which lengths are compared.
COMPARED_PAIRS = 120
# A path has converged when no point moves by more than this fraction of a radius.
PATH_SETTLED = 2e-3
# Largest distance of points of a path from the nearest base, as a fraction of its radius: beyond there is no data.
# Bases of the path that near to the last one kept are skipped: fewer converge sooner.
PATH_WITHIN = 0.6
