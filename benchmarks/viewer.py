"""A million points and a mesh of half a million faces on one page: its size, and the time until it is drawn."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._extras import MissingExtraError, require
from benchmarks._report import Bar, Result, Table
from subbundle import AtlasEmbedding, Mesh, datasets, view

_POINTS = 1_000_000
# A torus of this grid has twice as many faces.
_GRID = (500, 500)
_ARGUMENTS = (
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
_READY = "Boolean(globalThis.subbundleView?.ready)"
_REPEATS = 3
# Reading a pixel back waits until everything that was asked for is drawn.
_WAIT = """(() => {
    const context = subbundleView.panels[0].renderer.getContext();
    context.readPixels(0, 0, 1, 1, context.RGBA, context.UNSIGNED_BYTE, new Uint8Array(4));
})()"""
_DRAW = "subbundleView.panels[0].draw()"


def run() -> Result:
    playwright = require("playwright.sync_api")
    require("k3d")
    chromium = shutil.which("chromium")
    if chromium is None:
        raise MissingExtraError("this benchmark needs chromium: apt-get install -y --no-install-recommends chromium")
    points = datasets.torus(_POINTS, noise=0.01, seed=0).points
    columns = {"noise": np.abs(np.hypot(np.hypot(points[:, 0], points[:, 1]) - 1.0, points[:, 2]) - 0.4)}
    scenes: dict[str, Callable[[], Any]] = {
        "100,000 points": lambda: view(points[:100_000]),
        "1,000,000 points, one column": lambda: view(points, columns=columns),
        "500,000 faces": lambda: view(_torus()),
        "1,000,000 points and 500,000 faces": lambda: view({"scan": points, "surface": _torus()}, columns=columns),
    }
    rows, size, drawn, busy = [], {}, {}, {}
    with tempfile.TemporaryDirectory() as folder, playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(_ARGUMENTS))
        for name, make in scenes.items():
            begin = time.perf_counter()
            path = make().save(Path(folder) / "page.html")
            written = time.perf_counter() - begin
            size[name] = path.stat().st_size / 1e6
            first, used, frame, hover = np.median([_timed(browser, path) for _ in range(_REPEATS)], axis=0)
            drawn[name], busy[name] = float(first), float(used)
            rows.append(
                [name, f"{written:.1f}", f"{size[name]:.1f}", f"{first:.1f}", f"{used:.1f}"]
                + [f"{frame:.2f}", f"{hover:.2f}"]
            )
        _picture(browser, Path(folder) / "page.html")
        browser.close()
    return Result(
        title="The viewer's page in software rendering",
        method=(
            f"One file, opened from disk in Chromium with SwiftShader (no graphics card), 1280 × 800. Drawn: from the "
            f"call until the first frame is on the canvas; a further frame; and what lies under the mouse. Medians of "
            f"{_REPEATS}. The processor time until drawn, of all processes of the browser, is what a busy machine does "
            "not lengthen."
        ),
        tables=[Table(["page", "written, s", "MB", "drawn, s", "processor, s", "frame, s", "hover, s"], rows)],
        bars=[
            Bar("size of the page with both", size["1,000,000 points and 500,000 faces"], 25.0, unit="MB"),
            Bar("drawn, with both", drawn["1,000,000 points and 500,000 faces"], 10.0, unit="s"),
            Bar("processor time until then", busy["1,000,000 points and 500,000 faces"], 10.0, unit="s"),
        ],
    )


def _picture(browser: Any, path: Path) -> None:
    """``docs/images/viewer.png``: an embedding beside its data, two clicks and a hover done."""
    from PIL import Image

    data = datasets.s_surface(2500, noise=0.02, seed=0)
    model = AtlasEmbedding(2).fit(data.points)
    view(model, data.points, title="S-surface").save(path)
    page = browser.new_page(viewport={"width": 1200, "height": 720}, color_scheme="light")
    page.goto(path.as_uri())
    while not page.evaluate(_READY):
        time.sleep(0.02)
    at = """(row) => {
        const box = subbundleView.panels[0].element.getBoundingClientRect();
        const [x, y] = subbundleView.panels[0].project("layer0", row);
        return [box.left + x, box.top + y];
    }"""
    for place in ((-4.0, 0.5), (3.5, -0.5)):
        page.mouse.click(*page.evaluate(at, int(np.abs(model.embedding_ - place).sum(axis=1).argmin())))
    page.mouse.move(*page.evaluate(at, int(np.abs(model.embedding_).sum(axis=1).argmin())))
    time.sleep(2.0)
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shot.quantize(128).save(Path(__file__).parents[1] / "docs" / "images" / "viewer.png", optimize=True)
    page.close()


def _timed(browser: Any, path: Path) -> tuple[float, float, float, float]:
    """Seconds until drawn, processor seconds until then, for another frame, and for the row under the mouse."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(120_000)
    before, begin = _processor_seconds(), time.perf_counter()
    page.goto(path.as_uri())
    while not page.evaluate(_READY):
        time.sleep(0.02)
    page.evaluate(_WAIT)
    first, used = time.perf_counter(), _processor_seconds() - before
    page.evaluate(_DRAW)
    page.evaluate(_WAIT)
    frame = time.perf_counter()
    page.mouse.move(760, 430)
    while page.evaluate("subbundleView.state.hover") is None:
        time.sleep(0.02)
    hover = time.perf_counter()
    page.close()
    return first - begin, used, frame - first, hover - frame


def _processor_seconds() -> float:
    """Processor time of all processes below this one."""
    psutil = require("psutil")
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            spent = process.cpu_times()
            total += spent.user + spent.system
    return total


def _torus() -> Mesh:
    """A bumpy torus of 500,000 faces."""
    n, m = _GRID
    u, v = (2.0 * np.pi * grid.ravel() / size for grid, size in zip(np.indices(_GRID), _GRID, strict=True))
    minor = 0.4 + 0.02 * np.sin(9.0 * u) * np.cos(7.0 * v)
    ring = 1.0 + minor * np.cos(v)
    vertices = np.column_stack([ring * np.cos(u), ring * np.sin(u), minor * np.sin(v)])
    corner = np.arange(n * m).reshape(_GRID)
    right, up = np.roll(corner, -1, axis=0), np.roll(corner, -1, axis=1)
    across = np.roll(right, -1, axis=1)
    faces = np.concatenate(
        [np.stack([corner, right, across], axis=-1), np.stack([corner, across, up], axis=-1)], axis=1
    )
    return Mesh(vertices, faces.reshape(-1, 3))
