"""The tuned numbers of the commands: which notes are printed, and how finely normals vote on their signs."""

from __future__ import annotations

# _learned.py: notes about a table. No benchmark sets them: a note is printed or not, results stay the same.

# Fraction of the variance in one column, of three or more, above which its units decide nearly everything.
DOMINANT_VARIANCE = 0.9
# Fraction of rows that repeat others exactly above which they are reported: fewer are ordinary in rounded data.
REPEATED_ROWS = 0.01

# _scans.py: signs of the normals of denoised points.

# Side, in bandwidths, of the voxels in which one point votes for all: fine enough that sheets a bandwidth apart keep
# votes of their own.
VOTING_VOXEL = 0.7
