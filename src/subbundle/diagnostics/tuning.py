"""Every tuned number of diagnostics, with what it scales and why. Checked by benchmarks/integrability."""

from __future__ import annotations

# Brackets (integrability.py) -------------------------------------------------------------------------------------

# Points within the radius R, whose subspaces are fitted.
MEMBERS = 80
# Largest distance of pairs that are compared, in R. Beyond 2R they share no data.
TOGETHER = 5.0
# Non-integrability above this is no surface. Surfaces, sheets and fragments of them stay below 0.016; clouds along
# horizontal curves of the Heisenberg group start at 0.045.
NOT_A_SURFACE = 0.025

# What is reported (report.py, messages.py) -----------------------------------------------------------------------

# Fraction that is worth reporting: of the observations when they are outliers or copies, or a component (fewer copies
# are common in rounded data), and of the variance that is not in k principal components; and, of the outliers, those
# that may be expected to be none.
WORTH_NOTING = 0.01
# Fraction of the points that agree on the rank, below which it is reported as uncertain.
UNSURE = 0.7
# Standard deviation of the noise over the bandwidth, above which sheets and noise are hard to distinguish: the best
# bandwidths were at least 1.8 times as wide as the noise.
NOISY = 0.6
# Ratio of the density's 95 % to its 5 % quantile, above which one bandwidth is unsuitable.
UNEVEN = 10.0
