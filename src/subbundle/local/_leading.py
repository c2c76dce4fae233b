"""Leading eigenvectors of a symmetric matrix inside kernels, in any dimension."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.local.eigen import eigh

# Above so many dimensions the leading eigenvectors come from orthogonal iteration, below from Jacobi rotations.
_JACOBI_DIM = 8
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@kernel
def leading(moment, rank, values, frame):
    """Write the leading k + 1 eigenvalues and k eigenvectors of ``moment`` [D, D], which is overwritten."""
    dim = moment.shape[0]
    if dim <= _JACOBI_DIM:
        every, vectors = np.empty(dim), np.empty((dim, dim))
        eigh(moment, every, vectors)
        for a in range(rank):
            for j in range(dim):
                frame[j, a] = vectors[j, a]
        for a in range(rank + 1):
            values[a] = every[a] if a < dim else 0.0
        return
    _orthogonal_iteration(moment, rank, values, frame)


@kernel(fastmath=_FAST)
def _orthogonal_iteration(moment, rank, values, frame):
    """Leading eigenpairs from a block of k + 3 columns of ``moment``, with a Rayleigh–Ritz step each round."""
    dim = moment.shape[0]
    width = min(rank + 3, dim)
    block, image = np.empty((width, dim)), np.empty((width, dim))
    small, ritz, turn = np.empty((width, width)), np.empty(width), np.empty((width, width))
    used = np.zeros(dim, np.bool_)
    for a in range(width):
        widest, which = -1.0, 0
        for j in range(dim):
            if not used[j] and moment[j, j] > widest:
                widest, which = moment[j, j], j
        used[which] = True
        for j in range(dim):
            block[a, j] = moment[which, j]
    _orthonormalise(block)
    for a in range(rank + 1):
        values[a] = 0.0
    for _ in range(40):
        for a in range(width):
            for j in range(dim):
                total = 0.0
                for i in range(dim):
                    total += moment[j, i] * block[a, i]
                image[a, j] = total
        for a in range(width):
            for c in range(width):
                total = 0.0
                for j in range(dim):
                    total += block[a, j] * image[c, j]
                small[a, c] = total
        for a in range(width):
            for c in range(a):
                small[a, c] = 0.5 * (small[a, c] + small[c, a])
                small[c, a] = small[a, c]
        eigh(small, ritz, turn)
        change = 0.0
        for a in range(rank + 1):
            if a < width:
                change = max(change, abs(ritz[a] - values[a]))
                values[a] = ritz[a]
        for a in range(width):
            for j in range(dim):
                total = 0.0
                for c in range(width):
                    total += turn[c, a] * image[c, j]
                block[a, j] = total
        _orthonormalise(block)
        if change <= 1e-9 * values[0]:
            break
    for a in range(rank):
        for j in range(dim):
            frame[j, a] = block[a, j]


@kernel
def _orthonormalise(block):
    """Gram–Schmidt on rows, twice; a row without a direction of its own is replaced by the next axis that has one."""
    width, dim = block.shape
    axis = 0
    for a in range(width):
        before = 0.0
        for j in range(dim):
            before += block[a, j] * block[a, j]
        while True:
            for _ in range(2):
                for c in range(a):
                    dot = 0.0
                    for j in range(dim):
                        dot += block[a, j] * block[c, j]
                    for j in range(dim):
                        block[a, j] -= dot * block[c, j]
            after = 0.0
            for j in range(dim):
                after += block[a, j] * block[a, j]
            if after > 1e-24 * before and after > 0.0:
                break
            for j in range(dim):
                block[a, j] = 1.0 if j == axis else 0.0
            before = 1e-20
            axis += 1
        norm = np.sqrt(after)
        for j in range(dim):
            block[a, j] /= norm
