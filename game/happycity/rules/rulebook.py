"""Numbers and formulas of the rules that no card carries."""

from __future__ import annotations

from typing import Final

from happycity.rules.deals import Config, Scoring

EDITION: Final = 1
"""The edition of the rules that is played here: a change of what a rule says makes a new one."""
START_COINS: Final = 2
"""Article 2.5."""
CENTRE_SIZE: Final = 3
"""Buildings face up in the centre after a draw step (article 3.4)."""
CITY_SIZE: Final = 10
"""Positions of a city (article 3.9)."""
LAST_ROUND: Final = 30
"""The round that ends a game at the latest (article 4.5)."""


def happiness(config: Config, inhabitants: int, hearts: int) -> int:
    """Return the points of a city with these sums, each of which counts at least 0 (articles 4.2, 4.3)."""
    inhabitants, hearts = max(0, inhabitants), max(0, hearts)
    return inhabitants * hearts if config.scoring is Scoring.PRODUCT else inhabitants + hearts
