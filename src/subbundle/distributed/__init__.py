"""Clouds and tables larger than memory, on Dask: tiles with halos, one job runner, and the jobs.

Names are loaded when they are first used, and Dask when one of them is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_PLACES = {
    "Denoised": "denoise_job",
    "Embedded": "embed_job",
    "JobError": "runner",
    "Results": "runner",
    "TilePlan": "tiles",
    "TilePoints": "tiles",
    "TiledMesh": "mesh_job",
    "cluster": "workers",
    "denoise": "denoise_job",
    "embed": "embed_job",
    "plan_tiles": "plan",
    "reconstruct": "mesh_job",
    "run": "runner",
}

__all__ = [*_PLACES]

if TYPE_CHECKING:
    from subbundle.distributed.denoise_job import Denoised as Denoised
    from subbundle.distributed.denoise_job import denoise as denoise
    from subbundle.distributed.embed_job import Embedded as Embedded
    from subbundle.distributed.embed_job import embed as embed
    from subbundle.distributed.mesh_job import TiledMesh as TiledMesh
    from subbundle.distributed.mesh_job import reconstruct as reconstruct
    from subbundle.distributed.plan import plan_tiles as plan_tiles
    from subbundle.distributed.runner import JobError as JobError
    from subbundle.distributed.runner import Results as Results
    from subbundle.distributed.runner import run as run
    from subbundle.distributed.tiles import TilePlan as TilePlan
    from subbundle.distributed.tiles import TilePoints as TilePoints
    from subbundle.distributed.workers import cluster as cluster


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'subbundle.distributed' has no attribute {name!r}")
    value = getattr(import_module(f"subbundle.distributed.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
