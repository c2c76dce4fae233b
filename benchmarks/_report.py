"""Results as records, as Markdown and as files: every figure with its bar, reached or not reached."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Bar:
    """A measured figure and what it must not exceed (or, with ``at_least``, not fall below)."""

    figure: str
    value: float
    bound: float
    at_least: bool = False
    unit: str = ""

    @property
    def reached(self) -> bool:
        """Whether the bar is met; NaN never meets one."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of numbers or words under named columns."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What one benchmark found. ``method`` says in plain words what was measured and how."""

    title: str
    method: str
    tables: Sequence[Table]
    bars: Sequence[Bar] = field(default_factory=tuple)


def write(name: str, result: Result, *, machine: str, source: str, date: str, seconds: float) -> None:
    """Write ``results/<name>.json``."""
    record = asdict(result) | {"machine": machine, "source": source, "date": date, "seconds": round(seconds, 1)}
    for entry, bar in zip(record["bars"], result.bars, strict=True):
        entry["reached"] = bar.reached
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def write_summary(order: Sequence[str]) -> Path:
    """Write ``results/RESULTS.md`` from the JSON files, those of earlier runs included."""
    records = {name: json.loads(path.read_text()) for name in order if (path := FOLDER / f"{name}.json").exists()}
    lines = ["# Results", "", "Written by `python -m benchmarks`. What each one measures: [README](../README.md).", ""]
    machines = sorted({record["machine"] for record in records.values()})
    lines += [f"Machine: {machine}\n" for machine in machines]
    lines += ["## All bars", "", _grid(["benchmark", *_BAR_COLUMNS], [
        [name, *_bar_cells(bar)] for name, record in records.items() for bar in record["bars"]
    ]), ""]  # fmt: skip
    for name, record in records.items():
        where = "" if len(machines) == 1 else f", on {record['machine']}"
        lines += [f"## {name}: {record['title']}", "", markdown_body(record), ""]
        lines += [f"*Measured {record['date']} in {record['seconds']:g} s, source {record['source']}{where}.*", ""]
    path = FOLDER / "RESULTS.md"
    path.write_text("\n".join(lines))
    return path


def markdown(result: Result) -> str:
    """The result as it is printed."""
    return f"## {result.title}\n\n{markdown_body(asdict(result))}"


def markdown_body(record: dict[str, Any]) -> str:
    """Method, tables and bars of a result given as a dictionary."""
    parts = [record["method"]]
    for table in record["tables"]:
        parts.append((f"{table['caption']}\n\n" if table["caption"] else "") + _grid(table["columns"], table["rows"]))
    if record["bars"]:
        parts.append(_grid(_BAR_COLUMNS, [_bar_cells(bar) for bar in record["bars"]]))
    return "\n\n".join(parts)


_BAR_COLUMNS = ["figure", "measured", "bar", ""]


def _bar_cells(bar: dict[str, Any]) -> list[str]:
    unit = f" {bar['unit']}" if bar["unit"] else ""
    given = {key: bar[key] for key in ("figure", "value", "bound", "at_least", "unit")}
    verdict = "reached" if Bar(**given).reached else "**not reached**"
    sign = "≥" if bar["at_least"] else "≤"
    return [bar["figure"], f"{_show(bar['value'])}{unit}", f"{sign} {_show(bar['bound'])}{unit}", verdict]


def _grid(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table whose columns line up, so that it can be read in a terminal as well."""
    cells = [[str(c) for c in columns], *([_show(c) for c in row] for row in rows)]
    width = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, width, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in width) + "|")
    return "\n".join(lines)


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
