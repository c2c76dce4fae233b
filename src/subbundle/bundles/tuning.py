"""Every tuned number of bundles and their ridges, with what it scales and why it has its value."""

from __future__ import annotations

import numpy as np

# Where a bundle is defined: principal, riemannian ------------------------------------------------------------------

# Fraction of the typical kernel mass below which a point is off the support. On a straight border the mass is 1/2, one
# bandwidth outside it 0.17, two bandwidths outside 0.02.
MIN_DENSITY = 0.05
# (λ_k − λ_{k+1})/λ_k at or below which the gap counts as closed: the force divides by it.
MIN_GAP = 1e-3
# Observations at which the typical kernel mass is estimated; its median is stable with far fewer.
SAMPLE = 512
# Steps of the mean shift that move them towards the ridge first.
SHIFTS = 3

# Points without nearby observations: ridge_project -----------------------------------------------------------------

# Factors of the bandwidth at which such a point is given neighbours, each a fifth narrower than the one before.
LADDER = 1.25 ** np.arange(6, 0, -1, dtype=np.float64)
