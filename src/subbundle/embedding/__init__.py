"""A whole submanifold laid out in R^k."""
