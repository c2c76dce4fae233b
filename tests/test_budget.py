"""How large the house may be: lines and named numbers per folder, lines per file. The limits may only fall.

A number that someone chose is one more thing to know about a folder; a file of more than 300 lines holds more than one
idea. A change that needs room makes it first, by removing what is written twice. After a change that removes something,
write the new counts here: ``python tests/test_budget.py`` prints them.
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

import subbundle

PACKAGE = Path(subbundle.__path__[0])
TOP = "the top"
LONGEST_FILE = 300
# Files longer than that, with their lines.
STILL_LONG: dict[str, int] = {}
# folder: lines, module-level constants with a number in their value. Lines are rounded up to the next 20 (a sentence
# more in a docstring is no change of size), and folders with work under way have room for it.
BUDGET = {
    "atlas": (1640, 34),
    "bundles": (3800, 15),
    "charts": (3060, 30),
    "cloud": (520, 8),
    "commands": (2440, 17),
    "diagnostics": (900, 36),
    "distributed": (4440, 77),
    "embedding": (2000, 52),
    "estimators": (2060, 22),
    "experiments": (1620, 39),
    "flow": (940, 16),
    "formats": (980, 15),
    "geodesics": (2400, 37),
    "graph": (320, 6),
    "local": (4360, 29),
    "plot": (540, 4),
    "selection": (1820, 68),
    "spaces": (2420, 4),
    "surface": (3780, 164),
    "testing": (420, 2),
    "the top": (3960, 39),
    "triangles": (1840, 13),
    "viewer": (1940, 17),
}
# What a new folder may have until it stands in the table.
NEW_FOLDER = (1500, 8)


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
    """``{folder: (lines, named numbers)}`` of the package and ``{file: lines}``."""
    lines, numbers, files = Counter(), Counter(), {}
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        folder = inside.parts[0] if len(inside.parts) > 1 else TOP
        source = path.read_text(encoding="utf-8")
        files[inside.as_posix()] = source.count("\n")
        lines[folder] += source.count("\n")
        numbers[folder] += len(list(named_numbers(source)))
    return {folder: (lines[folder], numbers[folder]) for folder in lines}, files


SIZES, FILES = sizes()


@pytest.mark.parametrize("folder", SIZES)
def test_a_folder_stays_within_its_budget(folder):
    lines, numbers = SIZES[folder]
    most_lines, most_numbers = BUDGET.get(folder, NEW_FOLDER)
    assert lines <= most_lines, (
        f"{folder} has {lines} lines and may have {most_lines}: remove something that is written twice"
    )
    assert numbers <= most_numbers, (
        f"{folder} has {numbers} named numbers and may have {most_numbers}: derive one from another"
    )


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
    for name, (lines, numbers) in sorted(SIZES.items()):
        print(f'    "{name}": ({lines}, {numbers}),')
    print(
        f"# {sum(lines for lines, _ in SIZES.values())} lines, {sum(numbers for _, numbers in SIZES.values())} numbers"
    )
