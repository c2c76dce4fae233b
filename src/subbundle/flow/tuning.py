"""Every tuned number of the flow, with what it scales and why it has its value."""

from __future__ import annotations

# dopri5 ----------------------------------------------------------------------------------------------------------

# Error per step unless given, relative to the length scale: far below what noisy data determine.
DEFAULT_TOL = 1e-6
# Length scales: distance from the border of the support at which trajectories end.
BORDER = 1e-3

# Where a row of the field takes a millisecond (``is_costly``) -------------------------------------------------------

# Steps per length scale, on average, after which a geodesic is abandoned: most take 5 to 15.
COSTLY_STEPS = 20
# Steps of all geodesics of a submanifold or an atlas together: 20 s for 60 shapes of four points.
ALL_STEPS = 2500
