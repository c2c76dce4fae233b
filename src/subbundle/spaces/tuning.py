"""The tuned numbers of spaces: those of the adapter for geomstats, whose solvers are numerical."""

from __future__ import annotations

# Rungs of a pole ladder, whose error falls with their square.
LADDER_RUNGS = 16
# Error of exp_x(log_x(y)) beyond which the log counts as undefined; numerical solvers reach about 1e-6.
ROUND_TRIP = 1e-4
