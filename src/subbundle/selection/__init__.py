"""Choices made from the data: bandwidth, components above the noise, base point."""

from subbundle.selection.bandwidth import BandwidthChoice, choose_bandwidth

__all__ = ["BandwidthChoice", "choose_bandwidth"]
