"""Numbers of floating-point arithmetic that every folder shares."""

from __future__ import annotations

# Relative size below which a difference of computed numbers is rounding: some fifty machine epsilons.
ROUNDING = 1e-14
# Half-width of central differences, relative to the length on which a function changes: near the cube root of the
# machine epsilon its errors, h² f‴/6 from truncation and 1e-16 f/h from rounding, are balanced.
DIFFERENCE = 1e-5
# Numbers above this have no place in a file: the square of a coordinate must not overflow.
LARGEST = 1e150

# Relative sizes that several folders compare with. Below `NOTICEABLE`, about half of the digits, a quantity that was
# found by iterations or differences is not told from zero; below `SINGULAR` a pivot, an eigenvalue or a last step is
# rounding of sums over many rows; below `EXACT` a quantity that single operations give is.
NOTICEABLE, SINGULAR, EXACT = 1e-6, 1e-10, 1e-12
# Rounds after which an iteration that converges at all has converged: a bound, which next to nothing reaches.
MOST_ROUNDS = 100
