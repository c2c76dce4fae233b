"""Tuned numbers of the estimators, by the file that reads them."""

from __future__ import annotations

# _prepare: components
# Most components that geodesics are integrated in, unless given by the user: the time of a step grows with the
# cube, and sparse tables (images) have hundreds.
MOST_COMPONENTS = 10

# _prepare: the bundle of a denoised cloud (benchmarks/embedding.py, benchmarks/noisy_distances.py)
# Its bandwidth, relative to the one that denoised it. On the S-surface in R^100 0.55 to 0.7 do equally well; below,
# geodesics meet and fold sooner; above, they are biased to the inside of curved regions.
NARROWER = 0.67
# Kernel mass per dimension (at least two dimensions) below which subspaces are noise even for noiseless points: with
# less mass geodesics of sparse clouds (700 points on an S) leave the support; twice the mass is no better.
MASS_PER_DIMENSION = 8.0
# Upper bound of that ratio for a chosen bandwidth: at 1.05 paths on a tight Swiss roll (turns two or three bandwidths
# apart) cut across, and distances were wrong by 27 %, at 0.9 by 0.3 %.
WIDEST = 0.9
# Kernel mass of a denoised cloud, which is subsampled to it: of 20000 points around a sphere 3000 denoised ones gave
# the same distances as all.
ENOUGH_MASS = 40.0

# _learn: the chart (benchmarks/round_trip.py)
# Components up to which a chart has its full number of geodesics; beyond, the number falls with the eighth power, as
# steps take longer and sparse data requires more of them, but not below a fraction.
COMPONENTS_OF_ALL, LEAST_OF_GEODESICS = 8, 0.12

# atlas_messages
# Fraction of unpredicted variance above which the rows are reported to have no shape of that dimension, where charts
# also have less weight than distances.
UNPREDICTED = 0.3
