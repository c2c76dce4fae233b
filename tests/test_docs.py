"""The README and the documentation are true: code runs, commands and links exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = [path for folder in ("", "start", "reference") for path in sorted((ROOT / "docs" / folder).glob("*.md"))]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS]


def fenced(page):
    """(language, body) of the fenced blocks of a page, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def blocks(page, language):
    return [body for name, body in fenced(page) if name == language]


# Pages whose code needs an optional package.
EXTRAS = {"scale_out.md": "dask"}


def assert_same_up_to_rounding(printed, promised):
    """Equal words, and numbers within what another LAPACK may change: two per cent or one of the last digit."""
    number = r"-?\d+\.?\d*"
    assert re.split(number, printed) == re.split(number, promised)
    for came, stands in zip(re.findall(number, printed), re.findall(number, promised), strict=True):
        last_digit = 10.0 ** -len(stands.partition(".")[2])
        assert float(came) == pytest.approx(float(stands), rel=0.02, abs=1.01 * last_digit)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_code_runs_and_prints_what_stands_below_it(page, capsys):
    if page.name in EXTRAS:
        pytest.importorskip(EXTRAS[page.name])
    namespace = {"__name__": "documentation"}
    printed = ""
    for language, block in fenced(page):
        if language == "python":
            capsys.readouterr()
            exec(compile(block, page.name, "exec", dont_inherit=True), namespace)
            printed = capsys.readouterr().out
        elif language == "text":
            assert_same_up_to_rounding(printed, block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_local_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_picture_is_small_and_names_its_command():
    """A picture of the documentation stands on one of its pages, and the paragraph after it says what makes it."""
    texts = [page.read_text(encoding="utf-8") for page in DOCS]
    for path in (ROOT / "docs" / "images").iterdir():
        assert path.stat().st_size < 300_000, path.name
        captions = [
            re.search(rf"\]\(images/{re.escape(path.name)}\)\s+(.*?)(\n\n|\Z)", text, re.DOTALL) for text in texts
        ]
        made = [" ".join(found[1].split()) for found in captions if found]
        assert made, f"{path.name} stands on no page"
        example = r"python examples/(\w+/)?plot_\w+\.py"
        command = rf"Made by `((subbundle [\w -]+ --out|{example}) docs/images|python -m benchmarks \w+)`"
        assert any(re.search(command, caption) for caption in made), path.name


def test_every_example_has_its_place_in_the_gallery_and_leaves_a_scene():
    examples = sorted((ROOT / "examples").glob("*/*.py"))
    assert len(examples) >= 20
    for path in examples:
        assert f" {path.stem}" in (path.parent / "GALLERY_HEADER.rst").read_text(encoding="utf-8"), path.name
        text = path.read_text(encoding="utf-8")
        assert re.match(r'"""\n[^\n]+\n=+\n\n', text), f"{path.name} needs a title"
        assert re.search(r"^(scene|view) = sb\.view\(", text, re.MULTILINE), path.name


def test_no_block_of_an_example_ends_with_a_list_of_labels_or_lines():
    """The gallery prints what the last expression of a block returns: lists, from these methods of matplotlib."""
    for path in sorted((ROOT / "examples").glob("*/*.py")):
        for block in re.split(r"^# %%.*$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            last = ast.parse(block).body[-1]
            called = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and last.value.func
            assert getattr(called, "attr", "") not in ("set", "plot", "hist", "fill", "loglog"), (
                path.name,
                called.lineno,
            )


def test_ci_runs_the_readmes_test_command():
    demo, test = (block.strip() for block in blocks(ROOT / "README.md", "sh"))
    assert demo.endswith("&& subbundle demo")
    assert test.endswith("&& pytest")
    assert test in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_statuses_are_all_explained():
    from subbundle import Status

    page = ROOT / "docs" / "concepts.md"
    explained = re.findall(r"^\| `([A-Z_]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert explained == [status.name for status in Status]


def test_versions_agree():
    import tomllib

    import subbundle

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert subbundle.__version__ == declared
    assert f"\nversion: {declared}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {declared}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_map_of_the_source_names_files_that_exist():
    text = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "subbundle"
    for name in re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text):
        if not name.startswith(("tests/", "src/")):
            assert (package / name).exists(), f"development.md names {name}"
