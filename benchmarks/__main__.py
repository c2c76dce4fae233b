"""``python -m benchmarks [name ...]``: run all or the named benchmarks, print their tables, write ``results/``.

``python -m benchmarks fuzz --minutes 30 --seed 1`` runs the fuzzer for longer, or with other cases;
``python -m benchmarks scale_out --points 100000000`` a larger scene, and so does ``mesh_tiles``;
``python -m benchmarks sensitivity surface`` varies the tuned constants of that folder.
"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from benchmarks._extras import MissingExtraError
from benchmarks._machine import describe, source
from benchmarks._report import markdown, write, write_summary

NAMES = (
    "startup", "force", "kernels", "sphere", "hamiltonian", "field", "dense", "growth", "head", "ridge", "meshing",
    "scans", "round_trip", "noisy_distances", "all_pairs", "embedding", "atlas_embedding", "r50", "riemannian",
    "sphere_curves", "tables", "noisy_tables", "other_tables", "bandwidth", "local_bandwidth", "local_model", "rank",
    "integrability", "fuzz", "viewer", "small_tables", "scale_out", "mesh_tiles", "mesh_speed", "sensitivity",
)  # fmt: skip


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--minutes", type=float, help="how long the fuzzer runs (default: 2)")
    parser.add_argument("--seed", type=int, help="which cases it tries (default: 0)")
    parser.add_argument(
        "--points", type=int, help="size of the scene of scale_out or mesh_tiles (default: 3000000, 2000000)"
    )
    given = parser.parse_args()
    names = given.names or [name for name in NAMES if name != "sensitivity"]
    options: dict[str, Any] = {
        key: value for key in ("minutes", "seed", "points") if (value := getattr(given, key)) is not None
    }
    if names[0] == "sensitivity":
        names, options["folders"] = names[:1], names[1:]
    if {"minutes", "seed"} & set(options) and list(names) != ["fuzz"]:
        parser.error("--minutes and --seed go with fuzz alone: python -m benchmarks fuzz --minutes 30")
    if "points" in options and list(names) not in (["scale_out"], ["mesh_tiles"]):
        parser.error("--points goes with scale_out or mesh_tiles: python -m benchmarks scale_out --points 100000000")
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}. Choose from: {', '.join(NAMES)}")
    state = source()
    for name in names:
        print(f"\n--- {name} ---", flush=True)
        start = time.perf_counter()
        try:
            result = import_module(f"benchmarks.{name}").run(**options)
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
