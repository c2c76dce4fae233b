"""Tuned numbers of the atlas, by the file that reads them; benchmarks/tables.py checks those of linked atlases, the
tests of the atlas on spheres, tori and Möbius bands the others."""

from __future__ import annotations

# _atlas_charts: base points
# Points of the ridge that are to be covered, in large clouds: so many per patch of the area of the kernel.
SITES_PER_PATCH = 2.0
# Distance between base points as a fraction of the radius, so that each place lies in several charts; where charts
# ended early further ones lie closer by this factor in every round.
BASES_APART = 0.7

# _atlas_charts: charts
# Largest radius of a quadratic chart, in length scales: as far as the observations of one local model reach.
QUADRATIC_REACH = 3.0
# Largest radius times curvature: at 1/2 the fourth order, which the graph of a quadric leaves out, lifts the border by
# κ³ρ⁴/8 = ρ/64.
MOST_BEND = 0.5

# atlas
# Radius of a geodesic chart unless given, in length scales: noise in the bundle gathers geodesics longer than that.
GEODESIC_REACH = 8.0
# Threshold ε by default, in noise levels; and never below this fraction of the length scale.
THRESHOLD_LEVELS, LEAST_THRESHOLD = 4.0, 0.5
# Fraction of the extent of a chart beyond which a point is on its border: its weight vanishes there, so that it covers
# no site, and a vertex of a mesh may be on the border of the surface.
OUTERMOST = 0.9

# atlas_mesh
# Least distance of two vertices, in length scales, and that of the grids in the charts as a fraction of it.
VERTICES_APART, GRID_FINER = 0.5, 0.5

# base
# Distance of the places on which charts compare their orientations, in radii.
PLACES_APART = 0.1

# linked_atlas
# Contradiction between charts at which they are averaged evenly; twice as much makes the nearest count four times more.
EVEN_CONTRADICTION = 0.02

# atlas_distance, _linked_kernels
# Pairs of points on which lengths are compared.
COMPARED_PAIRS = 120
# A path has settled when no point moves by more than this fraction of a radius.
PATH_SETTLED = 2e-3
# Points of a path may go that fraction of the radius of the nearest chart from its base: beyond there is no data. Bases
# of the path are skipped while they are as near to the last one kept: fewer settle sooner.
PATH_WITHIN = 0.6
