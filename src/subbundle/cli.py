"""The command ``subbundle``: thin wrappers around `subbundle.experiments`.

Results go to standard output, progress to standard error. Wrong input ends in one line and exit code 2. Heavy imports
happen inside the commands, so ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from subbundle import __version__
from subbundle._progress import silenced

# Name: module, keyword for the number of data sets (if it repeats), how many usually, help.
_EXPERIMENTS = {
    "sphere": ("sphere", "n_seeds", 1, "75 geodesics around a sphere, without and with noise"),
    "bundle": ("illustrations", "", 0, "what a principal subbundle looks like, in the plane and in space"),
    "head": ("head", "", 0, "two pieces of a head's surface from noisy points; also of your own scan"),
    "s-surface": ("s_surface", "n_seeds", 5, "unfold the S-surface from R^100"),
    "r50": ("r50", "n_seeds", 20, "the distance between two points of a 4-sphere in R^50"),
    "log-illustration": ("log_illustration", "", 0, "the geodesic that a logarithm finds"),
    "sphere-curves": ("sphere_curves", "n_datasets", 20, "curves through data on the sphere S²"),
}
# Options whose value is a list of numbers.
_LISTS = ("--crop", "--base")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code.

    0 done, 1 nobody reads the results, 2 wrong input or too large, 3 a fault of this library, 130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal without σ or ± shows a question mark rather than a traceback.
            stream.reconfigure(errors="replace")
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(_joined(typed))
    options.typed = ["subbundle", *typed]
    try:
        with silenced(options.quiet):
            options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the results has gone, as `head` does; what the interpreter writes at its end must go somewhere.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, TypeError, OSError, ImportError) as error:
        # The library's own messages say what was required, what came and what to write instead.
        return _say(str(error), 2)
    except MemoryError as error:
        return _say(f"there is not enough memory: {str(error) or 'no more can be had'}. Take fewer points.", 2)
    except KeyboardInterrupt:
        print("\nsubbundle: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if os.environ.get("SUBBUNDLE_TRACEBACK"):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        said = f"{type(error).__name__} at {place}: {error}. This is a fault of subbundle; please report it"
        return _say(f"{said}, with what SUBBUNDLE_TRACEBACK=1 shows.", 3)
    return 0


def _joined(words: Sequence[str]) -> list[str]:
    """``words`` with lists of numbers that begin with a minus joined to their option, which they would pass for."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in _LISTS and re.match(r"-[\d.,]", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _say(message: str, code: int) -> int:
    print("subbundle: error:", " ".join(message.split()), file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """Errors in one line instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (try {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="subbundle", description="Learn the geometry of a point cloud.")
    parser.add_argument("--version", action="version", version=f"subbundle {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    demo = commands.add_parser(
        "demo",
        help="make a noisy closed surface and learn it",
        description="Make a noisy closed surface, trace a principal submanifold on it, measure its error against the "
        "true surface, and write a picture and PLY files.",
    )
    demo.add_argument("--n", type=_positive_integer, default=20000, help="number of observations (default 20000)")
    _add_common(demo, "subbundle-demo")
    demo.set_defaults(run=_demo)

    paper = commands.add_parser(
        "paper",
        help="repeat an experiment of the paper",
        description="Repeat experiments of Akhøj, Benn, Grong, Sommer and Pennec, "
        "Principal subbundles for dimension reduction (arXiv:2307.03128).",
    )
    experiments = paper.add_subparsers(required=True, metavar="EXPERIMENT", dest="experiment")
    for name, (module, keyword, usual, text) in _EXPERIMENTS.items():
        experiment = experiments.add_parser(name, help=text)
        if keyword:
            experiment.add_argument(
                "--seeds",
                type=_positive_integer,
                default=usual,
                metavar="N",
                help=f"repeat on N data sets, counted from --seed (default {usual})",
            )
        experiment.set_defaults(run=partial(_paper, module, keyword), own=())
        _add_common(experiment, "subbundle-paper")
    _add_head(experiments.choices["head"])
    for command in ("embed", "distance", "denoise", "reconstruct", "diagnose", "view", "compile"):
        own = import_module(f"subbundle.commands.{command}")
        own_parser = commands.add_parser(command, help=own.HELP, description=own.HELP[0].upper() + own.HELP[1:] + ".")
        own.add_arguments(own_parser)
        _add_quiet(own_parser)
        own_parser.set_defaults(run=own.run)
    return parser


def _add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _add_common(parser: argparse.ArgumentParser, folder: str) -> None:
    _add_quiet(parser)
    parser.add_argument("--seed", type=_seed, default=0, help="seed of the random numbers (default 0)")
    parser.add_argument(
        "--out", type=Path, default=Path(folder), metavar="DIR", help=f"folder for the files (default {folder})"
    )


def _add_head(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--file", type=Path, default=None, help="a scan or a mesh instead of the head made here")
    parser.add_argument("--n", type=_positive_integer, default=30000, help="points drawn from the head (default 30000)")
    parser.add_argument(
        "--base",
        type=_place,
        action="append",
        default=None,
        metavar="X,Y,Z",
        help="start from the observation nearest to this place; give it twice for two pieces",
    )
    parser.set_defaults(own=("file", "n", "base"))


def _place(text: str) -> tuple[float, ...]:
    try:
        place = tuple(float(entry) for entry in text.split(","))
    except ValueError:
        place = ()
    if len(place) != 3 or not all(abs(entry) < float("inf") for entry in place):
        raise argparse.ArgumentTypeError(f"must be three numbers like 0.5,0,-0.1; got {text!r}")
    return place


def _positive_integer(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"must be a positive integer; got {text!r}")
    return int(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be an integer >= 0; got {text!r}")
    return int(text)


def _demo(options: argparse.Namespace) -> None:
    from subbundle.experiments import demo

    demo.run(n=options.n, seed=options.seed, out=options.out)


def _paper(module: str, keyword: str, options: argparse.Namespace) -> None:
    repeats = {keyword: options.seeds} if keyword else {}
    own = {name: getattr(options, name) for name in options.own}
    import_module(f"subbundle.experiments.{module}").run(seed=options.seed, out=options.out, **repeats, **own)
