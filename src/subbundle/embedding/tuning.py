"""Tuned numbers of the embedding, by the file that reads them; benchmarks/tables.py sets and checks them all."""

from __future__ import annotations

# table
# Nodes at most: the time of all that follows grows with them, and rows between nodes are placed by their charts.
MOST_NODES = 4000
# Nodes in the neighbourhood that a fit averages over: more of them hold the same information.
NODES_PER_FIT = 30
# A chart reaches that many times as far as its members, or as those of a typical one where these crowd together.
CHART_REACH = 1.5

# noise: components
# Up to so many features nothing is left out: a floor of noise cannot be seen in so few.
FEW_FEATURES = 8
# Fraction of the variance that may go in any case.
TRACE_OF_VARIANCE = 1e-5

# noise: fits
# Rows of all splits together at which risks are compared: small tables are split several times, so that no single split
# decides.
ALL_QUERIES = 900
# Neighbourhoods grow by this factor, up to so many rows: larger ones are no longer local.
FIT_GROWTH, MOST_NEIGHBORS = 1.35, 400
# Dimensions in which the evidence is looked at; a random projection of the shape shows its noise as well.
SKETCH_DIMENSIONS = 40

# curves
# Fraction of the nearest rows that are near on the tour, above which rows lie along a curve: between the two kinds.
CURVE_FRACTION = 0.77
# Rows of all starts of the tour together, of which there are at least two: a start costs their square.
TOUR_ROWS = 2400

# skeleton
# Neighbourhoods grow by this factor from 2k + 2 rows, up to the larger of the two: these, or twice the first.
GRAPH_GROWTH, LARGEST_GRAPH = 1.5, 30
# Power of the relative error of prediction in the weight of a graph: near ties are averaged, short cuts drop out.
GRAPH_SHARPNESS = 12.0
# Numbers in the table of distances from landmarks, and the fewest landmarks.
DISTANCE_TABLE, FEWEST_LANDMARKS = 300_000, 150
# Relative move at which a first layout has settled; a last one is ten times finer.
SCALING_TOL = 1e-3

# closing
# Nodes from which all distances are taken to find a central one, where unrolling begins.
CENTRE_PROBES = 16

# node_layout
# Residual of the charts at which they and graph distances weigh the same, and the power that turns one into the other.
EVEN_RESIDUAL, RESIDUAL_POWER = 0.2, 4.0
# A cut must bring the error of prediction down to this fraction: closed shapes laid out whole predict 6 to 700 times
# worse than cut ones, a cut through others gains at most a twentieth.
CUT_GAIN = 0.5
# Rank up to which charts are laid out as rigid pieces unless asked for, with k (k − 1)/2 turns each: 17 s for 1000 rows
# of rank 6, 44 s of rank 8. Beyond it the distances decide.
MOST_RIGID = 6

# rigid_layout
# Most rounds, and the relative gain of the energy below which they end.
LAYOUT_ROUNDS, LAYOUT_SETTLED = 25, 3e-4

# laid_out_atlas
# Half-width of central differences of coordinates, in radii: the atlas is smooth on the scale of its charts.
DIFFERENCE_RADII = 0.05
