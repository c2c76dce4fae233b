"""Cases in a separate process, which is ended when one of them does not end by itself."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._fuzz_rows import CRASH, HANG, RETURNED, ending_of

LIMIT = 30.0
"""Processor seconds that a call may take; other programs on the machine do not count."""

_PATIENCE = 20.0
"""Seconds of waiting per processor second after which a call counts as hanging although it does not compute."""

_MEMORY = 6 * 2**30
"""Bytes that a process may have, so that a request for too many fails instead of filling the machine."""


def outcome(subject: str, seed: int, number: int) -> tuple[str, str]:
    """Run one case here: how it ended, and the message."""
    from benchmarks._fuzz_subjects import SUBJECTS

    generator = np.random.default_rng([seed, number])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            SUBJECTS[subject](generator)
    except BaseException as error:  # every way to end is an observation
        return ending_of(error)
    return RETURNED, ""


class Worker:
    """One process that runs case after case; a new one is started when it has ended or been ended."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Connection | None = None

    def run(self, subject: str, seed: int, number: int) -> tuple[str, str, float]:
        """How the case ended, the message, and the processor seconds that it took."""
        if self._process is None:
            self._start()
        assert self._pipe is not None
        before, begun = _processor_seconds(self._process.pid), time.monotonic()
        self._pipe.send((subject, seed, number))
        while not self._pipe.poll(0.5):
            used = _processor_seconds(self._process.pid) - before
            if used > LIMIT or time.monotonic() - begun > _PATIENCE * LIMIT:
                self.close()
                return HANG, f"not ended after {used:.0f} s", used
        try:
            ending, message, seconds = self._pipe.recv()
        except EOFError:
            code = self._process.exitcode
            self.close()
            return CRASH, f"the process ended with exit code {code}", 0.0
        return ending, message, seconds

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()


def _serve(pipe: Connection) -> None:
    _limit_memory()
    while True:
        case = pipe.recv()
        start = time.process_time()
        pipe.send((*outcome(*case), time.process_time() - start))


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _processor_seconds(pid: int) -> float:
    """Processor seconds of another process; where the system does not show them, the time of day."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    import os

    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
