"""``python -m benchmarks [name ...]``: run all or the named benchmarks, print their tables, write ``results/``."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from importlib import import_module

from benchmarks._extras import MissingExtraError
from benchmarks._machine import describe, source
from benchmarks._report import markdown, write, write_summary

NAMES = (
    "startup", "force", "sphere", "hamiltonian", "field", "dense", "growth", "head", "ridge", "meshing",
    "round_trip", "noisy_distances", "embedding", "atlas_embedding", "r50", "riemannian", "sphere_curves",
    "bandwidth", "local_bandwidth", "rank", "integrability",
)  # fmt: skip


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of: {', '.join(NAMES)} (default: all)")
    names = parser.parse_args().names or NAMES
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}. Choose from: {', '.join(NAMES)}")
    state = source()
    for name in names:
        print(f"\n--- {name} ---", flush=True)
        start = time.perf_counter()
        try:
            result = import_module(f"benchmarks.{name}").run()
        except MissingExtraError as missing:
            print(f"left out: {missing}")
            continue
        seconds = time.perf_counter() - start
        measured = state if source() == state else f"{state}, edited during the run"
        date = datetime.now(UTC).date().isoformat()
        write(name, result, machine=describe(), source=measured, date=date, seconds=seconds)
        print(markdown(result), f"\n\n({seconds:.0f} s)", flush=True)
    print(f"\nwrote {write_summary(NAMES)}")


if __name__ == "__main__":
    main()
