"""Benchmarks: what the figures in docs/performance.md are made with."""
