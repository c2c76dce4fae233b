"""The tuned numbers of the commands: which notes are printed."""

from __future__ import annotations

# _learned.py: notes about a table. No benchmark sets them: a note is printed or not, results stay the same.

# Fraction of the variance in one column, of three or more, above which its units decide nearly everything.
DOMINANT_VARIANCE = 0.9
# Fraction of rows that repeat others exactly above which they are reported: fewer are ordinary in rounded data.
REPEATED_ROWS = 0.01
