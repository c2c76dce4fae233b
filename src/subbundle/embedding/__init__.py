"""Embedding of a whole submanifold in R^k."""
