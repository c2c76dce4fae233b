"""Odd calls of public functions: random arguments, each call in a process that can be ended, counted by outcome.

A case is its seed and its number; `python -m benchmarks._fuzz_calls SEED NUMBER` runs one again, with its traceback.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np

from benchmarks._fuzz_rows import ALLOWED, BARE, OUTCOMES, Row
from benchmarks._fuzz_subjects import SUBJECTS
from benchmarks._fuzz_worker import Worker
from subbundle.compiling import PARTS, compile_parts


def subject_of(seed: int, number: int) -> str:
    """What case ``number`` calls: all subjects in turn, in an order that differs from round to round."""
    names = list(SUBJECTS)
    order = np.random.default_rng([seed, number // len(names), 1]).permutation(len(names))
    return names[order[number % len(names)]]


def odd_calls(minutes: float, seed: int, *, first: int = 0, most: int | None = None) -> list[Row]:
    """Run cases for ``minutes``, or until ``most`` have run, and count how they ended; kernels are compiled before."""
    compile_parts(list(PARTS))
    counts: dict[str, Counter[str]] = {name: Counter() for name in SUBJECTS}
    worst: dict[str, list[str]] = {name: [] for name in SUBJECTS}
    end, number, worker = time.monotonic() + 60.0 * minutes, first, Worker()
    try:
        while time.monotonic() < end and (most is None or number < first + most):
            name = subject_of(seed, number)
            ending, message, seconds = worker.run(name, seed, number)
            counts[name][ending] += 1
            if ending not in ALLOWED or ending == BARE:
                line = f"case {seed} {number}: {ending}, {message} ({seconds:.1f} s)"
                print(f"{name}: {line}", flush=True)
                if ending != BARE:
                    worst[name].append(line)
            number += 1
            if (number - first) % 100 == 0:
                print(f"{number - first} cases", flush=True)
    finally:
        worker.close()
    return [
        Row(name, sum(count.values()), {outcome: count[outcome] for outcome in OUTCOMES}, worst[name])
        for name, count in counts.items()
        if count
    ]


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]]
    name = subject_of(*given)
    print(name, flush=True)
    SUBJECTS[name](np.random.default_rng(given))
