"""Timing by turns: the candidates run one after the other, round by round, so that a busy machine slows all alike.

A ratio is taken inside each round, and the median over the rounds is reported. Absolute times are medians too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds of each candidate in each round, ``{name: [rounds]}``."""

    rounds: dict[str, np.ndarray]

    def seconds(self, name: str) -> float:
        """Median time of one candidate."""
        return float(np.median(self.rounds[name]))

    def ratio(self, name: str, over: str) -> float:
        """Median over the rounds of time(name) / time(over)."""
        return float(np.median(self.rounds[name] / self.rounds[over]))


def take_turns(candidates: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: bool = True) -> Timings:
    """Time every candidate once per round. Compiling and first touches happen in a round that is not counted."""
    if warm_up:
        for work in candidates.values():
            work()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, work in candidates.items():
            seconds[name].append(timed(work)[0])
    return Timings({name: np.array(values) for name, values in seconds.items()})


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Seconds taken by one call, and what it returned."""
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value
