"""Choices made from the data: bandwidth, rank, components above the noise, base point."""

from subbundle.selection.bandwidth import BandwidthChoice, choose_bandwidth
from subbundle.selection.local_bandwidth import LocalChoice, choose_local_bandwidth
from subbundle.selection.rank import RankChoice, choose_rank

__all__ = [
    "BandwidthChoice",
    "LocalChoice",
    "RankChoice",
    "choose_bandwidth",
    "choose_local_bandwidth",
    "choose_rank",
]
