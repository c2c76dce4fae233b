"""The stages of a job and their seconds."""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """Tells the caller what begins, and keeps the seconds of every stage."""

    def __init__(self, tell: Callable[[str], None] | None) -> None:
        self._tell = tell
        self._seconds: dict[str, float] = {}
        self._name, self._begin = "", time.perf_counter()

    def stage(self, name: str) -> None:
        """Begin the stage ``name``; the one before ends."""
        self.end()
        self._name = name
        if self._tell is not None:
            self._tell(name)

    def end(self) -> dict[str, float]:
        """End the last stage; the seconds of all."""
        now = time.perf_counter()
        if self._name:
            self._seconds[self._name] = now - self._begin
        self._begin = now
        return self._seconds
