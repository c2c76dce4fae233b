"""Every tuned number of the local model, with what it scales and why it has its value."""

from __future__ import annotations

import numpy as np

# Weights: gather, windows, and the reach of fits -------------------------------------------------------------

# Weight of the nearest observation below which weights are taken relative to it. In many dimensions all t = |x − p|²/a²
# share a large noise term; on the data, where a weight exceeds this, no search for the nearest is needed.
FAINT = 0.1
# Fraction of a Gaussian window's mass that fits leave out: 3.55 bandwidths for surfaces. It moves the ridge by a few
# thousandths of the bandwidth and saves half of the time or more; at 2.5 bandwidths the accuracy of meshes falls by a
# seventh (benchmarks/meshing).
LEFT_OUT = 2e-3
# Bandwidths at which robust windows over the tangent plane are cut.
TANGENTIAL_REACH = 3.0

# The quadric: regression, tangential -------------------------------------------------------------------------------

# Weight of the prior that the cloud is flat, in observations: it regularises the fit where neighbours are few.
FLATNESS = 0.1

# Standard errors: bias, standard_errors ----------------------------------------------------------------------------

# The bias is estimated from windows narrower by these, where it is a quarter and a sixteenth.
NARROWER = (0.7071, 0.5)
# Correlation of the bias's coefficient in one window with that in a window narrower by √2. From 0.8 to 0.95 coverage is
# the same within two clouds of a hundred (set on shapes and seeds other than those of benchmarks/local_model).
DRIFT = 0.9
# Neighbours per coefficient of a quadric below which a narrower window is not used.
ENOUGH = 1.5

# Steps: steps, standard_errors -------------------------------------------------------------------------------------

# Least slope 1 − v/a² of a window of bandwidth a on noise of variance v: divisor of Newton's step, and of the noise
# that is estimated. Under noise as wide as the kernel the slope, and with it the information on offsets, vanishes.
LEAST_SLOPE = 0.4
# Largest deviation from the tangent space within a bandwidth, in bandwidths, that a quadric describes. It bounds the
# correction for curvature, and widens the cut of the first robust round, which has no estimate of curvature yet.
LONGEST_BEND = 0.5

# Fits to nearest neighbours: neighbor_fits -------------------------------------------------------------------------

# Neighbours of a fit, per coefficient.
PER_COEFFICIENT = 2
# Penalties on quadratic features of size one: from next to none to the plane.
PENALTIES = np.array([1e-3, 1e-2, 1e-1, 1.0, 1e6])
# Neighbours of a fit up to which the penalty is chosen at every node (rank 10). Beyond, since time grows with their
# third power, it is chosen at fewer; beyond twice as many (from rank 15 on) a thousand quadrics take half a minute and
# more neighbours each than tables have, and planes are fitted.
LARGE_FIT = 132
# Radius r of the weight 1 − (d/r)² of neighbours over the distance of the outermost, whose weight stays positive. At
# 1.04, where the next of a dozen would be, errors on sheets and curves without noise are larger.
RIM = 1.02
