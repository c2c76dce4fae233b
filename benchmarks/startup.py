"""What a user waits for: the import, the first call in a new environment, and every later process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from benchmarks._report import Bar, Result, Table

REPEATS = 5
_IMPORT = """
import time; start = time.perf_counter()
import subbundle
print(time.perf_counter() - start)
"""
_LOADED = """
import time; start = time.perf_counter()
import subbundle; subbundle.PrincipalSubbundle; subbundle.geodesic
print(time.perf_counter() - start)
"""
_JOB = """
import time; start = time.perf_counter()
import numpy as np, subbundle as sb
points = np.random.default_rng(0).standard_normal((2000, 3))
points /= np.linalg.norm(points, axis=1, keepdims=True)
called = time.perf_counter()
bundle = sb.PrincipalSubbundle(points, rank=2, bandwidth=0.2)
bundle.field(points[:1], points[1:2])
first = time.perf_counter() - called
curve = sb.geodesic(bundle, points[0], [1.0, 0.0], length=1.0)
assert curve.status == sb.Status.OK
print(first)
"""


def _process(code: str, environment: dict[str, str]) -> tuple[float, float, str]:
    """Seconds of the whole process, the seconds it prints, and what it says on standard error."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, float(done.stdout), done.stderr.strip()


def run() -> Result:
    environment = dict(os.environ)
    imports = [_process(_IMPORT, environment)[1] for _ in range(REPEATS)]
    loads = [_process(_LOADED, environment)[1] for _ in range(REPEATS)]
    with tempfile.TemporaryDirectory() as folder:
        environment["NUMBA_CACHE_DIR"] = folder
        whole, first, said = _process(_JOB, environment)
        later = [_process(_JOB, environment)[0] for _ in range(REPEATS)]
    quiet = "nothing" if not said else f"“{said}”"
    import_seconds, later_seconds = float(np.median(imports)), float(np.median(later))
    rows = [
        ["import subbundle", import_seconds],
        ["import, and load what a bundle and a geodesic need", float(np.median(loads))],
        ["empty cache: bundle on 2000 points and one field, compiling included", first],
        ["empty cache: the whole process, one geodesic included", whole],
        ["filled cache: the whole process, one geodesic included", later_seconds],
    ]
    return Result(
        title="start-up",
        method=(
            f"Fresh processes; medians of {REPEATS}, except with an empty compilation cache, which is one run. On its first "
            f"call the library said {quiet}"
        ),
        tables=[Table(["", "seconds"], rows)],
        bars=[
            Bar("import subbundle", import_seconds, 0.5, unit="s"),
            Bar("first call with an empty cache, compiling included", first, 20.0, unit="s"),
            Bar("a later process: start, bundle, geodesic, end", later_seconds, 2.0, unit="s"),
        ],
    )
