"""The local model of a cloud: what its neighbourhood of a point looks like."""
