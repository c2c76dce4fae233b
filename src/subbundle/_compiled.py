"""`kernel`: the decorator that compiles a function of this library.

Kernels run on one thread and release the interpreter's lock, so that `_parallel` can run several at once; their machine
code is kept between processes (`_machine_code`).

Most kernels are called by other kernels only. Numba makes each of them callable from Python nevertheless: it adds a
wrapper and generates machine code for it and its callees that is never run, because callers inline and optimise their
callees themselves. Here this is deferred until Python calls, which saves 40 % of the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from numba.core import config
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher

from subbundle._machine_code import MachineCode, as_callee, is_callee, set_environments, source_of

# The kernel that Python calls, while its code is loaded or compiled.
_called: ContextVar[Kernel | None] = ContextVar("called", default=None)


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile ``function`` with Numba when it is first called: `@kernel`, or `@kernel(fastmath=…)` with options."""
    if function is None:
        return partial(kernel, **options)
    if config.DISABLE_JIT:
        return function
    # As in NumPy, division by zero gives infinity or NaN, which statuses report, and no exception.
    return Kernel(function, targetoptions={"nopython": True, "nogil": True, "error_model": "numpy", **options})


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """Numba's dispatcher, which generates code for Python only when Python calls."""

    _compiler: Any

    def __init__(self, py_func: Callable[..., Any], locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals or {}, targetoptions)
        pipeline = self._compiler.pipeline_class
        self._compiler = _Translator(py_func, self.targetdescr, targetoptions, self.locals, pipeline)
        # Without sources outdated code cannot be detected.
        if source_of(py_func).is_file():
            self._cache = MachineCode(py_func)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        token = _called.set(self)
        try:
            return super()._compile_for_args(*args, **kws)
        finally:
            _called.reset(token)

    def compile(self, sig: Any) -> Any:
        """The code for arguments of the types ``sig``: from memory, from disk, or compiled now."""
        from_python = _called.get() is self
        token = _called.set(None)  # its callees are called by a kernel
        try:
            with global_compiler_lock:
                if from_python and is_callee(self.overloads.get(tuple(sig))):
                    del self.overloads[tuple(sig)]
                self._compiler.for_kernels = not from_python
                if isinstance(self._cache, MachineCode):
                    self._cache.for_kernels = not from_python
                return super().compile(sig)
        finally:
            _called.reset(token)

    def add_overload(self, cres: Any) -> None:
        """Register the compiled code; code that only kernels can call is not listed for Python."""
        if is_callee(cres):
            self.overloads[tuple(cres.signature.args)] = cres
        else:
            super().add_overload(cres)


class _Translator(_FunctionCompiler):  # type: ignore[misc]
    """Numba's compiler of one function, which stops before machine code where only kernels call."""

    for_kernels = False

    def _customize_flags(self, flags: Any) -> Any:
        if self.for_kernels:
            flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        for_kernels = self.for_kernels
        result = super()._compile_core(args, return_type)
        if for_kernels:
            return as_callee(result)
        set_environments(result)
        return result
