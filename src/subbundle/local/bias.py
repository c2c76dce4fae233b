"""How far off a fit is beside its noise: the bias along its own direction, and how well it is known.

In a window of bandwidth f a the quadric's height is off by b(f) = f⁴ β(f). Three things show it, each with noise of its
own: how the height changes in two narrower windows, c − c' and c − c'', and the quartic term of `deviations`. All four
heights are linear in the same observations; on a plane their correlations depend on k only. The coefficient β(f) is
N(0, ω²) and drifts: from a window to one narrower by √2 its correlation is `DRIFT`, and the quartic, which knows one
shape only, stands two such steps apart. Given ω, then, the offset b(1) + noise has a normal distribution given what was
seen, N(A y, V). ω itself is unknown: half-Cauchy, of the scale that the bias has at bandwidths near the best one and
that residuals show beyond noise, times what the three observations say, summed over a geometric grid.

In m normal directions the bias lies along one. Products of the observations then have m − 1 times their noise too much.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import NOTICEABLE
from subbundle._types import FloatArray
from subbundle.local.moments import eigh
from subbundle.local.regression import factorise
from subbundle.local.settings import COMMON
from subbundle.local.tuning import DRIFT, NARROWER

# Values of ω, from a quarter of the noise to 8 times the longest observation.
GRID, LOWEST, HIGHEST = 9, 0.25, 8.0


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
        As `columns.multiply` writes the first ones.
    lost, position, scale : [n]
        |part of the correction for curvature that was not made|²; variance of the position along one direction; scale
        of ω, over the root of ``position``.
    """
    # c − c', c − c'' and the quartic, from the heights c, c', c'' and the quartic.
    seen = np.array([[1.0, -1.0, 0.0, 0.0], [1.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    prior = prior_covariance()
    squared, along = np.empty_like(position), np.empty_like(position)
    _bias_rows(
        correlations(rank), seen, seen @ prior @ seen.T, seen @ prior[0], np.ascontiguousarray(deviations), products,
        lost, position, scale, codimension, squared, along,
    )  # fmt: skip
    known = np.isfinite(deviations[:, 1:]).any(axis=1)
    return np.where(known, squared, lost), np.where(known, along, position)


def prior_covariance() -> FloatArray:
    """Of b in the three windows and of what the quartic shows, over ω² [4, 4]."""
    steps, powers = np.arange(3), np.array([1.0, *NARROWER, 1.0]) ** 4
    prior = np.ones((4, 4))
    prior[:3, :3] = DRIFT ** np.abs(steps[:, None] - steps)
    prior[3, :3] = prior[:3, 3] = DRIFT ** (2 + steps)
    return prior * np.outer(powers, powers)


@cache
def correlations(rank: int) -> FloatArray:
    """Of the heights c, c', c'' and the quartic's bias, on an evenly sampled plane under Gaussian weights [4, 4]."""
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


@kernel
def _bias_rows(rho, seen, slopes, first, deviations, products, lost, position, scale, codimension, squared, along):
    """`bias`; ``slopes`` [3, 3] and ``first`` [3] are prior covariances of the observations and with b(1), over ω².

    In coordinates ``to`` of the observations in which their noise is the identity and ``slopes`` diagonal, with
    ``values``, they have the variances 1 + ω² ``values`` given ω.
    """
    noise, moment, prior, to = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    spare, values, mean, means = np.empty((3, 3)), np.empty(3), np.empty(3), np.empty((GRID + 1, 3))
    vectors, turned, weights = np.empty((3, 3)), np.empty((3, 3)), np.empty(GRID + 1)
    for b in range(position.size):
        longest = _observed(
            rho,
            seen,
            slopes,
            first,
            deviations[b],
            products[b],
            position[b],
            codimension,
            noise,
            moment,
            prior,
            vectors,
        )
        _diagonal(noise, prior, spare, values, to)
        _turn(to, moment, spare)
        # With the noise of the position, with the bias, with the correction that was not made.
        _product(vectors, to, turned)
        step = np.log(HIGHEST * longest / LOWEST) / (GRID - 1.0)
        ratio = np.exp(step)
        size, total, least, variance = 0.0, 0.0, 0.0, 0.0
        for i in range(3):
            least += 0.5 * moment[i, i] / (1.0 + (HIGHEST * longest) ** 2 * position[b] * values[i])
            mean[i] = 0.0
        for g in range(GRID + 1):
            share = step * size * scale[b] / (scale[b] * scale[b] + size * size)
            if g == 0:
                share = np.arctan(LOWEST / (np.sqrt(ratio) * scale[b]))
            omega, misfit, volume = size * size * position[b], 0.0, 1.0
            own = position[b] + omega
            for i in range(3):
                spread = 1.0 + omega * values[i]
                together = turned[0, i] + omega * turned[1, i]
                volume *= spread
                misfit += 0.5 * moment[i, i] / spread
                means[g, i] = together / spread
                own -= together * means[g, i]
            # Misfits fall with ω: relative to the last one no weight is too large to be a number, nor all too small.
            weights[g] = share / np.sqrt(volume) * np.exp(least - misfit)
            total += weights[g]
            variance += weights[g] * own
            for i in range(3):
                mean[i] += weights[g] * means[g, i]
            size = size * ratio if g > 0 else LOWEST
        for i in range(3):
            mean[i] /= total
        for g in range(GRID + 1):
            for i in range(3):
                means[g, i] -= mean[i]
            variance += weights[g] * max(_form(means[g], moment), 0.0)
        far = lost[b] + _form(mean, moment)
        for i in range(3):
            far -= 2.0 * mean[i] * turned[2, i]
        squared[b], along[b] = max(far, 0.0), variance / total


@kernel
def _observed(rho, seen, slopes, first, deviations, products, position, codimension, noise, moment, prior, vectors):
    """Covariance of the observations' noise, their products along one direction, their prior covariance; and with the
    noise of the position, with the bias, with the correction that was not made.

    Returns the length of the longest one in deviations of the position, at least 2.
    """
    longest, place, own = 4.0, 0, np.sqrt(position)
    for i in range(3):
        known = np.isfinite(deviations[i + 1])
        vectors[0, i], vectors[1, i], vectors[2, i] = 0.0, 0.0, 0.0
        for j in range(i, 3):
            noise[j, i] = moment[i, j] = prior[i, j] = 0.0
            if known and np.isfinite(deviations[j + 1]):
                for c in (0, i + 1):
                    for d in (0, j + 1):
                        noise[j, i] += seen[i, c] * seen[j, d] * rho[c, d] * deviations[c] * deviations[d]
                moment[i, j] = products[place] - (codimension - 1.0) * noise[j, i]
                prior[i, j] = slopes[i, j]
            moment[j, i], prior[j, i] = moment[i, j], prior[i, j]
            place += 1
        if known:
            longest = max(longest, moment[i, i] / position)
            vectors[1, i], vectors[2, i] = first[i], products[6 + i]
            for c in (0, i + 1):
                vectors[0, i] += seen[i, c] * rho[c, 0] * deviations[c] * own
        # What was not observed has some noise, and no more to do with anything.
        noise[i, i] = max((1.0 + NOTICEABLE) * noise[i, i], NOTICEABLE * position)
    return np.sqrt(longest)


@kernel
def _diagonal(noise, prior, spare, values, to):
    """Write coordinates ``to`` in which ``noise`` is the identity and ``prior`` the diagonal ``values``."""
    factorise(noise, 0.0, 3)
    for c in range(3):
        for i in range(3):
            left = 1.0 if i == c else 0.0
            for j in range(i):
                left -= noise[i, j] * to[j, c]
            to[i, c] = left / noise[i, i]
    _turn(to, prior, spare)
    eigh(prior, COMMON, values, spare)
    for i in range(3):
        for j in range(3):
            noise[i, j] = to[j, i]
            prior[i, j] = spare[j, i]
    _product(prior, noise, to)


@kernel
def _product(left, right, out):
    """Write ``left`` ``right``ᵀ."""
    for i in range(3):
        for j in range(3):
            out[i, j] = left[i, 0] * right[j, 0] + left[i, 1] * right[j, 1] + left[i, 2] * right[j, 2]


@kernel
def _turn(to, matrix, spare):
    """Make the symmetric ``matrix`` ``to`` ``matrix`` ``to``ᵀ."""
    _product(to, matrix, spare)
    _product(spare, to, matrix)


@kernel
def _form(x, matrix):
    total = 0.0
    for i in range(3):
        total += x[i] * (matrix[i, 0] * x[0] + matrix[i, 1] * x[1] + matrix[i, 2] * x[2])
    return total
