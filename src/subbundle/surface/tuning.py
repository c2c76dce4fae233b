"""Every tuned number of reconstruction, with what it scales and why it has its value.

They are evaluated by benchmarks/scans, on real and synthetic scans with ground truth; `python -m benchmarks sensitivity
surface` varies each by itself on small ones. Windows are the bandwidth for normals and topology, cells those of the
grid, spacings and noise levels those of the observations.
"""

from __future__ import annotations

# Pilot estimates: pilot.py ---------------------------------------------------------------------------------------

# Steps after which a point is on the ridge.
RIDGE_STEPS = 3
# A step shorter than this, in bandwidths, is the last of a seed: the remaining distance is a twentieth of it. Errors
# are the same from 0.005 to 0.02 (benchmarks/meshing); without it a mesh of a million points takes a twelfth longer.
LAST_STEP = 0.01
# Ratio of successive bandwidths.
BANDWIDTH_GROWTH = 1.25
# Effective neighbours from which on eigenvalues are reliable, and λ_3/λ_2, without the variance of curvature, below
# which there is a surface, or λ_2/λ_1 below which there is a curve. Bodies of 8 noise levels (benchmarks/meshing).
LEAST_NEIGHBOURS, SHEET_FLATNESS = 16.0, 0.34
# The bandwidth is the larger of so many noise levels and so many spacings.
BANDWIDTH_NOISES, BANDWIDTH_SPACINGS = 1.8, 1.5
# Bandwidths of a second estimate, from more neighbours, and of the middle of walls.
SECOND_LOOK = 1.3
# Narrowest window of a robust quadric, in noise levels.
NARROWEST_NOISES = 1.2
# Residuals beyond so many noise levels have no weight in a robust quadric, and differences of heights are clipped; how
# often that cut is updated with the noise.
CUT_NOISES, CUT_ROUNDS = 4.0, 3

# Points, windows and cells: prepare.py ---------------------------------------------------------------------------

# More distinct points than this are replaced by voxel means, if these are at most such a fraction of them.
DENSE_POINTS, THINNED = 400_000, 0.8
# The window, in bandwidths of the pilot; the cells of the grid, and so the edges of the mesh, in windows and in
# spacings, below which they and voxels would hold single observations; in R^d the least distance of vertices.
WINDOW_BANDWIDTHS, CELL_WINDOWS, CELL_SPACINGS = 1.1, 0.5, 1.3
# Neighbours that surround a point of a surface: their distance gives the area of a seed, their normals are compared,
# their attributes averaged at a vertex; with fewer there is no distribution of heights, and a connected component of
# fewer seeds, none of which is surrounded, is a clump of outliers.
NEIGHBOURS = 8
# Fraction of neighbours whose normals must lie on the same side for normals to be used.
SAME_SIDE = 0.85

# Two-sided walls: walls.py ----------------------------------------------------------------------------------------

# Observations in the middle, as a fraction of those around ±p, below which there are two sheets: 0.42 in the mean where
# walls are 4 noise levels thick, 1 of a uniform distribution; their geometric mean. At 0.6 chance leaves holes.
WALL_VALLEY = 0.65

# Seeds: seeds.py, facing.py --------------------------------------------------------------------------------------

# Seeds without a flat neighbourhood are fitted again in windows narrower by this factor, and by its square.
RETRY_WINDOW = 0.7
# λ_3/λ_2 at which there is a solid body and no tangent plane, and the reliability below which a seed is dropped;
# without it narrow tunnels close.
NO_PLANE, LEAST_RELIABILITY = 0.6, 0.01
# Fraction of the typical density below which observations are outliers, at seeds, at vertices and on ridges in R^d;
# at a straight border a sheet has a half.
SUPPORT = 0.08
# Typical masses are medians over so many seeds around. With 8 the outliers of benchmarks/scans have a flap.
SURROUNDINGS = 16
# Bandwidth of the density of the fractions, as a factor up and down: an antimode raises the threshold of outliers.
# Scattered outliers need it.
VALLEY_BREADTH = 1.2
# Sides of the voxels whose means are the starting points, and of those in which one seed is kept, in cells.
START_CELLS, SEED_CELLS = 1.25, 0.94

# Orientation: orient.py ------------------------------------------------------------------------------------------

# Neighbours that vote, and how far away they may be, in cells. With 16 walls of 6 noise levels fall apart.
VOTE_NEIGHBOURS, VOTE_REACH = 10, 4.0
# |s| below which a vote has no weight, and the square of n·u at which the weight is reduced by a factor e.
VOTE_THRESHOLD, VOTE_LEAN = 0.3, 0.25
# A vote is strong when the normals agree to 35 degrees and the pair is nearly in both tangent planes; contradictions
# within so many cells are connected, and over so many a seam. At 45 degrees and 4 cells thin shells have false seams.
SEAM_AGREEMENT, SEAM_LINK, SEAM_LENGTH = 0.8, 2.0, 5.0

# Layers: layers.py -----------------------------------------------------------------------------------------------

