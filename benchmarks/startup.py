"""Start-up time: the import, the first call in a new environment, and every later process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np

from benchmarks._report import Bar, Result, Table

REPEATS = 5
_START = "import time; start, used = time.perf_counter(), time.process_time()\n"
_STOP = "print(time.perf_counter() - start, time.process_time() - used)\n"
_IMPORT = f"{_START}import subbundle\n{_STOP}"
_LOADED = f"{_START}import subbundle; subbundle.PrincipalSubbundle; subbundle.geodesic\n{_STOP}"
_JOB = f"""{_START}
import numpy as np, subbundle as sb
points = np.random.default_rng(0).standard_normal((2000, 3))
points /= np.linalg.norm(points, axis=1, keepdims=True)
bundle = sb.PrincipalSubbundle(points, rank=2, bandwidth=0.2)
bundle.field(points[:1], points[1:2])
{_STOP}
curve = sb.geodesic(bundle, points[0], [1.0, 0.0], length=1.0)
assert curve.status == sb.Status.OK
"""


@dataclass(frozen=True, slots=True)
class Process:
    """Seconds of the whole process, seconds and processor seconds that it prints, and its standard error."""

    whole: float
    inside: float
    processor: float
    said: str


def process(code: str, environment: dict[str, str]) -> Process:
    """Run ``code`` in a fresh interpreter."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    whole = time.perf_counter() - start
    inside, processor = map(float, done.stdout.split())
    return Process(whole, inside, processor, done.stderr.strip())


def _median(runs: list[Process], name: str) -> float:
    return float(np.median([getattr(run, name) for run in runs]))


def run() -> Result:
    environment = dict(os.environ)
    imports = [process(_IMPORT, environment) for _ in range(REPEATS)]
    loads = [process(_LOADED, environment) for _ in range(REPEATS)]
    with tempfile.TemporaryDirectory() as folder:
        environment["SUBBUNDLE_CACHE_DIR"] = folder
        first = process(_JOB, environment)
        later = [process(_JOB, environment) for _ in range(REPEATS)]
    quiet = "nothing" if not first.said else f"“{first.said}”"
    rows = [
        ["import subbundle", _median(imports, "inside"), _median(imports, "processor")],
        ["import, and load what a bundle and a geodesic need", _median(loads, "inside"), _median(loads, "processor")],
        ["empty cache: import, bundle on 2000 points, one field", first.inside, first.processor],
        ["filled cache: the same", _median(later, "inside"), _median(later, "processor")],
        ["filled cache: the whole process, one geodesic included", _median(later, "whole"), ""],
    ]
    return Result(
        title="start-up",
        method=(
            f"Fresh processes; medians of {REPEATS}, except with an empty compilation cache, which is one run. On its "
            f"first call the library said {quiet}"
        ),
        tables=[Table(["", "seconds", "processor seconds"], rows)],
        bars=[
            Bar("import subbundle", _median(imports, "inside"), 0.5, unit="s"),
            Bar("first call with an empty cache, import and compiling included", first.inside, 8.0, unit="s"),
            Bar("a later process: start, bundle, geodesic, end", _median(later, "whole"), 2.0, unit="s"),
        ],
    )
