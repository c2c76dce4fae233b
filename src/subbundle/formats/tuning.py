"""The tuned constants of readers, which recognise columns without names (``tests/formats/test_columns.py``)."""

from __future__ import annotations

# Least fraction of unit rows for three columns to be normals, and the tolerance of the length: files have three digits.
UNIT_FRACTION, UNIT_TOLERANCE = 0.98, 0.02
