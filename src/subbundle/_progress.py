"""Progress of long computations: one line per stage, and below them a bar with the time left.

Shown in terminals and notebooks only: nothing is written elsewhere, so that pipes and logs stay clean. The
bar counts rows as `subbundle._parallel.run_rows` finishes them; it counts only work that has begun, so the time
left is that of the current step.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

# Seconds before a bar appears.
_PATIENCE = 2.0
# Rows below which a step is too short to be counted.
_FEW_ROWS = 64

_watching: ContextVar[Progress | None] = ContextVar("watching", default=None)
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


class Progress:
    """Write one line when a stage begins, and a bar when it takes long; to standard error by default.

    Results go to standard output, so that they can be piped without the progress. Lines are written whole, so other
    messages appear between them.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._begin = time.perf_counter()
        self._shown = not _quiet.get() and (self._stream.isatty() or _in_notebook())
        self._bar: Any = None
        self._lock = threading.Lock()
        if self._shown:
            _watching.set(self)

    def stage(self, name: str) -> None:
        """Report that ``name`` begins."""
        self.close()
        if self._shown:
            print(f"[{self.seconds:5.1f} s] {name}", file=self._stream, flush=True)

    def note(self, text: str) -> None:
        """Write a line, also where no progress is shown."""
        self.close()
        if not _quiet.get():
            print(text, file=self._stream, flush=True)

    def begin(self, n_rows: int) -> None:
        """``n_rows`` more rows are to be done."""
        if not self._shown:
            return
        with self._lock:
            if self._bar is None:
                from tqdm.auto import tqdm

                self._bar = tqdm(
                    total=n_rows, file=self._stream, delay=_PATIENCE, leave=False, unit=" rows", unit_scale=True
                )
            else:
                self._bar.total += n_rows

    def advance(self, n_rows: int) -> None:
        """``n_rows`` of them are done."""
        with self._lock:
            if self._bar is not None:
                self._bar.update(n_rows)

    def close(self) -> None:
        """Remove the bar."""
        with self._lock:
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    @property
    def seconds(self) -> float:
        """Seconds since the progress was created."""
        return time.perf_counter() - self._begin


@contextmanager
def progress(name: str = "working") -> Iterator[Progress]:
    """Show the progress of what is done inside: in a notebook or a terminal, a bar with the time left.

    Parameters
    ----------
    name : str
        Label of the bar.

    Examples
    --------
    >>> import subbundle as sb
    >>> with sb.progress("distances"):
    ...     lengths = sb.pairwise_distance(sb.bundles.SphereTangent(2), [[0, 0, 1.0]], [[0, 1.0, 0]])
    """
    token = _watching.set(None)
    shown = Progress()
    shown.stage(name)
    try:
        yield shown
    finally:
        shown.close()
        _watching.reset(token)


@contextmanager
def silenced(quiet: bool) -> Iterator[None]:
    """Show no progress inside, if ``quiet``; in either case none of the caller's."""
    tokens = _quiet.set(quiet), _watching.set(None)
    try:
        yield
    finally:
        watcher = _watching.get()
        if watcher is not None:
            watcher.close()
        _quiet.reset(tokens[0])
        _watching.reset(tokens[1])


def watcher_of(n_rows: int) -> Progress | None:
    """The `Progress` of this context, with ``n_rows`` rows added to its total; None for short steps."""
    watcher = _watching.get()
    if watcher is None or n_rows < _FEW_ROWS:
        return None
    watcher.begin(n_rows)
    return watcher


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    shell = sys.modules.get("ipykernel.zmqshell")
    ipython = sys.modules.get("IPython")
    return shell is not None and ipython is not None and isinstance(ipython.get_ipython(), shell.ZMQInteractiveShell)
