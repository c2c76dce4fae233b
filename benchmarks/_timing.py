"""Timing by turns: the candidates run one after the other, round by round, so that a busy machine slows all alike.

A ratio is taken inside each round, and the median over the rounds is reported. Absolute times are medians too. Where all
candidates run in one thread, `THREAD_TIME` counts only the processor time of that thread, which other programs do not lengthen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


WALL_TIME, THREAD_TIME = time.perf_counter, time.thread_time


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


def take_turns(
    candidates: Mapping[str, Callable[[], object]], *, rounds: int, clock: Callable[[], float] = WALL_TIME
) -> Timings:
    """Time every candidate once per round. Compiling and first touches happen in a round that is not counted."""
    for work in candidates.values():
        work()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, work in candidates.items():
            start = clock()
            work()
            seconds[name].append(clock() - start)
    return Timings({name: np.array(values) for name, values in seconds.items()})
