"""Measurements of what the library claims: accuracy, speed, growth, start-up. Run: ``python -m benchmarks``."""
