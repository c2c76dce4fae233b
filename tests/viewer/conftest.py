"""A real browser for the tests of pages; they are skipped, with the reason, where there is none."""

from __future__ import annotations

import io
import os
import shutil
import time

import numpy as np
import pytest

# Software rendering, and nothing that a browser does on its own.
ARGUMENTS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
# Seconds that anything on a page may take, on a machine that has much else to do.
PATIENCE = 90.0


class Page:
    """A page of the viewer as a user sees it: pixels, mouse, and the state behind them."""

    def __init__(self, page):
        self.raw = page
        self.requests = []
        self.errors = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def goto(self, url):
        self.raw.goto(url)
        self.wait("Boolean(globalThis.subbundleView?.ready)")

    def wait(self, script):
        """Wait until ``script`` is true. (Playwright's own waiting evaluates text, which the page forbids.)"""
        deadline = time.monotonic() + PATIENCE
        while not self.raw.evaluate(script):
            assert not self.errors, self.errors
            assert time.monotonic() < deadline, f"never came true: {script}"
            time.sleep(0.05)

    def js(self, script, *arguments):
        return self.raw.evaluate(script, *arguments)

    def place(self, panel, layer, row):
        """Where a row is drawn, in pixels of the page."""
        script = """([p, layer, row]) => {
            const panel = subbundleView.panels.find((candidate) => candidate.record.key === p);
            const box = panel.element.getBoundingClientRect();
            const [x, y] = panel.project(layer, row);
            return [box.left + x, box.top + y];
        }"""
        return self.raw.evaluate(script, [panel, layer, row])

    def pixels(self):
        """What is on the screen, [height, width, 3]."""
        from PIL import Image

        self.raw.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return np.asarray(Image.open(io.BytesIO(self.raw.screenshot())).convert("RGB")).astype(int)

    def near(self, x, y, colour, reach=6):
        """Whether a pixel within ``reach`` of [x, y] has ``colour``, up to the shading."""
        image = self.pixels()
        x, y = round(x), round(y)
        patch = image[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1]
        return bool((np.abs(patch - np.array(colour)).max(axis=2) < 12).any())


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install -e '.[browser]'")
    pytest.importorskip("k3d", reason="needs k3d: pip install -e '.[view]'")
    path = os.environ.get("SUBBUNDLE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs chromium: apt-get install -y --no-install-recommends chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def page(browser):
    raw = browser.new_page(viewport={"width": 1100, "height": 700}, color_scheme="light")
    raw.set_default_timeout(1000 * PATIENCE)
    made = Page(raw)
    yield made
    raw.close()
    assert made.errors == []


@pytest.fixture
def opened(page, tmp_path):
    """Write a view to one file and open that from disk."""

    def open_(view):
        page.goto(view.save(tmp_path / "page.html").as_uri())
        return page

    return open_
