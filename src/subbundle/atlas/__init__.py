"""Atlases: charts that cover a whole submanifold together."""
