"""Measurements of what the library claims: accuracy, speed, growth, start-up. Run them with ``python -m benchmarks``."""
