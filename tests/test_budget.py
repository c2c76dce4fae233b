"""Limits of size: lines and named numbers per folder, lines per file. The sum of the limits may only fall.

A number that someone chose is one more thing to know about a folder. Those that results depend on are *tuned* and stand
in the folder's ``tuning.py``, each with its reason; facts, sizes of the machine, display and bounds that ordinary input
does not reach stand where they are used. A file of more than 300 lines holds more than one idea. A change that needs
room makes it first, by removing what is written twice. After a change that removes something, write the new counts
here: ``python tests/test_budget.py`` prints them.
"""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import subbundle

PACKAGE = Path(subbundle.__path__[0])
TOP = "the top"
LONGEST_FILE = 300
# Files longer than that, with their lines.
STILL_LONG: dict[str, int] = {}
# A line that assigns a constant: one comment may stand before several.
ASSIGNED = re.compile(r"_?[A-Z][A-Z_0-9]*\b.*=")
# Tuned numbers of all folders together.
MOST_TUNED = 219
# folder: lines, tuned numbers, other module-level constants with a number in their value. Lines are rounded up to the
# next 20: a sentence more in a docstring is no change of size.
BUDGET = {
    "atlas": (1740, 13, 9),
    "bins": (180, 0, 4),
    "bundles": (3360, 5, 6),
    "charts": (3120, 13, 11),
    "cloud": (540, 1, 6),
    "commands": (2020, 1, 11),
    "diagnostics": (880, 7, 4),
    "distributed": (4040, 9, 46),
    "embedding": (2320, 24, 11),
    "estimators": (2160, 8, 7),
    "experiments": (1560, 0, 39),
    "flow": (900, 4, 11),
    "formats": (1140, 2, 13),
    "geodesics": (2440, 13, 12),
    "graph": (460, 4, 3),
    "local": (4320, 13, 15),
    "plot": (520, 0, 4),
    "selection": (1800, 20, 12),
    "spaces": (2400, 2, 2),
    "surface": (3840, 72, 34),
    "testing": (420, 0, 2),
    "the top": (4080, 0, 40),
    "triangles": (1880, 6, 6),
    "viewer": (1780, 2, 14),
}
# What a new folder may have until it stands in the table.
NEW_FOLDER = (1500, 4, 8)


def named_numbers(source):
    """Names of the module-level constants with a number in their value, in arrays, records and expressions too."""
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or not has_number(node.value):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (name.id for name in names if isinstance(name, ast.Name) and name.id.lstrip("_").isupper())


def has_number(value):
    """Whether ``value`` has a number in it; codes that ``range`` gives out are none that anyone chose."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "range":
        return False
    return any(isinstance(node, ast.Constant) and type(node.value) in (int, float) for node in ast.walk(value))


def sizes():
    """``{folder: (lines, tuned numbers, others)}`` of the package and ``{file: lines}``."""
    lines, tuned, others, files = Counter(), Counter(), Counter(), {}
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        folder = inside.parts[0] if len(inside.parts) > 1 else TOP
        source = path.read_text(encoding="utf-8")
        files[inside.as_posix()] = source.count("\n")
        lines[folder] += source.count("\n")
        (tuned if path.name == "tuning.py" else others)[folder] += len(list(named_numbers(source)))
    return {folder: (lines[folder], tuned[folder], others[folder]) for folder in lines}, files


SIZES, FILES = sizes()


@pytest.mark.parametrize("folder", SIZES)
def test_a_folder_stays_within_its_budget(folder):
    most = BUDGET.get(folder, NEW_FOLDER)
    for kind, found, limit in zip(("lines", "tuned numbers", "other named numbers"), SIZES[folder], most, strict=True):
        assert found <= limit, f"{folder} has {found} {kind} and may have {limit}: remove something first"


def test_tuned_numbers_are_few():
    assert sum(tuned for _, tuned, _ in SIZES.values()) <= MOST_TUNED


def test_tuned_constants_have_a_reason_and_a_use():
    words = Counter(
        word for path in PACKAGE.rglob("*.py") for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
    )
    for path in sorted(PACKAGE.glob("*/tuning.py")):
        source = path.read_text(encoding="utf-8")
        lines = source.split("\n")
        for node in ast.parse(source).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and has_number(node.value):
                before = next(line for line in reversed(lines[: node.lineno - 1]) if not ASSIGNED.match(line))
                assert before.startswith("#"), f"{path.parent.name}/tuning.py:{node.lineno} has no reason beside it"
        for name in named_numbers(source):
            assert words[name] > 1, f"{path.parent.name}/tuning.py: nothing reads {name}"


def test_files_hold_one_idea():
    for name, lines in FILES.items():
        most = STILL_LONG.get(name, LONGEST_FILE)
        assert lines <= most, f"{name} has {lines} lines and may have {most}: divide it where its idea changes"
    assert all(FILES.get(name, 0) > LONGEST_FILE for name in STILL_LONG), "a file is short now: take it from the list"


def test_numbers_are_counted_wherever_they_stand():
    lines = ("A = 1", "_B: float = 2.0", "C, _D, e = 2.0, 3.0, 1", "F = np.array([1.0])", "G = {'a': 3}", "H = 2 * A")
    others = ("I = True", "J = A", "k = 5", "L = 'x'", "M, N = range(2)")
    assert list(named_numbers("\n".join(lines + others))) == ["A", "_B", "C", "_D", "F", "G", "H"]


if __name__ == "__main__":
    for name, (lines, tuned, others) in sorted(SIZES.items()):
        print(f'    "{name}": ({-(-lines // 20) * 20}, {tuned}, {others}),')
    print("# {} lines, {} tuned, {} others".format(*map(sum, zip(*SIZES.values(), strict=True))))
