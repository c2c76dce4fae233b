"""Links of the built site that lead nowhere, those of scenes, downloads and raw HTML included, and what it fetches."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Where a page leads, and the places in it that can be led to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.fetched: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.add(value)
                if tag != "a" and urlsplit(value).netloc:
                    self.fetched.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def dead_links(site: Path) -> list[str]:
    """``page → target`` for every relative link of the pages below ``site`` whose file or anchor does not exist.

    Scripts, styles and pictures of other servers count as well: the site is complete by itself.
    """
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if not {"scenes", "_static"} & set(path.parts)}
    dead = []
    for path, page in pages.items():
        dead += [f"{path.relative_to(site.resolve())} fetches {target}" for target in sorted(page.fetched)]
        for target in sorted(page.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            missing = anchor and file in pages and anchor not in pages[file].anchors
            if not file.exists() or missing:
                dead.append(f"{path.relative_to(site.resolve())} → {target}")
    return dead
