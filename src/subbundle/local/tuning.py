"""Every tuned number of the local model, with what it scales and why it has its value."""

from __future__ import annotations

# Weights ---------------------------------------------------------------------------------------------------------

# Weight of the nearest observation below which weights are taken relative to it. In many dimensions all t = |x − p|²/a²
# share a large noise term; on the data, where the nearest weighs more than this, nothing need be searched for.
FAINT = 0.1
# Bandwidths at which the Gaussian window of a mesh ends: at 2.5 the accuracy falls by a seventh (benchmarks/meshing).
REACH = 3.5
# The same for windows over the tangent plane, where the quadric's own fall-off counts less.
TANGENTIAL_REACH = 3.0

# The quadric -----------------------------------------------------------------------------------------------------

# Weight of the belief that the cloud is flat, in observations: it keeps the fit sane where neighbours are few.
FLATNESS = 0.1
# By how much the fourth order makes a quadric bend too strongly, in (a |II|)²: 1.5 on an arc, 1 on a sphere.
SWOLLEN = 1.2
# sin² of the steepest slope of an arc that is still an arc over its tangent space.
STEEPEST = 0.9

# Standard errors -------------------------------------------------------------------------------------------------

# The bias is looked at in windows narrower by these, where it is a quarter and a sixteenth.
NARROWER = (0.7071, 0.5)
# Correlation of the bias's coefficient in one window with that in a window narrower by √2. From 0.8 to 0.95 coverage is
# the same within two clouds of a hundred (set on shapes and seeds other than those of benchmarks/local_model).
DRIFT = 0.9
# Neighbours per coefficient of a quadric below which a narrower window says nothing.
ENOUGH = 1.5

# Steps -----------------------------------------------------------------------------------------------------------

# Least divisor of Newton's step, 1 − λ/a²: noise as wide as the kernel leaves little to tell offsets from.
LEAST_SLOPE = 0.4
# Longest correction for curvature, in bandwidths: a cloud that bends by more than this within one has no quadric.
LONGEST_BEND = 0.5
# Longest mean shift of a point on the cloud, in bandwidths: on a straight border it is 0.8.
FURTHEST = 1.0
# Mean shifts longer than this, in bandwidths, should lead across the tangent space.
ASTRAY = 0.4
# In the first robust round no curvature is known yet: the cut is wider by this fraction of the bandwidth.
FIRST_CUT = 0.5
