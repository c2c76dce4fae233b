"""Observations and the search tree that the kernels read."""

from subbundle.cloud.cloud import Cloud

__all__ = ["Cloud"]
