"""Set-up of the experiments, and their repetition over seeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from subbundle import plot
from subbundle._progress import Progress

_T = TypeVar("_T")


def begin(out: Path) -> Progress:
    """Create the folder ``out``, check that figures can be drawn, before minutes of computing; return the progress."""
    plot.require_matplotlib()
    out.mkdir(parents=True, exist_ok=True)
    return Progress()


def over_seeds(measure: Callable[[int], _T], seed: int, count: int, progress: Progress, what: str) -> list[_T]:
    """``measure(seed)``, ``measure(seed + 1)``, …, each reported as a stage."""
    results = []
    for i in range(count):
        progress.stage(f"{what}, seed {seed + i} ({i + 1} of {count})")
        results.append(measure(seed + i))
    return results
