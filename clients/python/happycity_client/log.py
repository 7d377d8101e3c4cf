"""The log of a bot's program: what its author should know, with times and places."""

from __future__ import annotations

import logging
import time


def log_to_stderr() -> None:
    """Log lines such as `2026-11-22T15:23:03Z INFO mine: ...` in UTC, unless the program logs already."""
    formatter = logging.Formatter("%(asctime)s %(levelname)s %(message)s", datefmt="%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.INFO)


def place(match_id: int, *, game_round: int = 0, decision_id: int = 0) -> str:
    """Name a place in a game, such as `match 7, round 1, decision 3`, without what is 0."""
    parts = {"match": match_id, "round": game_round, "decision": decision_id}
    return ", ".join(f"{name} {number}" for name, number in parts.items() if number)
