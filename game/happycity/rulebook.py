"""The numbers of the rules that no card tells."""

from __future__ import annotations

START_COINS = 2
"""Article 2.5."""
CENTRE_SIZE = 3
"""Buildings face up in the centre after a draw step (article 3.4)."""
CITY_SIZE = 10
"""Positions of a city (article 3.9)."""
LAST_ROUND = 30
"""The round that ends a game at the latest (article 4.5)."""
