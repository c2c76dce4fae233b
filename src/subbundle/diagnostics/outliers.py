"""Which observations are outliers, from the distribution of the distances of all.

At a border and in a corner an observation is projected to where the cloud is denser, some way along the ridge; as far
as its local model reaches, the distance s is that from the quadric fitted there. Distances have no fixed distribution:
noise varies over the cloud and may have heavy tails, and the ridge lies beside the shape where this bends more than the
bandwidth resolves. Over m normal directions these are mixtures of Gaussians of several widths. With the
widths of Student's distribution

    s² / (m σ²) ~ F(m, ν),

ν infinite for one width, 1 for Cauchy's law. Outliers hardly move the lower three quarters of the distances: σ has the
median of s², and ν the ratio of its upper quartile to its median. An observation that is no outlier lies as far away
with the probability P(F ≥ s²/(m σ²)); one without a ridge has 0. Of n sorted probabilities the first i are outliers
where the i-th is at most q i/n, for the largest such i: the expected share of others among them is at most q (Benjamini
and Hochberg, 1995).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import fdtrc, fdtri

from subbundle._types import FloatArray
from subbundle.atlas.tuning import QUADRATIC_REACH
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import Ridge
from subbundle.diagnostics.tuning import WORTH_NOTING

# log ν is sought between: tails too heavy for any outlier, and those of a Gaussian.
_LOG_FREEDOM = (-2.0, 14.0)


def distances_across(bundle: PrincipalSubbundle, points: FloatArray, ridge: Ridge) -> FloatArray:
    """Distances |x − p − τ − ½ II(τ, τ)| [n] of ``points`` x [n, d] with projections p to the ``ridge`` of ``bundle``,
    τ the tangential part of x − p; |x − p| where τ is longer than the local model reaches."""
    offsets = points - ridge.points
    tau = np.einsum("nda,nd->na", ridge.tangents, offsets)
    bend = 0.5 * np.einsum("nabd,na,nb->nd", ridge.second_form, tau, tau, optimize=True)
    across = np.linalg.norm(offsets - np.einsum("nda,na->nd", ridge.tangents, tau) - bend, axis=1)
    near = np.linalg.norm(tau, axis=1) <= QUADRATIC_REACH * bundle.bandwidth
    return np.where(near, across, ridge.shifts)


def outlying(distances: FloatArray, normals: int, n_lost: int) -> tuple[float, float]:
    """The fraction of outliers among observations at ``distances`` [n] from the ridge along ``normals`` directions and
    ``n_lost`` without one, and the least distance of an outlier; infinite where there is none.

    Of the outliers at most the fraction `WORTH_NOTING` is expected to be none.
    """
    middle, upper = np.quantile(distances**2, [0.5, 0.75])
    far = np.ones(len(distances))
    if middle > 0.0:
        freedom = _freedom(normals, float(np.log(upper / middle)))
        far = fdtrc(normals, freedom, distances**2 * (fdtri(normals, freedom, 0.5) / middle))
    probabilities = np.sort(np.concatenate([np.zeros(n_lost), far]))
    count = len(probabilities)
    held = np.flatnonzero(probabilities <= WORTH_NOTING * np.arange(1, count + 1) / count)
    found = int(held[-1]) + 1 if held.size else 0
    ordered = np.append(np.sort(distances), np.inf)
    return found / count, float(ordered[len(distances) - max(found - n_lost, 0)])


def _freedom(normals: int, spread: float) -> float:
    """ν for which the upper quartile of F(``normals``, ν) is exp(``spread``) times the median."""

    def excess(log_freedom: float) -> float:
        middle, upper = fdtri(normals, np.exp(log_freedom), [0.5, 0.75])
        return float(np.log(upper / middle)) - spread

    low, high = _LOG_FREEDOM
    if excess(high) >= 0.0:
        return float(np.exp(high))
    return float(np.exp(low if excess(low) <= 0.0 else brentq(excess, low, high)))
