"""`MachineCode`: compiled kernels kept between processes, never older than their sources.

Numba's own cache checks whether a kernel's own file has changed, not whether the kernels that it calls have: after an
upgrade in place it would run the old ones. Here a kernel is stored in a folder named by a fingerprint of all its
sources (`_sources`) and of the versions that translate them; a change of any of these means another folder.

    <root>/subbundle-kernels/<module>-<fingerprint>/<kernel>-<types and processor>.code

and beside it, ending in ``.part``, the intermediate code that other kernels inline when they are compiled.

One file holds one translation, with its checksum, and is moved into place when complete. Processes that compile at the
same time therefore replace each other's files by equal ones, and a damaged file is compiled anew.

The root is the environment variable ``SUBBUNDLE_CACHE_DIR``; without it ``NUMBA_CACHE_DIR``; without that the package's
own ``__pycache__``, or the user's cache folder where the package cannot be written to. Where nothing can be written,
kernels are compiled in every process, with one warning.
"""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import time
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult, compile_result
from numba.core.serialize import dumps
from numba.core.types.containers import BaseNamedTuple, BaseTuple

from subbundle._sources import PACKAGE, digest_of
from subbundle._types import SubbundleWarning

# Code that has not been used for so many seconds (30 days) is removed.
_FORGOTTEN = 30 * 86400.0
# A process that was killed while writing leaves its unfinished file; after so many seconds (an hour) it is removed.
_ABANDONED = 3600.0
# The layout of the files, one more with every change of it.
_LAYOUT = 2
_DIGEST_BYTES = sha256().digest_size


