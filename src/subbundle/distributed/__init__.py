"""Clouds and tables larger than memory, on Dask: tiles with halos, one job runner, and the jobs.

Nothing here is needed, and Dask is not imported, until one of these is called.
"""

from subbundle.distributed.cluster import cluster
from subbundle.distributed.denoise_job import Denoised, denoise
from subbundle.distributed.embed_job import Embedded, embed
from subbundle.distributed.plan import plan_tiles
from subbundle.distributed.runner import JobError, Results, run
from subbundle.distributed.tiles import TilePlan, TilePoints

__all__ = [
    "Denoised",
    "Embedded",
    "JobError",
    "Results",
    "TilePlan",
    "TilePoints",
    "cluster",
    "denoise",
    "embed",
    "plan_tiles",
    "run",
]
