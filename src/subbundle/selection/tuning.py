"""Every tuned number of selection, with what it scales and why. Benchmarks: bandwidth, local_bandwidth, rank."""

from __future__ import annotations

# Points of a cloud over which a statistic is averaged: the standard error of its mean is 6 % of the spread.
PLACES = 300
# Size of the sample that represents a cloud: means over it are accurate to a few per cent, and points have neighbours.
# Smaller clouds are taken whole. The most central point is that of all of their observations, so that it is equivariant
# under rotations; their risks come from folds, since a half has too few neighbours at the bandwidths that are best for
# the whole (350 points: error over the oracle's 1.06, with halves 1.70); they have one bandwidth.
SAMPLE = 1000

# The grid of bandwidths (ladder.py, risk.py) ----------------------------------------------------------------------

# Ratio r of the grid a_j = a_0 r^j. Risks are smooth in log a, and a parabola interpolates their minimum. Mean error
# over the oracle's on 28 clouds: 1.049 for 2^(1/4), 1.045 for 2^(1/3), 1.068 for √2.
RATIO = 2.0 ** (1.0 / 3.0)
# Lags, in steps of the grid, over which a change of bandwidth is measured.
LAGS = (2, 3)
# The grid ends at this fraction of the size of the cloud, or once the risk has risen to so many times the least.
WIDEST, RISEN = 0.2, 4.0
# Folds of small clouds.
FOLDS = 5
# Means are taken of values clipped at this quantile of their absolute values.
CLIP = 0.98
# Fraction of the queries that must be known for their mean to be.
KNOWN = 0.9
# (λ_k − λ_{k+1})/λ_k below which there is no clear dimension: where the bandwidth is 1.8 times the noise, the least
# that was ever best, it is 0.76; in the middle of pure noise 0.1 to 0.3.
FAINT_GAP = 0.4
# Fraction of the noise of the subspaces that does not cancel along a geodesic: half is what was best for geodesics of
# half the size of a cloud.
UNCANCELLED = 0.5

# A bandwidth that depends on the point (local_bandwidth.py) -------------------------------------------------------

# Fraction of a cloud over which risks of queries, and bandwidths of landmarks, are averaged; it determines the number
# of landmarks.
SURROUNDING = 1.0 / 16.0
# Largest estimated error over that of one bandwidth: the variance of a local choice is not in the estimate.
WORTH = 0.93
# Largest gradient of a bandwidth, |∇a|: within one bandwidth it then changes by this fraction of itself.
STEEPEST_WIDTH = 0.5

# Principal components (components.py) -----------------------------------------------------------------------------

# Negligible relative change of a variance, or of a squared distance between neighbours: 2.5 % of a length. Eigenvalues
# of noise exceed their theoretical edge by less. Half of the neighbours suffice where the standard error of their mean
# is below this fraction of their spread.
UNNOTICED = 0.05
# Number of features up to which no component is left out: features keep their meaning. On Swiss rolls of 700 rows in 6
# and 8 dimensions with noise the three components above it fail in 4 of 24 layouts, all in 6; with 5 to 8 features one
# chart takes a third to a half of the time with them, at errors that are the same within their spread.
FEW_FEATURES = 4

# The rank (rank.py, _growth.py) -----------------------------------------------------------------------------------

# Below this fraction of a² an eigenvalue is attributed to noise. On a straight border one of them is 0.36.
ALONG = 0.6
# Neighbours that the growth is estimated from, few enough for curvature to be negligible; twice and four times as many
# bound it too.
GROWTH_NEIGHBOURS = 10
# Loss of dimension at a border, as a fraction of k² at 2000 observations, and what chance can add.
BORDER, CHANCE_GROWTH = 1.0 / 60.0, 0.2
