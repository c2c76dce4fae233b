"""Union–find: which of n members have been joined, directly or through others; the lowest one stands for its component.

``lower`` [n] begins as ``np.arange(n)``. It leads from every member to a lower one, and from the lowest to itself.
"""

from __future__ import annotations

from subbundle._compiled import kernel


@kernel
def lowest(lower, i):
    """The lowest member of the component of ``i``; the way there is halved."""
    while lower[i] != i:
        lower[i] = lower[lower[i]]
        i = lower[i]
    return i


@kernel
def join(lower, i, j):
    """Make the components of ``i`` and ``j`` one; return whether they were two."""
    a, b = lowest(lower, i), lowest(lower, j)
    lower[max(a, b)] = min(a, b)
    return a != b
