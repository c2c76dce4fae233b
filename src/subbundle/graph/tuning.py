"""Every tuned number of the neighbour graph, with what it scales and why it has its value."""

from __future__ import annotations

# Edges -----------------------------------------------------------------------------------------------------------

# Sine to the smoothed frames above which an edge is dropped: 64°. Without it two short cuts fold a sheet up;
# benchmarks/tables.py is flat from .85 to .95.
ACROSS = 0.9
# Number of neighbours for a frame beyond twice the dimension: fewer increase its variance, more its bias.
FRAME_EXTRA = 6

# Bridges ---------------------------------------------------------------------------------------------------------

# Length of a gap in spacings, distances to half of the neighbours or median steps along a curve, that is not due to
# uneven density.
STANDS_OUT = 4.0
# Rows beyond log n expected in an empty ball: it occurs by chance in less than one of e⁵ tables.
LOG_SIGNIFICANCE = 5.0
