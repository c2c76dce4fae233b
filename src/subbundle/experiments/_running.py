"""What all experiments do before they measure, and how one is repeated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from subbundle import plot
from subbundle._progress import Progress

_T = TypeVar("_T")


def begin(out: Path) -> Progress:
    """Make the folder ``out`` and see that pictures can be drawn, before minutes of computing; report from here on."""
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
