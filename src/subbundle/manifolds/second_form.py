"""The second fundamental form of a bundle: how its subspaces turn as one moves along them.

For vectors e_a, e_i of the subspace at p,

    II(e_a, e_i) = (I − P) DP[e_a] e_i,       made symmetric in a and i,

is normal to the subspace. On a surface and its tangent planes it is the classical form: on a sphere of radius r,
II(u, v) = −⟨u, v⟩ x/r². DP is a central difference of the projector; its cost, 2k frames, does not grow with the codimension.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle.bundles.base import Frame, Subbundle

# Step of the difference in length scales: the error of the form, its square, is far below what noise leaves.
_STEP = 1e-3


def second_fundamental_form(bundle: Subbundle, points: FloatArray, frame: Frame) -> FloatArray:
    """II(e_a, e_i) as vectors [n, k, k, dim] at ``points`` [n, dim], where ``frame`` is the bundle's.

    Rows whose frame is not defined, there or one step away, are NaN or carry no meaning; look at ``frame.status``.
    """
    vectors = frame.vectors
    step = _STEP * bundle.length_scale
    forms = np.empty((len(points), bundle.rank, bundle.rank, bundle.ambient_dim))
    for a in range(bundle.rank):
        ahead, behind = (bundle.frame(points + sign * step * vectors[:, :, a]).vectors for sign in (1.0, -1.0))
        for i in range(bundle.rank):
            turned = _project(ahead, vectors[:, :, i]) - _project(behind, vectors[:, :, i])
            forms[:, a, i] = (turned - _project(vectors, turned)) / (2.0 * step)
    symmetric: FloatArray = 0.5 * (forms + forms.transpose(0, 2, 1, 3))
    return symmetric


def _project(frames: FloatArray, vectors: FloatArray) -> FloatArray:
    """F Fᵀ v for each row of ``frames`` [n, dim, k] and ``vectors`` [n, dim]."""
    along = np.einsum("ndk,nd->nk", frames, vectors)
    projected: FloatArray = np.einsum("ndk,nk->nd", frames, along)
    return projected
