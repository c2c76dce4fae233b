"""What is larger than memory: the options that the commands share for it, and the jobs they start."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from subbundle.commands._options import positive_integer

# Bytes that a point of a scan, or a number of a table, takes on its way through a command that has all of them.
_BYTES_PER_POINT, _BYTES_PER_NUMBER = 700, 40


def add_scale_out(parser: argparse.ArgumentParser) -> None:
    """Options of everything that can work on more than fits into memory."""
    parser.add_argument(
        "--workers", type=positive_integer, default=None, metavar="N",
        help="for files larger than memory: work on pieces with N processes; the output is a folder",
    )  # fmt: skip
    parser.add_argument(
        "--scheduler", default=None, metavar="ADDRESS",
        help="the same with the workers of a Dask scheduler, like tcp://host:8786, which see the same files",
    )  # fmt: skip
    parser.add_argument(
        "--memory",
        default=None,
        metavar="SIZE",
        help="for all processes together, like 4GB (default: most of what is free)",
    )
    parser.add_argument(
        "--resume", action="store_true", help="finish a job that was interrupted: do only what is missing"
    )


def is_asked_for(options: argparse.Namespace) -> bool:
    """Whether the job is one of pieces: an option of these is given, or the output is a folder that is there."""
    folder = options.output is not None and options.output.is_dir()
    return bool(folder or options.resume or options.workers or options.scheduler or options.memory)


def refuse(options: argparse.Namespace, names: Iterable[str]) -> None:
    """Raise when one of the options ``names`` is given, which needs all points at once."""
    for name in names:
        if getattr(options, name.replace("-", "_")) not in (None, False, [], "auto"):
            raise ValueError(f"--{name} needs all points at once and cannot go with pieces of them. Leave it out.")


def offer_pieces(paths: Iterable[Path], command: str, *, table: bool) -> None:
    """Raise when the files are larger than the free memory, and say what to write instead."""
    from subbundle._memory import require_memory
    from subbundle.distributed.readers import READERS, suffix_of

    rows, needed = 0, 0
    for path in paths:
        # What cannot be read is reported better by those who read all of it.
        with suppress(Exception):
            count, dim = READERS[suffix_of(path)].shape(path)
            rows += count
            needed += count * (dim * _BYTES_PER_NUMBER if table else _BYTES_PER_POINT)
    what = f"{rows} {'rows' if table else 'points'} at once"
    example = f"subbundle {command} … -o folder/ --workers 2 --memory 4GB"
    require_memory(needed, what, f"Write this instead, which works on pieces of them: {example}")


def on_workers(options: argparse.Namespace) -> Any:
    """A client of the workers that the options ask for, as a context."""
    from subbundle.distributed import cluster

    return cluster(options.scheduler, workers=options.workers, memory=options.memory)


def worker_count(client: Any) -> int:
    """Workers among whom ``--memory`` is divided."""
    return max(len(client.nthreads()), 1)