# Widest gap between a sheet and the layer in front of it, and thickest wall, in windows.
LAYER_GAP, LAYER_WALL = 4.0, 8.0
# Mass, as a fraction of that across the gap, below which a sheet is the sparser one.
LAYER_MASS = 0.75

# The implicit function: implicit.py, screening.py ----------------------------------------------------------------

# Standard deviation, in cells, of the Gaussian that the field of normals is smoothed by: wide enough for normals that
# were estimated and oriented by votes, narrower for those of the scanner, so that thin walls stay apart. Tangent planes
# of a non-orientable surface are averaged over the first.
SMOOTH_CELLS, SMOOTH_CELLS_NORMALS = 1.5, 1.0
# Weight α of the screening term, per area in cells. At 4 a layer of seeds corrects drift within about a quarter of a
# cell; results are flat from 2 to 8.
SCREENING = 4.0

# The zero set: level_set.py, openings.py, tunnels.py ------------------------------------------------------------------

# Least width of resolved features, in windows. Narrower tubes and tunnels are cut, narrower holes filled (trimming
# leaves them where the density falls); a closed component as full of observations as a ball of that radius is a solid
# body.
RESOLVED = 2.0
# Tunnels of up to so many windows are closed if observations fill them.
FILLED_WIDTH = 5.0
# Angle between the normals at the ends of an edge, in radians, from which on it is split.
SPLIT_TURN = 0.25
# Distance from a seed up to which a vertex is seen, in cells: a window or more. No vertex is projected further, and
# observations further to the side of the mesh are outliers; narrower holes are defects of the triangulation.
SEEN_CELLS = 2.0
# Radius within which a seed is evidence: fraction of the distance to its eighth neighbour; at most so many usual ones.
SPARSE_REACH, SPARSE_MOST = 0.8, 2.0
# Largest area of a bridged patch, as a fraction of the seen area: the back of an open sheet is no opening.
LARGEST_PATCH = 0.2
# Radii, in windows, of the cylinders around the axis of a tunnel in which observations are counted: a tunnel of one to
# two windows and the noise of its walls.
TUBE_RADII = (2.0, 2.5, 3.0)

# Bandwidths: widths.py -----------------------------------------------------------------------------------------

# Steps of a vertex onto its quadric.
QUADRIC_STEPS = 2
# Ratio of successive bandwidths of the grid, and of the voxels of the pyramid, a level of which must have so many times
# fewer points than the last; and number of bandwidths.
RUNG_RATIO, RUNGS = 1.69, 5
# Allowance of the cut for terms that are not quadratic, as a fraction of the bandwidth.
MODEL_ERROR = 0.1
# Stride of the vertices at which a bandwidth, and the far side of a wall, are estimated: both are smooth over the mesh;
# and of the seeds that typical masses are taken from: adjacent ones may belong to one clump.
STRIDE = 8
# Rounds in which risks are averaged over the vertices with fits.
RISK_ROUNDS = 40
# Rounds in which curvatures, and drift and mass at a border, are averaged over the mesh: a reach of about a window.
AVERAGING_ROUNDS = 4
# Bandwidths have weights exp(−so many R/min R).
RISK_SHARPNESS = 2.0
# A negligible rotation of the normals, in radians.
LEAST_TURN = 0.05

# Projection: project.py, blend.py, pyramid.py, sides.py -----------------------------------------------

# Standard error, in cells and in typical ones, up to which a vertex is not smoothed; the first also bounds the noise
# that outliers are judged by; weight λ of smoothing. Without the first the box of benchmarks/scans loses 3 %.
SURE_CELLS, SURE_ERRORS, SOFTENING = 0.07, 2.0, 0.15
# Radius that the centre of a quadric covers, and within which its quadric has weight, in bandwidths.
COVERED_RADIUS, BLENDED_RADIUS = 0.4, 0.6
# Side of voxels whose means replace the observations, in bandwidths; variance of the observations in one, as a fraction
# of s²/12 (measured on a sphere without noise).
VOXEL_SIDE, VOXEL_SPREAD = 0.4, 0.8
# Distance from walls up to which observations are assigned to a side, in the widest bandwidths.
SIDED_REACH = 1.5

# Borders and outliers: trim.py, outliers.py ------------------------------------------------

# Mass below which a vertex is beyond the border, as a fraction of the largest around.
BORDER_MASS = 0.3
# Heights beyond so many local noise levels are outliers; local noise is the median height in voxels of so many cells.
OUTLIER_NOISES, OUTLIER_VOXEL = 5.0, 5.0

# R^d: ambient.py, reconstruct.py ------------------------------------------

# In R^d and of an atlas an opening is given by its width instead of its half-width, and enlarged for sparser vertices.
OPENING_WIDTH = 4.0 / 3.0
# Observations projected to the ridge for one patch of the area of the kernel, 2πa²: seven for a vertex.
PATCH_OBSERVATIONS = 100.0
# Lower quantile of squared distances between neighbours in directions left out, over that between any two: one for
# noise. A quarter of the neighbours suffices, since several sheets may project to one point.
UNRELATED_QUANTILE, UNRELATED = 0.25, 0.8
