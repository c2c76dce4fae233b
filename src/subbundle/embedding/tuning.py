"""Tuned numbers of the embedding, by the file that reads them; benchmarks/tables.py sets and checks them all."""

from __future__ import annotations

# table
# Nodes at most: the time of all later stages grows with them, and rows between nodes are mapped by their charts.
MOST_NODES = 4000
# Nodes in the neighbourhood that a fit averages over: more of them add no information.
NODES_PER_FIT = 30
# Radius of a chart over the largest distance of its members, or over the median of that where it is larger.
CHART_REACH = 1.5

# components
# Negligible fraction of the variance.
TRACE_OF_VARIANCE = 1e-5

# noise
# Rows of all splits together at which risks are compared: small tables are split several times, so that no single split
# decides.
ALL_QUERIES = 900
# Neighbourhoods grow by this factor; larger ones are thinned out to so many rows: the time grows with these.
FIT_GROWTH, MOST_NEIGHBORS = 1.35, 400
# Dimensions in which noise is estimated; a random projection preserves it.
SKETCH_DIMENSIONS = 40

# curves
# Fraction of the nearest rows that are near on the tour, above which rows lie along a curve: between curves and sheets.
CURVE_FRACTION = 0.77
# Rows of all starts of the tour together, of which there are at least two: a start costs their square.
TOUR_ROWS = 2400

# skeleton
# Neighbourhoods grow by this factor from 2k + 2 rows, up to so many rows or twice the first, whichever is larger.
GRAPH_GROWTH, LARGEST_GRAPH = 1.5, 30
# Power of the relative prediction error in the weight of a graph: nearly equal ones are averaged, those with short cuts
# negligible.
GRAPH_SHARPNESS = 12.0
# Entries of the table of distances from landmarks, and the fewest landmarks.
DISTANCE_TABLE, FEWEST_LANDMARKS = 300_000, 150
# Relative change at which an initial layout has converged; a final one is ten times finer.
SCALING_TOL = 1e-3

# closing
# Nodes from which all distances are taken to find a central one, where development starts.
CENTRE_PROBES = 16

# node_layout
# Residual of the charts at which they and graph distances have equal weights, and the power of the residual.
EVEN_RESIDUAL, RESIDUAL_POWER = 0.2, 4.0
# A cut must reduce the prediction error to this fraction: for closed manifolds it is 6 to 700 times smaller with a cut,
# for others smaller by at most a twentieth.
CUT_GAIN = 0.5
# Rank up to which charts are aligned by rigid motions by default, with k (k − 1)/2 rotations each: 17 s for 1000 rows
# of rank 6, 44 s of rank 8. Beyond it distances alone are used.
MOST_RIGID = 6

# rigid_layout
# Most rounds, and the relative gain of the energy below which they end.
LAYOUT_ROUNDS, LAYOUT_SETTLED = 25, 3e-4

# laid_out_atlas
# Half-width of central differences of coordinates, in radii: the atlas is smooth on the scale of its charts.
DIFFERENCE_RADII = 0.05
