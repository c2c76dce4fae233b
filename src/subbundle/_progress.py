"""Progress lines of the commands: what is being done now, and the seconds since the start."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Write one line when a stage begins; to standard error unless told otherwise.

    Results go to standard output, so that they can be piped without the progress. A line is complete as soon as it is
    written, so messages of other origin fall between stages and never into them.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._begin = time.perf_counter()

    def stage(self, name: str) -> None:
        """Say that ``name`` begins."""
        print(f"[{self.seconds:5.1f} s] {name}", file=self._stream, flush=True)

    @property
    def seconds(self) -> float:
        """Seconds since the progress was created."""
        return time.perf_counter() - self._begin
