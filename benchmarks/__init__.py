"""Measurements of accuracy, speed, growth and start-up. Run: ``python -m benchmarks``."""
