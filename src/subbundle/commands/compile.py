"""``subbundle compile``: compile the kernels now, on all cores, and not in the first call of each."""

from __future__ import annotations

import argparse

from subbundle import compiling
from subbundle._progress import Progress
from subbundle.bundles.hamiltonian import field_batch


def run(options: argparse.Namespace) -> None:
    """Compile, and print where the machine code went."""
    unknown = [part for part in options.parts if part not in compiling.PARTS]
    if unknown:
        raise ValueError(f"PART must be one of {', '.join(compiling.PARTS)}; got {unknown[0]!r}.")
    parts = options.parts or list(compiling.PARTS)
    progress = Progress()
    progress.stage(f"compiling: {', '.join(parts)}")
    if options.here:
        for part in parts:
            compiling.compile_part(part)
    else:
        failed = [part for part, code in compiling.compile_parts(parts, options.jobs).items() if code != 0]
        if failed:
            raise OSError(
                f"all parts must compile; {', '.join(failed)} did not. See why: subbundle compile {failed[0]} --here"
            )
    print(f"compiled {', '.join(parts)}, kept beside {field_batch.stats.cache_path}")
