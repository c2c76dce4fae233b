"""Every tuned number of geodesics, with what it scales and why. Checked by benchmarks/all_pairs and noisy_distances."""

from __future__ import annotations

# The graph of landmarks (paths.py) -------------------------------------------------------------------------------

# Landmarks that represent a cloud: half a bandwidth apart on a surface of 30 × 30 bandwidths.
MOST_LANDMARKS = 4000
# Fewest of them in many dimensions, where one takes 30 ms (R^50).
FEWEST_LANDMARKS = 400
# Neighbours of a landmark for each dimension: on a noisy torus 40 in all leave zigzags of 0.7 %, 80 of 0.3 %.
LANDMARK_NEIGHBOURS = 40
# Points see each other if the ridge lies along the arc between them (arcs.py). Narrowest gap between half planes, in
# bandwidths, that arcs do not lead over: 2 Φ(−1.28) = .2 of the density is left at its middle, and in an empty ball of
# 1.8, which is due to chance at one place of 600 with four neighbours in a window. S-surfaces of 250 rows have short
# cuts at .1, sparse tori detours at .4.
GAP = 2.56
# Distance of the arc from the ridge, in bandwidths, and sine of its direction to the subspace there: half way to what
# belongs to no sheet. Without either S-surfaces of 250 rows have short cuts of a third of the length.
ON_SHEET = 0.5
# Length of a path along the ridge relative to one through the graph, from which on the difference may be zigzags.
ZIGZAG = 0.99
# Largest length of a path relative to the shortest to be taken for it: one through the graph, where zigzags differ, is
# then straightened as well, and a geodesic that `log` has found counts as the shortest.
DETOUR = 1.1
# Steps onto the ridge of landmarks, and of nodes after each step of a curve; the latter continue in the next.
RIDGE_STEPS = 3
# Entries of a matrix up to which each has a path of its own, 3 ms.
SINGLE_PATHS = 2500

# Searches (log.py, _minimise.py) ---------------------------------------------------------------------------------

# Tolerance of geodesics, relative to the bandwidth, where errors from noise and curvature are larger: a sampled
# submanifold, and the first iterations of a search. It costs half the evaluations of the default.
COARSE_TOL = 1e-4
# Residual, in length scales, above which a search has ended in a local minimum.
DOUBTFUL = 0.3

# Fans (start.py) -------------------------------------------------------------------------------------------------

# Directions for k = 2; each further dimension doubles them, as long as they are fewer than 64 for each of the
# k (k + 1)/2 coefficients of a quadratic function of them, which is from k = 6 on.
ON_A_CIRCLE, PER_COEFFICIENT = 100, 64
