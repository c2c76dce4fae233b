"""The neighbour graph: edges along the local tangent spaces, arc lengths, connected components, shortest paths."""

from subbundle.graph.neighbor_graph import NeighborGraph, neighbor_graph

__all__ = ["NeighborGraph", "neighbor_graph"]
