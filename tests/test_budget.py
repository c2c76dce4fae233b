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
STILL_LONG = {
    "charts/chart.py": 308,
    "estimators/principal_submanifold.py": 309,
    "geodesics/_fans.py": 314,
    "local/many.py": 314,
}
# folder: lines, module-level constants with a number in their value. Lines are rounded up to the next 20 (a sentence
# more in a docstring is no change of size), and folders with work under way have room for it.
BUDGET = {
    "atlas": (980, 11),
    "bundles": (3940, 25),
    "charts": (2860, 37),
    "cloud": (420, 4),
    "commands": (2360, 7),
    "diagnostics": (900, 25),
    "embedding": (2460, 41),
    "estimators": (1920, 11),
    "experiments": (1620, 21),
    "flow": (920, 13),
    "formats": (980, 9),
    "geodesics": (2420, 25),
    "graph": (320, 4),
    "local": (3820, 38),
    "plot": (540, 4),
    "selection": (1780, 40),
    "spaces": (2360, 10),
    "surface": (3520, 64),
    "testing": (420, 2),
    "the top": (3640, 30),
    "triangles": (1720, 9),
    "viewer": (1940, 19),
}
# What a new folder may have until it stands in the table.
NEW_FOLDER = (1500, 8)


def named_numbers(source):
    """Names of the module-level constants with a number in their value, in arrays, records and expressions too."""
    for node in ast.parse(source).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if (
                isinstance(target, ast.Name)
                and target.id.lstrip("_").isupper()
                and node.value is not None
                and has_number(node.value)
            ):
                yield target.id


def has_number(value):
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
    source = (
        "A = 1\n_B: float = 2.0\nC, c = 'x', 1\nD = np.array([1.0])\nE = {'a': 3}\nF = 2 * A\nG = True\nH = A\nd = 5\n"
    )
    assert list(named_numbers(source)) == ["A", "_B", "D", "E", "F"]


if __name__ == "__main__":
    for name, (lines, numbers) in sorted(SIZES.items()):
        print(f'    "{name}": ({lines}, {numbers}),')
    print(
        f"# {sum(lines for lines, _ in SIZES.values())} lines, {sum(numbers for _, numbers in SIZES.values())} numbers"
    )
