"""Benchmarks: what the figures in docs/research/measurements.md are made with."""
