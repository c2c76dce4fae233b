"""How far an inverse is drawn towards the local mean of the rows nearby.

Charts pass through their rows. On data that is mostly not of the dimension, their points f(z) at coordinates z have the
noise of single rows, and errors of twice its variance, where the local linear regression m(z) of the rows near z on
their coordinates has little more than the variance. The inverse is therefore

    x = m(z) + λ (f(z) − m(z)),        λ = Σ ⟨x_i − m, f − m⟩ / Σ |f − m|²,

the regression over rows x_i that are left out, a fifth at a time, with f and m at their coordinates. The number of rows
in the regression is that of the least error. λ is one unless it is below one by its standard error: charts that predict
rows are not changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from subbundle._memory import blocks
from subbundle._types import FloatArray, evenly
from subbundle.embedding.jackknife import exceeds, without_blocks
from subbundle.embedding.quality import fewest_in_fit, smoother
from subbundle.selection.tuning import FOLDS, PLACES

if TYPE_CHECKING:
    from subbundle.embedding.laid_out_atlas import LaidOutAtlas


def shrinkage(layout: LaidOutAtlas) -> tuple[int, float]:
    """Number of rows in the means, and λ."""
    origins = layout.atlas.origins
    some = evenly(len(origins), PLACES)
    rows, folds = origins[some], -(-FOLDS * len(some) // len(origins))
    most, sizes = len(origins) - -(-len(some) // folds), [fewest_in_fit(layout.rank)]
    if most < sizes[0]:
        return most, 1.0
    while 2 * sizes[-1] <= most:
        sizes.append(2 * sizes[-1])
    charts, means = np.empty(rows.shape), np.empty((len(sizes), *rows.shape))
    for held in (slice(fold, None, folds) for fold in range(folds)):
        rest = layout.without(some[held])
        places = rest.coordinates_of(rows[held])
        charts[held] = rest.blended_at(places)[0]
        for size, mean in zip(sizes, means, strict=True):
            mean[held] = local_means(rest.shifts, rest.atlas.origins, places, size)
    best = int(np.argmin([np.sum((mean - rows) ** 2) for mean in means]))
    missed, away = rows - means[best], charts - means[best]
    along, own = (without_blocks(np.sum(one * away, axis=1), len(some)) for one in (missed, away))
    factors = along / np.maximum(own, 1e-300)
    return sizes[best], float(np.clip(factors.mean(), 0.0, 1.0)) if exceeds(1.0 - factors) else 1.0


def local_means(places: FloatArray, rows: FloatArray, coordinates: FloatArray, size: int) -> FloatArray:
    """Regressions [q, D] at ``coordinates`` [q, k] of the ``size`` of ``rows`` [n, D] whose ``places`` [n, k] are
    nearest, locally linear."""
    search, found = cKDTree(places), np.empty((len(coordinates), rows.shape[1]))
    for some in blocks(len(coordinates), size * (places.shape[1] + 1)):
        distances, near = search.query(coordinates[some], k=np.arange(1, size + 1))
        # The tree returns its size where the square of a distance overflows.
        near = np.minimum(near, len(rows) - 1)
        found[some] = smoother(places[near] - coordinates[some][:, None], distances, near, len(rows)) @ rows
    return found
