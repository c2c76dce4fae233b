"""The command ``subbundle``.

Results go to standard output, progress to standard error. Wrong input ends in one line and exit code 2. The module of a
command or experiment is imported when it runs, so ``--help`` and ``--version`` are fast.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from subbundle import __version__
from subbundle._progress import silenced
from subbundle.commands import values as value
from subbundle.commands.arguments import add_commands, add_quiet
from subbundle.commands.messages import translated

# Name: module, keyword for the number of data sets (if it repeats), its default, help.
_EXPERIMENTS = {
    "sphere": ("sphere", "n_seeds", 1, "75 geodesics around a sphere, without and with noise"),
    "bundle": ("illustrations", "", 0, "principal subbundles in the plane and in space"),
    "head": ("head", "", 0, "two principal submanifolds of a noisy head, or of a given scan"),
    "s-surface": ("s_surface", "n_seeds", 5, "unfold the S-surface from R^100"),
    "r50": ("r50", "n_seeds", 20, "the distance between two points of a 4-sphere in R^50"),
    "log-illustration": ("log_illustration", "", 0, "the geodesic that a logarithm finds"),
    "sphere-curves": ("sphere_curves", "n_datasets", 20, "curves through data on the sphere S²"),
}
# Options whose value is a list of numbers.
_LISTS = ("--crop", "--base")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    0 done, 1 the output pipe was closed, 2 wrong input or too large, 3 a bug in subbundle, 130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal without σ or ± shows a question mark.
            stream.reconfigure(errors="replace")
    typed = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser()
    if not typed:
        parser.print_help(sys.stderr)
        return 2
    options = parser.parse_args(_joined(typed))
    options.typed = ["subbundle", *typed]
    try:
        with silenced(options.quiet), warnings.catch_warnings():
            warnings.showwarning = _noted
            _run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The pipe was closed, as `head` does; output of the interpreter at its end is discarded.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError, OSError, ImportError) as error:
        # Messages of the library state what was required, what was given and what to write instead.
        return _failed(translated(str(error)), 2)
    except MemoryError as error:
        return _failed(f"there is not enough memory: {str(error) or 'no more can be allocated'}. Take fewer points.", 2)
    except KeyboardInterrupt:
        print("\nsubbundle: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if os.environ.get("SUBBUNDLE_TRACEBACK"):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        fault = f"{type(error).__name__} at {place}: {error}. This is a bug in subbundle; please report it"
        return _failed(f"{fault}, with what SUBBUNDLE_TRACEBACK=1 shows.", 3)
    return 0


def _noted(message: Warning | str, *place: Any, **where: Any) -> None:
    """A warning that no command collects: its text, without a place in the source."""
    print("note:", translated(str(message)), file=sys.stderr)


def _joined(words: Sequence[str]) -> list[str]:
    """``words`` with lists of numbers that begin with a minus sign joined to their option, not parsed as options."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in _LISTS and re.match(r"-[\d.,]", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _failed(message: str, code: int) -> int:
    print("subbundle: error:", " ".join(message.split()), file=sys.stderr)
    return code


def _run(options: Namespace) -> None:
    """A command takes the options, an experiment those of them that are keywords of its ``run``."""
    run = import_module(f"subbundle.{options.module}").run
    if options.passed is None:
        run(options)
    else:
        run(**{name: getattr(options, name) for name in options.passed})


class _Parser(ArgumentParser):
    """Errors in one line instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (try {self.prog} --help)\n")


def _parser() -> ArgumentParser:
    parser = _Parser(prog="subbundle", description="Learn the geometry of a point cloud.")
    parser.add_argument("--version", action="version", version=f"subbundle {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    demo = commands.add_parser(
        "demo",
        help="sample a noisy closed surface and estimate it",
        description="Sample a noisy closed surface, compute a principal submanifold, measure its error against the "
        "true surface, and write a figure and PLY files.",
    )
    demo.add_argument("--n", type=value.positive_integer, default=20000, help="number of observations (default 20000)")
    _add_common(demo, "demo", "subbundle-demo", "n")
    add_commands(commands)
    paper = commands.add_parser(
        "paper",
        help="repeat an experiment of the paper",
        description="Repeat experiments of Akhøj, Benn, Grong, Sommer and Pennec, "
        "Principal subbundles for dimension reduction (arXiv:2307.03128).",
    )
    experiments = paper.add_subparsers(required=True, metavar="EXPERIMENT", dest="experiment")
    for name, (module, keyword, usual, text) in _EXPERIMENTS.items():
        experiment = experiments.add_parser(name, help=text)
        own = (keyword,) if keyword else ()
        if keyword:
            count = f"repeat on N data sets, counted from --seed (default {usual})"
            experiment.add_argument(
                "--seeds", type=value.positive_integer, default=usual, metavar="N", dest=keyword, help=count
            )
        _add_common(experiment, module, "subbundle-paper", *own, *(_add_head(experiment) if name == "head" else ()))
    return parser


def _add_common(parser: ArgumentParser, module: str, folder: str, *own: str) -> None:
    """Options of every experiment; ``own``: keywords of its ``run`` besides these."""
    add_quiet(parser)
    parser.add_argument("--seed", type=value.seed, default=0, help="seed of the random numbers (default 0)")
    place = f"folder for the files (default {folder})"
    parser.add_argument("--out", type=Path, default=Path(folder), metavar="DIR", help=place)
    parser.set_defaults(module=f"experiments.{module}", passed=("seed", "out", *own))


def _add_head(parser: ArgumentParser) -> tuple[str, ...]:
    """Options of ``paper head``, and their names."""
    parser.add_argument("--file", type=Path, help="a scan or a mesh instead of the synthetic head")
    number = "points drawn from the head (default 30000)"
    parser.add_argument("--n", type=value.positive_integer, default=30000, help=number)
    start = "base point: the observation nearest to this point; give it twice for two submanifolds"
    parser.add_argument("--base", type=value.place, action="append", metavar="X,Y,Z", help=start)
    return "file", "n", "base"
