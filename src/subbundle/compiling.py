"""Compiling kernels ahead of time, on several cores.

Numba compiles one kernel at a time within a process and keeps the machine code in its cache. Parts of the library are
therefore compiled by separate processes, each by running a small example once; later processes find the code in
the cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from subbundle._parallel import resolve_jobs
from subbundle._types import SubbundleWarning


def compile_part(name: str) -> None:
    """Compile the kernels of one of `PARTS` in this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SubbundleWarning)  # of data as small as these
        PARTS[name]()


def compile_parts(names: Sequence[str], n_jobs: int | None = None) -> dict[str, int]:
    """Compile ``names`` in up to ``n_jobs`` processes at a time; the exit code of each."""
    waiting, running, codes = list(names), dict[str, subprocess.Popen[bytes]](), dict[str, int]()
    try:
        while waiting or running:
            while waiting and len(running) < resolve_jobs(n_jobs):
                name = waiting.pop(0)
                running[name] = _process(name)
            time.sleep(0.05)  # they run for seconds
            for name in [name for name, process in running.items() if process.poll() is not None]:
                codes[name] = running.pop(name).wait()
    finally:
        for process in running.values():
            _end(process)
    return codes


@contextmanager
def compiled_beside(name: str, kernel: Any) -> Iterator[None]:
    """Compile part ``name`` in a process of its own while the body runs; wait for it at the end.

    Nothing happens on a single core, or when ``kernel``, the largest of the part, is in the cache or would not be kept.
    """
    process = _process(name) if resolve_jobs(None) > 1 and _is_missing(kernel) else None
    try:
        yield
        if process is not None:
            process.wait()
    finally:
        if process is not None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that may still run, because the caller was interrupted or failed."""
    if process.poll() is None:
        process.kill()
    process.wait()


def _process(name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "subbundle", "compile", name, "--here"]
    # The same package as in this process.
    root = str(Path(__file__).resolve().parents[1])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _is_missing(kernel: Any) -> bool:
    """Whether ``kernel`` is not in the cache and could be kept there."""
    return kernel._cache.can_be_kept() and not kernel._cache.is_kept()


def _geodesics() -> None:
    import subbundle as sb

    points = sb.datasets.bumpy_sphere(1000, noise=0.02, seed=0).points
    bundle = sb.PrincipalSubbundle(points, 2, 0.3)
    sb.geodesic(bundle, points[0], [1.0, 0.0], length=0.1)


def _ridge() -> None:
    from subbundle.cloud import Cloud
    from subbundle.datasets import bumpy_sphere
    from subbundle.local.model import fit_local

    # Without a bundle, whose typical mass and frames are compiled by another part.
    points = bumpy_sphere(1000, noise=0.02, seed=0).points
    fit_local(Cloud(points), points[:2].copy(), 0.3, 2, steps=3)


def _many_dimensions() -> None:
    import numpy as np

    import subbundle as sb

    points = np.random.default_rng(0).normal(size=(500, 20))
    points[:, 2:] *= 0.01
    bundle = sb.PrincipalSubbundle(points, 2, 0.5)
    start = points[np.argmin(np.linalg.norm(points, axis=1))]
    sb.geodesic(bundle, start, [1.0, 0.0], length=0.1)
    sb.ridge_project(bundle, start[None])


def _charts() -> None:
    import numpy as np

    import subbundle as sb

    sb.PrincipalSubmanifold(2, bandwidth=0.4).fit(sb.datasets.s_surface(1000, noise=0.02, seed=0).points)
    block = np.random.default_rng(0).uniform(size=(1000, 4)) * [1.0, 1.0, 1.0, 0.02]
    sb.PrincipalSubmanifold(3, bandwidth=0.25, radius=0.3, denoise=False).fit(block)


def _surfaces() -> None:
    import subbundle as sb

    sb.reconstruct(sb.datasets.torus(3000, noise=0.02, seed=0).points)


def _tiles() -> None:
    import subbundle as sb

    with TemporaryDirectory() as folder:
        sb.distributed.reconstruct(sb.datasets.torus(1000, noise=0.02, seed=0).points, f"{folder}/mesh.ply")


def _manifold_data() -> None:
    import numpy as np

    import subbundle as sb

    angles, heights = np.random.default_rng(0).normal(size=(2, 300)) * [[0.5], [0.02]]
    points = np.stack([np.cos(angles), np.sin(angles), heights], axis=1)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    bundle = sb.RiemannianSubbundle(points, 1, 0.2, space=sb.spaces.Sphere(2))
    sb.geodesic(bundle, points[0], [1.0], length=0.1)


def _embedding() -> None:
    import subbundle as sb

    sb.AtlasEmbedding(2).fit(sb.datasets.s_surface(1000, noise=0.02, seed=0).points)


PARTS = {
    "geodesics": _geodesics,
    "ridge": _ridge,
    "many-dimensions": _many_dimensions,
    "charts": _charts,
    "surfaces": _surfaces,
    "tiles": _tiles,
    "embedding": _embedding,
    "manifold-data": _manifold_data,
}
