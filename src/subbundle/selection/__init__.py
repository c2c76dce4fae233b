"""Selection from the data: bandwidth, rank, components above the noise, base point, radius."""

from subbundle.selection.bandwidth import BandwidthChoice, choose_bandwidth
from subbundle.selection.base_point import BasePointChoice, choose_base_point
from subbundle.selection.local_bandwidth import LocalChoice, choose_local_bandwidth
from subbundle.selection.radius import RadiusChoice, choose_radius
from subbundle.selection.rank import RankChoice, choose_rank

__all__ = [
    "BandwidthChoice", "BasePointChoice", "LocalChoice", "RadiusChoice", "RankChoice", "choose_bandwidth",
    "choose_base_point", "choose_local_bandwidth", "choose_radius", "choose_rank",
]  # fmt: skip
