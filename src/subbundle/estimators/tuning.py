"""Tuned numbers of the estimators, by the file that reads them."""

from __future__ import annotations

# _prepare: components
# Up to so many features nothing is left out: there is little to gain, and features keep their meaning.
FEW_FEATURES = 4
# Components that geodesics are followed in at most, unless the user asks for more: the time of a step grows with the
# cube, and thin tables (images) have hundreds.
MOST_COMPONENTS = 10

# _prepare: the bundle of a denoised cloud (benchmarks/embedding.py, benchmarks/noisy_distances.py)
# Its bandwidth, relative to the one that denoised it. On the S-surface in R^100 0.55 to 0.7 do equally well; below,
# geodesics meet and fold sooner, above, they cut the bends short.
NARROWER = 0.67
# Kernel mass per dimension, of which two count at least, below which subspaces are noise however clean the points: with
# fewer neighbours geodesics of thin clouds (700 points on an S) are lost on the way, with twice as many no better.
MASS_PER_DIMENSION = 8.0
# The most that neighbours may widen it to where it was chosen: at 1.05 distances on a tight Swiss roll (turns two or
# three bandwidths apart) cut across and were wrong by 27 %, at 0.9 by 0.3 %.
WIDEST = 0.9
# Kernel mass that a denoised cloud needs. Beyond it more points cost time and change nothing: on 20000 points around a
# sphere 3000 denoised ones gave the same distances as all.
ENOUGH_MASS = 40.0

# _learn: the chart (benchmarks/round_trip.py)
# Components up to which all geodesics of a chart are followed; beyond, their number falls with the eighth power, as a
# step takes longer and thin data needs more of them, but not below a fraction.
COMPONENTS_OF_ALL, LEAST_OF_GEODESICS = 8, 0.12

# atlas_messages
# Fraction of the variance that coordinates do not predict above which rows have no shape of so few dimensions, where
# charts count less than distances as well.
UNPREDICTED = 0.3
