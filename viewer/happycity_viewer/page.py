"""What the templates of a game show of it, at one of its positions."""

from __future__ import annotations

from typing import Any

from happycity import CARDS, DWELLINGS, Card, CardKind, Mode
from happycity.records import Json


def game_values(game: Json, *, ply: int, seat: int) -> dict[str, Any]:
    """Return what the templates show of a game after `ply` decisions, with `seat`, from 1, first."""
    players = len(game["bots"])
    return {
        "game": game,
        "ply": game["plies"][ply],
        "last": len(game["plies"]) - 1,
        "seat": seat,
        "seats": [(seat - 1 + offset) % players for offset in range(players)],
        "dwellings": DWELLINGS,
        "faces": _faces(Mode(game["mode"])),
    }


def _faces(mode: Mode) -> list[Card]:
    """Return the cards that a game of a mode can show."""
    return [
        card
        for card in CARDS
        if card.special_set in (None, mode)
        and (card.kind is not CardKind.MARKET or (card.colour is None) == (mode is Mode.FAMILY))
    ]
