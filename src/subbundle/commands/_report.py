"""The option ``--report page.html`` that the commands share."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subbundle.viewer.report import Account


def add_report(parser: argparse.ArgumentParser) -> None:
    """The option itself."""
    parser.add_argument(
        "--report", type=Path, default=None, metavar="PAGE",
        help="also write a page (.html): what came in, what was chosen and why, figures, and the result to turn around",
    )  # fmt: skip


def check_report(path: Path | None) -> None:
    """Raise, before any work is done, when the page cannot be written."""
    if path is None:
        return
    from subbundle.viewer.page import library

    if path.suffix.lower() != ".html":
        raise ValueError(f"--report must end in .html; got {path.name!r}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} must exist; {path.parent} is no folder. Create it first.")
    library()


def write_report(options: argparse.Namespace, account: Account, obj: Any, rows: Any = None, **shown: Any) -> None:
    """Write the page with ``obj`` to turn around (``rows`` and ``shown`` go to `view`), and say so."""
    from subbundle.io import atomic_path
    from subbundle.viewer.front import view
    from subbundle.viewer.report import report

    page = report(account, view(obj, rows, title=account.title, **shown), command=shlex.join(options.typed))
    with atomic_path(options.report) as temporary:
        temporary.write_text(page, encoding="utf-8")
    print(f"wrote {options.report}")
