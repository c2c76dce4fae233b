"""Progress lines of the commands: what is being done, and the seconds it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class Progress:
    """Write ``stage …`` when a stage starts and its seconds when it ends; to standard error unless told otherwise.

    Results go to standard output, so that they can be piped without the progress.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._begin = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Announce ``name``, run the block, add how long it took."""
        self._write(f"{name} … ")
        begin = time.perf_counter()
        yield
        self._write(f"{time.perf_counter() - begin:.1f} s\n")

    @property
    def seconds(self) -> float:
        """Seconds since the progress was created."""
        return time.perf_counter() - self._begin

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
