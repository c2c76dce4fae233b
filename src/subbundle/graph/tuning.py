"""Every tuned number of the neighbour graph, with what it scales and why it has its value."""

from __future__ import annotations

# Edges -----------------------------------------------------------------------------------------------------------

# Sine to the smoothed frames above which an edge stands across them: 64°. Without it two short cuts fold a sheet up;
# benchmarks/tables.py is flat from .85 to .95.
ACROSS = 0.9
# Neighbours that a frame is made of, beyond twice the dimension: fewer leave it to noise, more cut bends short.
FRAME_EXTRA = 6

# Bridges ---------------------------------------------------------------------------------------------------------

# Length of a gap in spacings, distances to half of the neighbours or median steps along a curve, that uneven density
# alone does not make.
STANDS_OUT = 4.0
# Rows more than log n that an empty ball would have had to hold: accidents of less than one in e⁵ tables.
SURPRISE = 5.0
