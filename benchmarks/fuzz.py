"""Odd calls and damaged files: wrong input must end in a result or a message."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from benchmarks._fuzz_calls import odd_calls
from benchmarks._fuzz_rows import ALLOWED, OUTCOMES, Row
from benchmarks._report import Bar, Result, Table

_MINUTES = 2.0
_FILES = "benchmarks._fuzz_files"


def run(minutes: float = _MINUTES, seed: int = 0) -> Result:
    """Half of the time for calls, half for files."""
    calls = odd_calls(0.5 * minutes, seed)
    tables, bars = [_table("Odd calls", calls)], [_bar("odd calls that ended otherwise", calls)]
    if find_spec(_FILES) is None:
        print("Damaged files are left out: benchmarks/_fuzz_files.py is not there.")
    else:
        files = import_module(_FILES).damaged_files(0.5 * minutes, seed)
        tables.append(_table("Damaged files", files))
        bars.append(_bar("damaged files that ended otherwise", files))
    method = (
        f"Random arguments from seed {seed}, for {minutes:g} minutes: empty, single and repeated rows, NaN, odd "
        "scales, outliers, wrong shapes, types and containers, numbers out of range. Every call runs in a process that "
        "is ended after 30 s of processor time and may have 6 GiB. A refusal in words is a ValueError, a TypeError or "
        "one of the library's own errors, raised by the library or by scikit-learn's checks; one from inside is a "
        "ValueError or TypeError of a deeper function of another library."
    )
    return Result("Odd calls and damaged files", method, tables, bars)


def _table(caption: str, rows: Sequence[Row]) -> Table:
    total = Row("all", sum(row.tried for row in rows), {o: sum(row.outcomes[o] for row in rows) for o in OUTCOMES})
    lines = [[row.subject, row.tried, *(row.outcomes[outcome] for outcome in OUTCOMES)] for row in (*rows, total)]
    worst = [f"{row.subject}: {case}" for row in rows for case in row.worst]
    return Table(["subject", "tried", *OUTCOMES], lines, caption + ("" if not worst else ". " + "; ".join(worst[:20])))


def _bar(figure: str, rows: Sequence[Row]) -> Bar:
    otherwise = sum(count for row in rows for outcome, count in row.outcomes.items() if outcome not in ALLOWED)
    return Bar(figure, otherwise, 0)
