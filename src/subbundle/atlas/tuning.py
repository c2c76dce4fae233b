"""Tuned numbers of the atlas, by the file that reads them; benchmarks/tables.py checks those of linked atlases, the
tests of the atlas on spheres, tori and Möbius bands the others."""

from __future__ import annotations

# _atlas_charts: base points
# Points of the ridge that are to be covered: for large clouds so many per patch of the area of the kernel, and at least
# so many.
SITES_PER_PATCH, FEWEST_SITES = 2.0, 4096
# Distance between base points as a fraction of the radius, so that each place lies in several charts; where charts
# ended early further ones lie closer by this factor in every round.
BASES_APART = 0.7
# Fraction of the sites that may stay uncovered: sharp corners and specks, where there is no chart to have.
MOST_UNCOVERED = 0.002

# _atlas_charts: charts
# Fewest geodesics of a small chart of rank 2.
FEWEST_IN_ATLAS = 24
# Largest radius of a quadratic chart, in length scales: as far as the observations of one local model reach.
QUADRATIC_REACH = 3.0
# Largest radius times curvature: at 1/2 the fourth order, which the graph of a quadric leaves out, lifts the border by
# κ³ρ⁴/8 = ρ/64.
MOST_BEND = 0.5

# atlas
# Radius of a geodesic chart unless given, in length scales: noise in the bundle gathers geodesics longer than that.
GEODESIC_REACH = 8.0
# Fraction of the ridge that may be bent more than quadratic charts are spaced for; denser ones are added there.
MOST_BENT = 0.1
# Threshold ε by default, in noise levels; and never below this fraction of the length scale.
THRESHOLD_LEVELS, LEAST_THRESHOLD = 4.0, 0.5
# Fraction of the extent of a chart up to which it covers a site: at the border its weight vanishes.
WELL_INSIDE = 0.95

# atlas_mesh
# Least distance of two vertices, in length scales, and that of the grids in the charts as a fraction of it.
VERTICES_APART, GRID_FINER = 0.5, 0.5
# Fractions of the drift on a straight border, and of the extent of a chart, from which on a point may be on the border.
DRIFTING, OUTERMOST = 0.5, 0.9

# base
# Distance of the places on which charts compare their orientations, in radii.
PLACES_APART = 0.1
# det² over the product of determinants from which on two tangent spaces count as one: 45° in one direction.
FIRMLY_ALIKE = 0.5
# Fraction of the places that both charts cover at which a contradiction counts.
MOST_OPPOSED = 0.3

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
