"""Every tuned number of reconstruction, with what it scales and why it has its value.

They are judged by benchmarks/scans, which has real and made scans with a truth; `python -m benchmarks sensitivity
surface` varies each by itself on small ones. Windows are the bandwidth for normals and topology, cells those of the
grid, spacings and noise levels those of the observations.
"""

from __future__ import annotations

# First look at a scan: pilot.py ----------------------------------------------------------------------------------

# Steps after which a point is on the ridge.
RIDGE_STEPS = 3
# A seed takes no step after one shorter than this, in bandwidths: what is left is a twentieth of it. From 0.005 to 0.02
# the same errors (benchmarks/meshing); without it a mesh of a million points takes a twelfth longer.
LAST_STEP = 0.01
# Ratio of the bandwidths that are tried one after the other.
BANDWIDTH_GROWTH = 1.25
# Effective neighbours from which on eigenvalues mean something, and λ_3/λ_2 at which a surface is seen, or λ_2/λ_1 at
# which a curve is.
LEAST_NEIGHBOURS, SHEET_FLATNESS = 16.0, 0.34
# The same where a ratio that rises again shows that there is a second sheet: from how many neighbours on a ratio does
# not rise by chance, how low it must have been, and by how much it rises. Walls of benchmarks/scans need all three.
TROUGH_NEIGHBOURS, TROUGH_FLATNESS, TROUGH_RISE = 30.0, 0.45, 1.15
# The bandwidth is the larger of so many noise levels and so many spacings.
BANDWIDTH_NOISES, BANDWIDTH_SPACINGS = 1.8, 1.5
# Bandwidths of a second look, where more neighbours give better estimates; how many times as noisy the cloud may look
# from there before it is taken for a second sheet.
SECOND_LOOK, SECOND_SHEET = 1.3, 1.6
# Narrowest window of a robust quadric, in noise levels.
NARROWEST_NOISES = 1.2
# Residuals beyond so many noise levels have no weight in a robust quadric, and differences of heights count no more;
# how often that cut follows the noise.
CUT_NOISES, CUT_ROUNDS = 4.0, 3

# Points, windows and cells: prepare.py ---------------------------------------------------------------------------

# More distinct points than this are replaced by voxel means, if these are at most such a fraction of them.
DENSE_POINTS, THINNED = 400_000, 0.8
# The window, in bandwidths of the pilot; the cells of the grid, which are the edges of the mesh, in windows and in
# spacings, below which they and voxels would hold single observations; in R^d the least distance of vertices.
WINDOW_BANDWIDTHS, CELL_WINDOWS, CELL_SPACINGS = 1.1, 0.5, 1.3
# Neighbours that surround a place on a surface: whose distance gives the area of a seed, whose normals are compared,
# whose attributes a vertex averages; with fewer there is no distribution of heights, and a connected component of fewer
# seeds, none of which is surrounded, is a clump of outliers.
NEIGHBOURS = 8
# Fraction of neighbours whose normals must lie on the same side for normals to be used.
SAME_SIDE = 0.85

# Walls seen as one sheet: pilot.py -------------------------------------------------------------------------------

# Observations in the middle, as a fraction of those around ±p, below which there are two sheets: at 4 noise levels .35.
WALL_VALLEY = 0.6

# Seeds: seeds.py, facing.py --------------------------------------------------------------------------------------

# Seeds that see no sheet are tried again in windows narrower by this factor, and by its square.
RETRY_WINDOW = 0.7
# λ_3/λ_2 at which there is no tangent plane left, but a body, and the reliability below which a seed is dropped;
# without it narrow tunnels close.
NO_PLANE, LEAST_RELIABILITY = 0.6, 0.01
# Fraction of the typical density below which observations are outliers, at seeds, at vertices and on ridges in R^d;
# at a straight border a sheet has a half.
SUPPORT = 0.08
# What is typical is the median over so many seeds around. With 8 the outliers of benchmarks/scans have a flap.
SURROUNDINGS = 16
# Outliers may end at higher fractions where there is a valley: the factor up and down over which fractions are counted
# together. Scattered outliers need it.
VALLEY_BREADTH = 1.2
# Sides of the voxels that starts are averaged in, and of those in which one seed is kept, in cells.
START_CELLS, SEED_CELLS = 1.25, 0.94

# Orientation: orient.py ------------------------------------------------------------------------------------------

# Neighbours that vote, and how far away they may be, in cells. With 16 walls of 6 noise levels fall apart.
VOTE_NEIGHBOURS, VOTE_REACH = 10, 4.0
# |s| below which a vote counts nothing, and the square of a lean at which it has lost a factor e.
VOTE_THRESHOLD, VOTE_LEAN = 0.3, 0.25
# A vote is strong when the normals agree to 35 degrees and the pair lies flat; contradictions within so many cells hang
# together, and over so many they are a seam. At 45 degrees and 4 cells thin shells have seams where there are none.
SEAM_AGREEMENT, SEAM_LINK, SEAM_LENGTH = 0.8, 2.0, 5.0

# Layers: orient.py -----------------------------------------------------------------------------------------------

