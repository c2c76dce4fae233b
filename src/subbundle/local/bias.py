"""The bias of a fit along its own direction, and its uncertainty.

In a window of bandwidth f a the quadric's height has the bias b(f) = f⁴ β(f). Three statistics estimate it, each with
its own noise: the change of the height in two narrower windows, c − c' and c − c'', and the quartic term of
`deviations`. All four heights are linear in the same observations; on a plane their correlations depend on k only. The
coefficient β(f) is N(0, ω²) and varies with f: from a window to one narrower by √2 its correlation is `DRIFT`, and the
quartic, which is one shape only, counts as two such steps away. Given ω and the three statistics y the offset b(1) +
noise is N(A y, V). ω has a half-Cauchy prior, with the scale of the bias at bandwidths near the best one and of what
residuals show beyond noise; the posterior is summed over a geometric grid.

In m normal directions the bias lies along one. Products of the statistics then exceed theirs by m − 1 times the noise.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from subbundle._numbers import NOTICEABLE
from subbundle._types import FloatArray
from subbundle.local.tuning import DRIFT, NARROWER

# Values of ω, from a quarter of the noise to 8 times the longest statistic.
GRID, LOWEST, HIGHEST = 9, 0.25, 8.0
# c − c', c − c'' and the quartic, from the heights c, c', c'' and the quartic; the places of products of two of them.
_STATS = np.array([[1.0, -1.0, 0.0, 0.0], [1.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
_PAIRS = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])


def bias(
    rank: int, codimension: int, deviations: FloatArray, products: FloatArray, lost: FloatArray, position: FloatArray,
    scale: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """|b|² [n] of the expected bias, and the variance of the offset along it [n].

    Parameters
    ----------
    deviations : [n, 4]
        Standard deviations, along one direction, of the heights c, c', c'' and of the quartic; inf where there is none.
    products : [n, 9]
        The first ones that `deviations.multiply` writes.
    lost, position, scale : [n]
        Squared length of the correction for curvature that was not applied; variance of the position along one
        direction; scale of ω, over the root of ``position``.
    """
    known, prior = np.isfinite(deviations[:, 1:]), prior_covariance()
    squared, along = lost.copy(), position.copy()
    rows = np.flatnonzero(known.any(axis=1) & np.isfinite(position))
    known, own, position = known[rows], np.where(np.isfinite(deviations), deviations, 0.0)[rows], position[rows]
    both, rho = known[:, :, None] & known[:, None, :], correlations(rank)
    noise = np.where(both, _STATS @ (rho * own[:, :, None] * own[:, None, :]) @ _STATS.T, 0.0)
    moment = np.where(both, products[rows][:, _PAIRS] - (codimension - 1.0) * noise, 0.0)
    # Covariances of the statistics with the noise of the position and with b(1), over ω²; their products with ``lost``.
    with_noise = np.where(known, (rho[0] * own) @ _STATS.T * np.sqrt(position)[:, None], 0.0)
    with_bias = np.where(known, _STATS @ prior[0], 0.0)
    with_lost = np.where(known, products[rows, 6:9], 0.0)
    places = np.arange(3)
    longest = np.maximum(moment[:, places, places].max(axis=1) / position, 4.0)
    # Missing statistics get some noise, uncorrelated with everything else.
    least = NOTICEABLE * position[:, None]
    noise[:, places, places] = np.maximum((1.0 + NOTICEABLE) * noise[:, places, places], least)
    # In coordinates in which the noise is the identity and the prior diagonal, variances given ω are 1 + ω² values.
    white = np.linalg.inv(np.linalg.cholesky(noise))
    values, vectors = np.linalg.eigh(white @ np.where(both, _STATS @ prior @ _STATS.T, 0.0) @ white.transpose(0, 2, 1))
    white = vectors.transpose(0, 2, 1) @ white
    moment = white @ moment @ white.transpose(0, 2, 1)
    with_noise, with_bias, with_lost = ((white @ v[:, :, None])[:, :, 0] for v in (with_noise, with_bias, with_lost))
    sizes, shares = _half_cauchy(np.sqrt(longest), scale[rows])
    omega = sizes**2 * position[:, None]
    variances = 1.0 + omega[:, :, None] * values[:, None]
    together = with_noise[:, None] + omega[:, :, None] * with_bias[:, None]
    means = together / variances
    misfit = 0.5 * (moment[:, places, places][:, None] / variances).sum(axis=2)
    # Misfits fall with ω: relative to the last one weights neither overflow nor all vanish.
    weights = shares / np.sqrt(variances.prod(axis=2)) * np.exp(misfit[:, -1:] - misfit)
    weights /= weights.sum(axis=1, keepdims=True)
    mean = (weights[:, None] @ means)[:, 0]
    apart = means - mean[:, None]
    spread = np.maximum(((apart @ moment) * apart).sum(axis=2), 0.0)
    own_variance = position[:, None] + omega - (together * means).sum(axis=2)
    along[rows] = (weights * (own_variance + spread)).sum(axis=1)
    length = (((mean[:, None] @ moment)[:, 0] - 2.0 * with_lost) * mean).sum(axis=1)
    squared[rows] = np.maximum(lost[rows] + length, 0.0)
    return squared, along


def _half_cauchy(longest: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values of ω [n, GRID + 1], the first 0, in deviations of the position, and the prior's mass at each."""
    step = np.log(HIGHEST * longest / LOWEST)[:, None] / (GRID - 1.0)
    scale = scale[:, None]
    sizes = LOWEST * np.exp(step * np.arange(GRID))
    below = np.arctan(LOWEST / (np.exp(0.5 * step) * scale))
    masses = step * sizes * scale / (scale * scale + sizes * sizes)
    return np.pad(sizes, ((0, 0), (1, 0))), np.concatenate([below, masses], axis=1)


def prior_covariance() -> FloatArray:
    """Prior covariance of b in the three windows and in the quartic term, over ω² [4, 4]."""
    steps, powers = np.arange(3), np.array([1.0, *NARROWER, 1.0]) ** 4
    prior = np.ones((4, 4))
    prior[:3, :3] = DRIFT ** np.abs(steps[:, None] - steps)
    prior[3, :3] = prior[:3, 3] = DRIFT ** (2 + steps)
    return prior * np.outer(powers, powers)


@cache
def correlations(rank: int) -> FloatArray:
    """Correlations [4, 4] of c, c', c'' and the quartic's bias on an evenly sampled plane under Gaussian weights."""
    r = (np.arange(4000) + 0.5) / 4000 * (8.0 + np.sqrt(rank))
    shell = r ** (rank - 1.0)
    rows = []
    for factor in (1.0, *NARROWER):
        x = (r / factor) ** 2
        w, features = np.exp(-0.5 * x), np.stack([np.ones_like(x), x])
        inverse = np.linalg.inv((features * w * shell) @ features.T)
        rows.append(w * (inverse[0] @ features))
        if factor == 1.0:
            left = x * x - ((x * x * w * shell) @ features.T) @ inverse @ features
    rows.append(-np.exp(-0.5 * r * r) * left)
    covariances = (np.array(rows) * shell) @ np.array(rows).T
    deviations = np.sqrt(np.diagonal(covariances))
    return np.asarray(covariances / np.outer(deviations, deviations))
