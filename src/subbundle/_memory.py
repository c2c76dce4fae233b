"""`require_memory`: an error before the system ends the process; `blocks`: work in blocks of bounded memory.

Linux allocates arrays larger than its memory and kills the process when they are filled. Where an array grows with the
product of two sizes that the caller chose, its size is compared with the free memory first.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

# Numbers in one block of rows: 32 MB.
_BLOCK = 4_000_000


def blocks(count: int, numbers_per_row: int) -> list[slice]:
    """Slices that cover ``count`` rows, each of some 32 MB."""
    size = max(1, _BLOCK // max(numbers_per_row, 1))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def require_memory(n_bytes: float, what: str, instead: str) -> None:
    """Raise `MemoryError` when ``n_bytes`` for ``what`` exceed the free memory; ``instead`` is the advice."""
    free = free_memory()
    if n_bytes > free:
        raise MemoryError(f"{what} need {_readable(n_bytes)}; {_readable(free)} are free. {instead}")


def free_memory() -> float:
    """Bytes that this process can still use; infinite where the system does not report it."""
    return min([float("inf"), *_of_system(), *_of_group(), *_of_process()])


def _of_system() -> list[float]:
    with suppress(OSError):
        found = re.search(r"^MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text(), re.M)
        return [1024.0 * int(found[1])] if found else []
    return []


def _of_group() -> list[float]:
    """The limit of a container."""
    with suppress(OSError, ValueError):
        folder = Path("/sys/fs/cgroup")
        return [float(folder.joinpath("memory.max").read_text()) - float(folder.joinpath("memory.current").read_text())]
    return []


def _of_process() -> list[float]:
    """The remainder under `ulimit -v`."""
    with suppress(ImportError, OSError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            return [float(limit - pages * resource.getpagesize())]
    return []


def _readable(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.1f} GiB" if n_bytes >= 2**29 else f"{n_bytes / 2**20:.0f} MiB"