class MachineCode(_Cache):  # type: ignore[misc]
    """The translations of one kernel, on disk; Numba searches here before it compiles."""

    def __init__(self, function: Callable[..., Any]) -> None:
        path = source_of(function)
        self._module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        self._name = function.__qualname__
        fingerprint = sha256(f"{digest_of(path)} {_translators()}".encode()).hexdigest()[:20]
        self._folder = f"{self._module}-{fingerprint}"
        self._used = False
        self.for_kernels = False  # whether another kernel calls, and not Python

    @property
    def cache_path(self) -> str:
        """The folder that is searched first."""
        return str(self._folders()[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kept translation for arguments of the types ``sig``, or None."""
        target_context.refresh()
        file = self._file(sig, target_context.codegen())
        for folder in self._folders():
            found = _read(folder / file)
            if found is None:
                continue
            kept, payload = pickle.loads(found)
            if kept == sig:
                self._mark_used(folder)
                rebuild = _rebuild_callee if self.for_kernels else CompileResult._rebuild
                return rebuild(target_context, *payload)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the translation ``data``, a `CompileResult`."""
        if data.lifted or data.library.has_dynamic_globals:
            return  # it holds addresses of this process
        reduced = _reduce_callee(data) if self.for_kernels else data._reduce()
        file, content = self._file(sig, data.codegen), dumps((sig, reduced))
        for folder in self._folders():
            try:
                _make(folder, self._module)
                _write(folder / file, content)
                return
            except OSError:
                continue
        _warn_uncached(" or ".join(str(root) for root in _roots()))

    def is_kept(self) -> bool:
        """Whether there is a translation for any types."""
        return any(any(folder.glob(f"{self._name}-*.code")) for folder in self._folders())

    def can_be_kept(self) -> bool:
        """Whether a translation made now would be available to the next process."""
        return any(os.access(_nearest(folder), os.W_OK) for folder in self._folders())

    def flush(self) -> None:
        """Remove all translations of the kernel."""
        for folder in self._folders():
            for file in folder.glob(f"{self._name}-*.code"):
                file.unlink(missing_ok=True)

    def enable(self) -> None:
        """Translations are always kept."""

    def disable(self) -> None:
        """Translations are always kept."""

    def _folders(self) -> list[Path]:
        return [root / "subbundle-kernels" / self._folder for root in _roots()]

    def _file(self, sig: Any, codegen: Any) -> str:
        flags = (config.OPT, config.BOUNDSCHECK, config.USING_SVML)
        key = repr((_described(sig), codegen.magic_tuple(), flags))
        kind = "part" if self.for_kernels else "code"
        return f"{self._name}-{sha256(key.encode()).hexdigest()[:24]}.{kind}"

    def _mark_used(self, folder: Path) -> None:
        if not self._used:
            self._used = True
            with suppress(OSError):  # another user's folder
                os.utime(folder)


def as_callee(result: CompileResult) -> CompileResult:
    """``result`` for other kernels to inline: without machine code, and optimised only together with its callers."""
    library = result.library
    library._optimize_final_module = lambda: None
    library._finalize_final_module = partial(_leave_as_it_is, library)
    result = result._replace(entry_point=_NoEntry())
    result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
    return result


class _NoEntry:
    """Replaces the entry point where there is none; Numba identifies code by it, so each has its own."""


def is_callee(result: CompileResult | None) -> bool:
    """Whether ``result`` cannot be called from Python."""
    return result is not None and isinstance(result.entry_point, _NoEntry)


def set_environments(result: CompileResult) -> None:
    """Set the addresses of the constants of the kernels that the machine code of ``result`` includes."""
    for environment in result._find_referenced_environments():
        result.codegen.set_env(environment.env_name, environment)


def _leave_as_it_is(library: Any) -> None:
    library._finalize_dynamic_globals()
    library._finalized = True


def _reduce_callee(result: CompileResult) -> tuple[Any, ...]:
    result.fndesc.typemap = result.fndesc.calltypes = None
    code = result.library._get_module_for_linking().as_bitcode()
    return code, result.library.name, result.fndesc, result.environment, result.signature, result.reload_init


def _rebuild_callee(
    context: Any, code: bytes, name: str, fndesc: Any, environment: Any, signature: Any, reload_init: Any
) -> CompileResult:
    for function in reload_init:
        function()
    library = context.codegen().create_library(name)
    library._final_module = library._shared_module = llvmlite.binding.parse_bitcode(code)
    getattr(library, "_reload_init", set()).update(reload_init)  # Numba 0.60 has none
    library._finalized = True
    return compile_result(
        typing_context=context.typing_context, target_context=context, library=library, environment=environment,
        entry_point=_NoEntry(), fndesc=fndesc, signature=signature, objectmode=False, lifted=(),
        reload_init=reload_init,
    )  # fmt: skip


def source_of(function: Callable[..., Any]) -> Path:
    """The file that a function was written in."""
    return Path(function.__code__.co_filename)


def _roots() -> list[Path]:
    named = os.environ.get("SUBBUNDLE_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return [Path(named).expanduser()]
    return [PACKAGE / "__pycache__", *_user_folder()]


def _user_folder() -> list[Path]:
    """The user's cache folder, as a list with one entry; empty for a user without a home directory."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return [Path(local)] if local else []
    cached = os.environ.get("XDG_CACHE_HOME")
    if cached:
        return [Path(cached)]
    try:
        home = Path.home()
    except RuntimeError:
        return []
    return [home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"]


@cache
def _translators() -> str:
    """Everything besides the sources and the processor that machine code depends on."""
    versions = (str(_LAYOUT), numba.__version__, llvmlite.__version__, np.__version__, sys.version, sys.platform)
    return " ".join(versions)


def _described(sig: Any) -> str:
    """The types ``sig`` in full: named tuples with their fields, whose order is that in memory."""
    if isinstance(sig, tuple):
        return f"({', '.join(_described(each) for each in sig)})"
    if isinstance(sig, BaseNamedTuple):
        return f"{sig.name}[{', '.join(sig.fields)}: {_described(tuple(sig.types))}]"
    if isinstance(sig, BaseTuple):
        return f"{sig.name}{_described(tuple(sig.types))}"
    return repr(sig)


def _read(path: Path) -> bytes | None:
    """The data given to `_write`; None where there is no such file or it is incomplete."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    checksum, data = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return data if sha256(data).digest() == checksum else None


def _write(path: Path, data: bytes) -> None:
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        unfinished.write_bytes(sha256(data).digest() + data)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _make(folder: Path, module: str) -> None:
    """Create the folder, and remove those of the same module that are no longer used."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    now = time.time()
    for other in folder.parent.glob(f"{module}-*"):
        try:
            if now - other.stat().st_mtime > _FORGOTTEN:
                shutil.rmtree(other, ignore_errors=True)
            else:
                for file in other.glob("*.tmp"):
                    if now - file.stat().st_mtime > _ABANDONED:
                        file.unlink(missing_ok=True)
        except OSError:
            continue  # another process removes the same


def _nearest(folder: Path) -> Path:
    """The folder, or the lowest folder above it that exists."""
    return next(place for place in (folder, *folder.parents) if place.exists())


@cache
def _warn_uncached(places: str) -> None:
    warnings.warn(
        f"compiled kernels cannot be written to {places}; every process will compile them again, which takes 5 s and "
        "more. Set the environment variable SUBBUNDLE_CACHE_DIR to a folder that can be written to.",
        SubbundleWarning,
        stacklevel=2,
    )