# Widest gap between a sheet and the layer before it, and thickest wall, in windows.
LAYER_GAP, LAYER_WALL = 4.0, 8.0
# Mass, as a fraction of that across the gap, below which a sheet is the sparser one.
LAYER_MASS = 0.75

# The implicit function: implicit.py, screening.py ----------------------------------------------------------------

# Standard deviation, in cells, of the Gaussian that the layer of normals is smoothed by: wide enough for normals that
# were estimated and turned by votes, narrower where the scanner gave them, so that thin walls stay apart. Tangent
# planes of a surface without sides are averaged as widely.
SMOOTH_CELLS, SMOOTH_CELLS_NORMALS = 1.5, 1.0
# How strongly seeds hold χ at zero, per area in cells. At 4 a layer of seeds pulls in about a quarter of a cell what
# the Laplacian would let drift; results are flat from 2 to 8.
SCREENING = 4.0

# The zero set: skin.py, openings.py, tunnels.py ------------------------------------------------------------------

# Windows that a thing must be wide to be resolved. Narrower tubes and tunnels are cut, narrower holes are none (the cut
# at a rim leaves them where the density falls); a closed piece as full of observations as a ball of that radius is a
# body.
RESOLVED = 2.0
# Tunnels of up to so many windows are closed if observations fill them.
FILLED_WIDTH = 5.0
# Turn of the normals along an edge, in radians, from which on it is split.
SPLIT_TURN = 0.25
# Distance from a seed up to which a vertex is seen, in cells: a window or more. Further away is another sheet, to which
# no vertex moves, and beside the mesh there is none; narrower holes, seen from their rims, are defects of triangles.
SEEN_CELLS = 2.0
# Fraction of the distance to its eighth neighbour within which a seed is evidence, in usual ones at most.
SPARSE_REACH, SPARSE_MOST = 0.8, 2.0
# Largest area of a bridged patch, in seen areas: the back of an open sheet is no opening.
LARGEST_PATCH = 0.2
# Observations along the axis of a tunnel are counted up to so many windows to the side, a radius of one to two windows
# and the noise of the walls, and as far along.
TUBE_RADII = (2.0, 2.5, 3.0)

# Bandwidths: widths.py -----------------------------------------------------------------------------------------

# Steps of a vertex onto its quadric.
QUADRIC_STEPS = 2
# Ratio of the bandwidths that are tried, and of the voxels that go with them, whose means must be so many times fewer
# to be worth having; and how many there are.
RUNG_RATIO, RUNGS = 1.69, 5
# What is not quadratic in a window, as a fraction of its bandwidth, for which the cut has room.
MODEL_ERROR = 0.1
# One vertex in so many is tried, for a bandwidth and for a far side of its wall: both are smooth over the mesh; and one
# seed in so many, for what is typical around: nearer ones may be of one clump.
STRIDE = 8
# Rounds in which risks are averaged over the vertices that were tried.
RISK_ROUNDS = 40
# Rounds in which curvatures, and drift and mass at a border, are averaged over the mesh: a reach of about a window.
AVERAGING_ROUNDS = 4
# Rungs have weights exp(−so many R/min R).
RISK_SHARPNESS = 2.0
# A turn of normals, in radians, that does not matter.
LEAST_TURN = 0.05

# Projection: project.py, blend.py, pyramid.py, sides.py -----------------------------------------------

# Standard error, in cells and in typical ones, up to which a vertex stays where it is, or its plane for outliers;
# strength of smoothing the others. Without the first the box of benchmarks/scans loses 3 %.
SURE_CELLS, SURE_ERRORS, SOFTENING = 0.07, 2.0, 0.15
# Radius that the centre of a quadric covers, and in which its quadric counts, in bandwidths.
COVERED_RADIUS, BLENDED_RADIUS = 0.4, 0.6
# Cosine between the normals of a centre and a vertex from which on they are on one sheet.
SHEET_COSINE = 0.7
# Side of voxels whose means stand for the observations, in bandwidths; spread of the observations in one, as a fraction
# of s²/12 (a sphere without noise tells).
VOXEL_SIDE, VOXEL_SPREAD = 0.4, 0.8
# How far windows are filled, in the widest bandwidths, around walls.
SIDED_REACH = 1.5

# Borders and outliers: trim.py, outliers.py ------------------------------------------------

# Mass that is beyond a border, as a fraction of the largest around.
BORDER_MASS = 0.3
# Heights beyond so many local noise levels are outliers; the noise of a place is the median height in voxels of so many
# cells.
OUTLIER_NOISES, OUTLIER_VOXEL = 5.0, 5.0

# R^d: ambient.py, reconstruct.py ------------------------------------------

# In R^d and of an atlas an opening has a width and no half-width, and is a little wider for being seen by fewer points.
OPENING_WIDTH = 4.0 / 3.0
# Observations projected to the ridge for one patch of the area of the kernel, 2πa²: seven for a vertex.
PATCH_OBSERVATIONS = 100.0
# Lower quantile of squared distances between neighbours in directions left out, over that between any two: one for
# noise. A quarter of the neighbours suffices, since several sheets may lie over one place.
UNRELATED_QUANTILE, UNRELATED = 0.25, 0.8
