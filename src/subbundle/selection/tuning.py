"""Every tuned number of selection, with what it scales and why. Benchmarks: bandwidth, local_bandwidth, rank."""

from __future__ import annotations

# Places of a cloud over which a statistic is averaged: 6 % of the spread between places is left in its mean.
PLACES = 300
# Observations that stand for a cloud: means over them settle to a few per cent, and places have others around them.
# Clouds of fewer are small and taken whole. All of theirs are compared with for the most central one, so that it stays
# the same when the cloud is turned; their risks come from folds, since a half has too few neighbours at the bandwidths
# that are best for the whole (350 points: error over the oracle's 1.06, with halves 1.70); they have one bandwidth.
SAMPLE = 1000

# The ladder of bandwidths (ladder.py, risk.py) --------------------------------------------------------------------

# Rungs a_j = a_0 r^j. Risks are smooth in log a, and a parabola finds their minimum between rungs. Mean error over the
# oracle's on 28 clouds: 1.049 for 2^(1/4), 1.045 for 2^(1/3), 1.068 for √2.
RATIO = 2.0 ** (1.0 / 3.0)
# Rungs back to which a change of bandwidth is measured.
LAGS = (2, 3)
# The ladder ends at this fraction of the size of the cloud, or once the risk has risen to so many times the least.
WIDEST, RISEN = 0.2, 4.0
# With fewer observations a risk cannot be estimated; and the folds of small clouds.
LEAST_POINTS, FOLDS = 100, 5
# Means are taken of values clipped at this quantile of their size: outliers count, but not without bound.
CLIP = 0.98
# Fraction of the queries that must be known for their mean to be.
KNOWN = 0.9
# (λ_k − λ_{k+1})/λ_k below which neighbours are too round for a shape: where the bandwidth is 1.8 times the noise, the
# least that was ever best, it is 0.76; in the middle of pure noise 0.1 to 0.3.
FAINT_GAP = 0.4
# Fraction of the noise of the subspaces that does not cancel along a geodesic: half is what was best for geodesics of
# half the size of a cloud.
UNCANCELLED = 0.5

# A bandwidth for every place (local_bandwidth.py) -----------------------------------------------------------------

# Fraction of a cloud around a place that has one bandwidth: risks of the queries in it are averaged, and bandwidths of
# the landmarks in it, of which there are as many as that takes.
SURROUNDING = 1.0 / 16.0
# Estimated error over that of one bandwidth, at most: the risk of choosing more than one is not in the estimate.
WORTH = 0.93
# Steepest that a bandwidth should be, |∇a|: within one bandwidth it then changes by this fraction of itself.
STEEPEST_WIDTH = 0.5

# Principal components (components.py) -----------------------------------------------------------------------------

# Relative change of a variance, or of a squared distance between neighbours, that goes unnoticed: 2.5 % of a length.
# Eigenvalues of noise exceed the edge that they have in theory by less. Neighbours are plenty where the standard error
# of their mean is this fraction of their spread.
UNNOTICED = 0.05

# The rank (rank.py, _growth.py) -----------------------------------------------------------------------------------

# Below this fraction of a² an eigenvalue is attributed to noise. On a straight border one of them is 0.36.
ALONG = 0.6
# Neighbours that the growth is taken from, few enough to lie flat; twice and four times as many bound it too.
GROWTH_NEIGHBOURS = 10
# Loss of dimension at a border, as a fraction of k² at 2000 observations, and what chance can add.
BORDER, CHANCE_GROWTH = 1.0 / 60.0, 0.2
