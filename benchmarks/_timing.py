"""Alternating timing: the candidates run one after the other, round by round, so that a busy machine slows all alike.

A ratio is taken inside each round, and the median over the rounds is reported. Absolute times are medians too. Besides
wall-clock time the processor time of all threads is recorded, by which candidates in one thread are compared, because
other programs hardly affect it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

# Threads of the last candidate may still be spinning in wait for work; this lets them go to sleep.
_PAUSE = 0.05
# After a pause an idle processor takes milliseconds to wake and its caches are those of others: what takes less than
# so many seconds runs once untimed first, as it would in the loop that it is part of.
_SHORT = 0.5


@dataclass(frozen=True, slots=True)
class Timings:
    """Wall and processor seconds of each candidate in each round, ``{name: [rounds, 2]}``."""

    rounds: dict[str, np.ndarray]

    def seconds(self, name: str, *, processor: bool = False) -> float:
        """Median time of one candidate."""
        return float(np.median(self.rounds[name][:, int(processor)]))

    def ratio(self, name: str, over: str, *, processor: bool = False) -> float:
        """Median over the rounds of time(name) / time(over)."""
        return float(np.median(self.rounds[name][:, int(processor)] / self.rounds[over][:, int(processor)]))


def take_turns(candidates: Mapping[str, Callable[[], object]], *, rounds: int) -> Timings:
    """Time every candidate once per round. Compiling and first touches happen in a round that is not counted."""
    for work in candidates.values():
        work()
    short = {name: _seconds(work) < _SHORT for name, work in candidates.items()}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, work in candidates.items():
            time.sleep(_PAUSE)
            if short[name]:
                work()
            wall, processor = time.perf_counter(), time.process_time()
            work()
            seconds[name].append((time.perf_counter() - wall, time.process_time() - processor))
    return Timings({name: np.array(values) for name, values in seconds.items()})


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
