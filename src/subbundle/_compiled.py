"""`kernel`: the one way in which a function of this library is compiled.

Kernels run on one thread and release the interpreter's lock, so that `_parallel` can run several at once; their machine
code is kept between processes (`_machine_code`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numba as nb

from subbundle._machine_code import MachineCode, source_of


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile ``function`` with Numba when it is first called: `@kernel`, or `@kernel(fastmath=…)` with options."""
    if function is None:
        return partial(kernel, **options)
    # As in NumPy, division by zero gives infinity or NaN, which statuses report, and no exception.
    compiled: Any = nb.njit(nogil=True, **{"error_model": "numpy", **options})(function)
    # With NUMBA_DISABLE_JIT it is the function itself; and without the sources nobody knows when code is out of date.
    if hasattr(compiled, "_cache") and source_of(function).is_file():
        compiled._cache = MachineCode(function)
    return compiled
