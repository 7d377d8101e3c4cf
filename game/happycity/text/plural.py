"""Counts in words."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 game" and "2,000 games"."""
    return f"{count:,} {noun}" if abs(count) == 1 else f"{count:,} {noun}s"
