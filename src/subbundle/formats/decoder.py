"""Decoding a file in a separate process, which returns the columns.

Decoders written in other languages rely on the sizes in a file: a damaged one makes them allocate memory that is
not available, or ends the process. Here that is the process of the decoder, and this one reports it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

# Memory of the decoder in bytes, plus this multiple of the size of the points, which it holds decoded and as numbers.
_MEMORY, _COPIES = 4 << 30, 8


def decoded(module: str, path: Path, n_bytes: int, *numbers: int) -> dict[str, NDArray[Any]]:
    """What ``python -m module path *numbers`` sends: columns of points that have ``n_bytes`` when decoded."""
    # The same package as in this process.
    paths = [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    with subprocess.Popen(
        [sys.executable, "-m", module, str(path), str(_memory_for(n_bytes)), *map(str, numbers)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        try:
            columns = _received(process.stdout)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0 or columns is None:
        raise ValueError("its compressed points are damaged, cut off, or too many for the memory")
    return columns


def send(decode: Callable[..., dict[str, NDArray[Any]]]) -> None:
    """In the other process: decode the file of its command line and write its columns to standard output."""
    path, memory = Path(sys.argv[1]), int(sys.argv[2])
    with suppress(ImportError, ValueError, OSError):  # no such limit on Windows, or a lower one is set
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    for name, values in decode(path, *map(int, sys.argv[3:])).items():
        head = json.dumps([name, values.dtype.str, len(values)])
        sys.stdout.buffer.write(f"{head}\n".encode("ascii"))
        sys.stdout.buffer.write(np.ascontiguousarray(values).data)
    sys.stdout.buffer.write(b"end\n")


def _memory_for(n_bytes: int) -> int:
    """Bytes that the decoder may use for points of ``n_bytes``, at most the free memory."""
    if not hasattr(os, "sysconf"):
        return _MEMORY + _COPIES * n_bytes
    return min(_MEMORY + _COPIES * n_bytes, max(_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))


def _received(stream: IO[bytes]) -> dict[str, NDArray[Any]] | None:
    """The columns written by `send`; None where the stream ends early."""
    columns: dict[str, NDArray[Any]] = {}
    for line in stream:
        if line == b"end\n":
            return columns
        name, kind, length = json.loads(line)
        values = np.empty(int(length), dtype=kind)
        if stream.readinto(values.view(np.uint8).data) < values.nbytes:  # type: ignore[attr-defined]
            return None
        columns[name] = values
    return None
