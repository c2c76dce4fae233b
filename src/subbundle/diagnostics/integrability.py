"""Is there a submanifold at all? The part of the brackets of the bundle's fields that leaves the bundle.

A bundle is tangent to submanifolds, one through every point, if and only if the bracket of any two of its fields lies
in it again (Frobenius). With an orthonormal frame e_1..e_k at p, its normal part is

    (I − P)[e_a, e_i] = C[a, i] − C[i, a],        C[a, i] = (I − P) DP[e_a] e_i,

whatever the fields are elsewhere. From data it comes with sampling noise, and a mean of squares would only measure
that. So DP is taken from two disjoint halves, in the frame of the whole, and

    J² = (a²/4) W(Σ_{a<i} (C_A[a,i] − C_A[i,a])·(C_B[a,i] − C_B[i,a])),

W a mean of values clipped at their 98 % quantile, over points on the ridge. J is the angle by which the subspaces
fail to close up over half a bandwidth each way: nil for surfaces, and a|c|/2 for the planes of the Heisenberg group
with [X, Y] = c ∂z. Fragments at random heights, closer to each other than the kernel is wide, raise it as well: there
is no one surface through them either.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.selection._ladder import clipped_mean, split

# Half-width of the differences in bandwidths: short against what the subspaces turn on, one bandwidth.
_DIFFERENCE = 0.3


def non_integrability(bundle: PrincipalSubbundle, points: FloatArray) -> float:
    """J of ``bundle`` at ``points`` [n, d], best on its ridge; 0 for rank 1, NaN where too little is known."""
    if bundle.rank == 1:
        return 0.0
    frame = bundle.frame(points)
    here = frame.status == Status.OK
    _, *halves = split(bundle.cloud, 1)
    try:
        parts = [
            PrincipalSubbundle(Cloud(half + bundle.cloud.centre), bundle.rank, bundle.bandwidth, n_jobs=bundle.n_jobs)
            for half in halves
        ]
    except ValueError:
        return float("nan")
    first, second = (_brackets(part, points[here], frame.vectors[here]) for part in parts)
    products = np.sum(first * second, axis=(0, 2))
    products = products[np.isfinite(products)]
    if products.size < 0.5 * len(points):
        return float("nan")
    return float(0.5 * bundle.bandwidth * np.sqrt(max(clipped_mean(products), 0.0)))


def _brackets(part: PrincipalSubbundle, points: FloatArray, vectors: FloatArray) -> FloatArray:
    """Normal parts [pairs, n, d] of the brackets, in the frame ``vectors`` [n, d, k]; NaN where a frame is missing."""
    k, step = part.rank, _DIFFERENCE * part.bandwidth
    turned = np.empty((k, k, *points.shape))
    for a in range(k):
        ahead, behind = (_projected(part, points + side * step * vectors[:, :, a], vectors) for side in (1.0, -1.0))
        change = (ahead - behind) / (2.0 * step)
        turned[a] = change - np.einsum("ndk,nek,ine->ind", vectors, vectors, change)
    return np.stack([turned[a, i] - turned[i, a] for a in range(k) for i in range(a + 1, k)])


def _projected(part: PrincipalSubbundle, points: FloatArray, vectors: FloatArray) -> FloatArray:
    """P(points) e_i, [k, n, d]."""
    frame = part.frame(points)
    there = np.where((frame.status == Status.OK)[:, None, None], frame.vectors, np.nan)
    return np.asarray(np.einsum("ndk,nek,nei->ind", there, there, vectors))
