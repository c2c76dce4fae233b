"""`kernel`: the one way in which a function of this library is compiled.

Kernels run on one thread and release the interpreter's lock, so that `_parallel` can run several at once; their machine
code is kept between processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba as nb


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile ``function`` with Numba when it is first called: `@kernel`, or `@kernel(fastmath=…)` with options."""
    compiled = nb.njit(nogil=True, cache=True, **options)
    return compiled if function is None else compiled(function)
