"""Constants of floating-point arithmetic that folders share."""

from __future__ import annotations

# Relative size below which a difference of computed numbers is rounding: some fifty machine epsilons.
ROUNDING = 1e-14
# Half-width of central differences, relative to the length on which a function changes: near the cube root of the
# machine epsilon its errors, h² f‴/6 from truncation and 1e-16 f/h from rounding, are balanced.
DIFFERENCE = 1e-5
# Largest number accepted from a file: the square of a coordinate must not overflow.
LARGEST = 1e150

# Relative tolerances that several folders share. Below `NOTICEABLE`, about half of the digits, a quantity computed by
# iterations or differences is indistinguishable from zero; below `SINGULAR` a pivot, an eigenvalue or a last step is
# rounding of sums over many rows; below `EXACT` the result of single operations is rounding.
NOTICEABLE, SINGULAR, EXACT = 1e-6, 1e-10, 1e-12
# Median of the square of a standard normal number.
MEDIAN_SQUARE = 0.4549
# Most iterations: a bound that converging iterations do not reach.
MOST_ROUNDS = 100
