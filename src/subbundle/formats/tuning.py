"""The tuned numbers of readers: what columns without names are taken for (``tests/formats/test_columns.py``)."""

from __future__ import annotations

# Fraction of the rows that must be of unit length for three columns to be normals, and by how much lengths may differ
# from 1: files often hold three digits.
UNIT_FRACTION, UNIT_TOLERANCE = 0.98, 0.02
