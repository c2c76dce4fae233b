"""Sensitivity to each tuned constant: every one in a folder's ``tuning.py`` is varied by itself, down and up by half.

``python -m benchmarks sensitivity surface embedding`` does so for these folders, without names for all that have a
file ``benchmarks/_judge_<folder>.py``: ``figures() -> dict[str, float]``, errors of small clouds with a known truth,
in seconds. A variation is made in a copy of the package and evaluated in a separate process, so that nothing
keeps the old value. Numbers above 1 are divided and multiplied by 1.5, fractions have their odds divided and
multiplied. The figure that changes most is reported, as a ratio to that at the tuned value.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._report import FOLDER, Bar, Result, Table

FACTOR = 1.5
# A variation that takes longer than this, in seconds, is reported as one that does not end.
LONGEST = 300.0
# Of all folders together.
MOST_NUMBERS = 250
ROWS = FOLDER / "sensitivity-rows.json"
COLUMNS = ["folder", "number", "value", "down", "figure", "up", "figure"]
METHOD = (
    f"Each tuned number divided and multiplied by {FACTOR} (the odds of fractions), one at a time; the figure that "
    "changes most, over its value with the number as it is. Ratios within 1 % of 1 are those of a number that hardly "
    "matters on these clouds; it may matter on others."
)
_JUDGE = "import json; from benchmarks._judge_{} import figures; print(json.dumps(figures()))"


def run(folders: Sequence[str] = ()) -> Result:
    """Vary the numbers of ``folders``, by default of all with a judge; rows of other folders are kept."""
    known = {path.stem.removeprefix("_judge_") for path in Path(__file__).parent.glob("_judge_*.py")}
    unknown = sorted(set(folders) - known)
    if unknown:
        raise SystemExit(
            f"no judge for {', '.join(unknown)}; there is benchmarks/_judge_<folder>.py for {sorted(known)}"
        )
    rows = json.loads(ROWS.read_text()) if ROWS.exists() else {}
    for folder in folders or sorted(known):
        rows[folder] = list(_vary_all(folder))
        ROWS.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    table = Table(COLUMNS, [[folder, *row] for folder in sorted(rows) for row in rows[folder]])
    total = sum(len(_numbers(path)) for path in _package().glob("*/tuning.py"))
    return Result("What each tuned number is worth", METHOD, [table], [Bar("tuned numbers", total, MOST_NUMBERS)])


def _package() -> Path:
    spec = find_spec("subbundle")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _numbers(path: Path) -> dict[str, tuple[int, Any]]:
    """Names of the numbers in the module at ``path``, the line that each assignment ends at, and the values."""
    source = path.read_text(encoding="utf-8")
    values: dict[str, Any] = {"__name__": "tuning"}
    exec(compile(source, str(path), "exec"), values)
    found = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        if not any(
            isinstance(part, ast.Constant) and type(part.value) in (int, float) for part in ast.walk(node.value)
        ):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Name) and name.id.lstrip("_").isupper():
                    found[name.id] = (node.end_lineno or node.lineno, values[name.id])
    return found


def varied(value: Any, factor: float) -> Any:
    """``value``, a number or several, times ``factor``; the odds of fractions; whole numbers stay whole and change."""
    if isinstance(value, tuple | list):
        return type(value)(varied(entry, factor) for entry in value)
    if isinstance(value, np.ndarray):
        return np.array([varied(entry, factor) for entry in value.tolist()])
    if isinstance(value, int):
        return max(round(value * factor), value + 1) if factor > 1.0 else min(round(value * factor), value - 1)
    if 0.0 < value < 1.0:
        odds = factor * value / (1.0 - value)
        return odds / (1.0 + odds)
    return value * factor


def _vary_all(folder: str) -> Iterator[list[Any]]:
    """A row for each number: its name, its value, and what it changes most downwards and upwards."""
    package = _package()
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "subbundle"
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
        tuning = copy / folder / "tuning.py"
        source = tuning.read_text(encoding="utf-8")
        before = _judged(folder, place)
        if isinstance(before, str):
            raise SystemExit(f"the judge of {folder} fails with the numbers as they are: {before}")
        for name, (line, value) in _numbers(tuning).items():
            row: list[Any] = [name, f"{value}"]
            for factor in (1.0 / FACTOR, FACTOR):
                lines = source.split("\n")
                new = varied(value, factor)
                text = f"__import__('numpy').array({new.tolist()})" if isinstance(new, np.ndarray) else repr(new)
                lines.insert(line, f"{name} = {text}")
                tuning.write_text("\n".join(lines), encoding="utf-8")
                row += _compared(before, _judged(folder, place))
            tuning.write_text(source, encoding="utf-8")
            print("  ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row), flush=True)
            yield row


def _judged(folder: str, place: str) -> dict[str, float] | str:
    """The figures with the package in ``place``, or why there are none."""
    environment = os.environ | {"PYTHONPATH": place, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _JUDGE.format(folder)],
            cwd=Path(__file__).parents[1], env=environment, capture_output=True, text=True, timeout=LONGEST,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"over {time.perf_counter() - start:.0f} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1][:80]
    figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def _compared(before: dict[str, float], after: dict[str, float] | str) -> tuple[float, str]:
    """The ratio furthest from 1, and its figure."""
    if isinstance(after, str):
        return float("nan"), after
    tiny = 1e-12
    ratios = {name: (after.get(name, np.nan) + tiny) / (value + tiny) for name, value in before.items()}
    lost = [name for name, ratio in ratios.items() if not ratio > 0.0]
    if lost:
        return float("nan"), f"{lost[0]} is not known"
    most = max(ratios, key=lambda name: abs(np.log(ratios[name])))
    return float(ratios[most]), most
