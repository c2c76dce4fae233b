"""The numbers behind the choice of bandwidths, each with its reason. Benchmarks: `bandwidth`, `local_bandwidth`."""

from __future__ import annotations

# Places at which a statistic of the whole cloud is taken: 7 % of the spread between places is left in its mean.
PLACES = 200
# --- ladder of bandwidths
# Rungs a_j = a_0 r^j. Risks are smooth in log a, and a parabola finds their bottom between rungs. Mean error over the
# oracle's on 28 clouds: 1.049 for 2^(1/4), 1.045 for 2^(1/3), 1.068 for √2.
RATIO = 2.0 ** (1.0 / 3.0)
# Rungs back to which a change of bandwidth is measured.
LAGS = (2, 3)
# The ladder ends at this fraction of the size of the cloud,
WIDEST = 0.2
# or once the risk has risen to so many times the least, though not before so many rungs,
RISEN, LEAST_RUNGS = 4.0, 5
# in this fraction of the pools.
MOST_POOLS = 0.95

# --- what is compared
# With fewer observations two halves say nothing of each other; with fewer than `FEW_POINTS`, neighbourhoods do not.
LEAST_POINTS = 100
# Queries for a shape of codimension one. A query in codimension m gives m values at once, though of one place:
# √m times fewer do, but not fewer than the least.
QUERIES, LEAST_QUERIES = 400, 64
# Smaller clouds are compared in folds instead of halves: a half has too few neighbours at the bandwidths that are best
# for the whole.
FEW_POINTS, FOLDS = 1000, 5
# Steps of a walk onto the ridge, and its tolerance in bandwidths: what is left is far below the noise of a half.
STEPS, TOL = 6, 1e-2
# Neighbours beyond which half of each half will do.
PLENTY = 400.0

# --- what can be believed
# With fewer effective neighbours than `ENOUGH` per coefficient of the quadric points stay where they start, and all
# parts agree on a place that is wrong. Small clouds give at most this fraction of a part.
MOST_OF_PART = 0.2
# Bandwidth over the noise, at least, for the same reason. Best bandwidths were seen between 1.8 and 19.
OVER_NOISE = 1.3
# Means are taken of values clipped at this quantile of their size: outliers count, but not without bound.
CLIP = 0.98
# Fraction of the queries that must be known for their mean to be: of a whole cloud, and around a landmark.
KNOWN, KNOWN_LOCALLY = 0.9, 0.8
# A risk within this factor of the least is as good as the least.
AS_GOOD = 1.1

# --- geodesics: length relative to the size of the cloud, and the fraction of the noise of the subspaces that does not
# cancel along the way. Half is what was best for geodesics of half the size of a cloud; a quarter to one change little.
LENGTH, UNCANCELLED = 0.4, 0.5

# --- places: queries in all and landmarks; queries around a landmark, as a fraction of all and at least
QUERIES_LOCALLY, LANDMARKS = 1000, 125
AROUND, LEAST_AROUND = 0.08, 50
# Estimated error over that of one bandwidth, at most: the risk of choosing more than one is not in the estimate.
WORTH = 0.93
# Spread of the bandwidths, at least: below, they are the noise of choosing.
LEAST_SPREAD = 1.35
