"""``subbundle compile``: compile the kernels now, on all cores, and not in the first call of each."""

from __future__ import annotations

import argparse

from subbundle.commands._options import positive_integer

HELP = "compile the kernels ahead of their first use, for instance when a container is built"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``compile``."""
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these parts of the library (default: all)")
    parser.add_argument("--here", action="store_true", help="in this process, one part after the other")
    parser.add_argument(
        "--jobs", type=positive_integer, default=None, metavar="N", help="processes (default: a core each)"
    )


def run(options: argparse.Namespace) -> None:
    """Compile, and say where the machine code went."""
    from subbundle._progress import Progress
    from subbundle.bundles._pointwise import field_batch
    from subbundle.compiling import PARTS, compile_part, compile_parts

    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        raise ValueError(f"PART must be one of {', '.join(PARTS)}; got {unknown[0]!r}.")
    parts = options.parts or list(PARTS)
    progress = Progress()
    progress.stage(f"compiling: {', '.join(parts)}")
    if options.here:
        for part in parts:
            compile_part(part)
    else:
        failed = [part for part, code in compile_parts(parts, options.jobs).items() if code != 0]
        if failed:
            raise OSError(
                f"all parts must compile; {', '.join(failed)} did not. See why: subbundle compile {failed[0]} --here"
            )
    print(f"compiled {', '.join(parts)}, kept beside {field_batch.stats.cache_path}")
