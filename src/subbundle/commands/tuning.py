"""The tuned number of the commands: which notes are printed."""

from __future__ import annotations

# _learned.py: a note about a table. No benchmark sets it: the note is printed or not, results stay the same.

# Fraction of the variance in one column, of three or more, above which its units dominate the result.
DOMINANT_VARIANCE = 0.9
