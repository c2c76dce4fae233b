"""Normal coordinates of many members of many quadratic charts at once, from inner products of the second forms alone.

For one chart and one point `quadric_kernels.normal_from_tangent` does the same, compiled.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray


def normal_coordinates(tau: FloatArray, forms: FloatArray) -> FloatArray:
    """τ + A_{II(τ,τ)} τ / 6 for ``tau`` [n, m, k] and ``forms`` [n, k(k+1)/2, D]: directions of geodesics.

    ⟨A_ξ e_a, e_b⟩ = ⟨II(e_a, e_b), ξ⟩; only inner products of the forms are needed.
    """
    rank = tau.shape[2]
    if not forms.any():
        return tau
    first, second = np.triu_indices(rank)
    number = np.zeros((rank, rank), np.int64)
    number[first, second] = number[second, first] = np.arange(len(first))
    inner = forms @ forms.transpose(0, 2, 1)
    square = tau[..., first] * tau[..., second] * np.where(first == second, 1.0, 2.0)
    against = np.einsum("npq,nmq->nmp", inner, square)
    turned = np.einsum("nmab,nmb->nma", against[:, :, number], tau)
    return np.asarray(tau + turned / 6.0)
