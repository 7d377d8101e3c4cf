"""What the templates of a game show of it, at one of its positions."""

from __future__ import annotations

from typing import Any

from happycity import CARDS, DWELLINGS, Card, CardKind, Mode
from happycity.records.record import Json
from happycity_viewer.plies import encode


def game_values(
    game: Json, *, ply: int, seat: int, text: str = "", record_link: str = "", back: str = ""
) -> dict[str, Any]:
    """Return what `viewer.html` shows of a game after `ply` decisions, with `seat`, from 1, first.

    `text` is the game encoded, if that is done already. `record_link` is where its record can be downloaded,
    `back` the page of its tournament; empty without one.
    """
    players = len(game["bots"])
    incidents = [shown["ply"] for shown in game["plies"] if "incidents" in shown]
    return {
        "game": game,
        "game_text": text or encode(game),
        "ply": game["plies"][ply],
        "last": len(game["plies"]) - 1,
        "seat": seat,
        "seats": [(seat - 1 + offset) % players for offset in range(players)],
        "dwellings": DWELLINGS,
        "faces": _faces(game),
        "incidents": incidents,
        "next_incident": next((number for number in incidents if number > ply), (*incidents, ply)[0]),
        "record_link": record_link,
        "back": back,
        "practice": False,
        "embed": False,
    }


def _faces(game: Json) -> list[Card]:
    """Return the cards that the positions of a game show; of one that goes on, all that may come."""
    if game["end"] is None:
        mode = Mode(game["mode"])
        return [card for card in CARDS if _belongs_to(mode, card)]
    shown = {
        id for ply in game["plies"] for ids in (ply["centre"], ply["specials"], *ply["cities"]) for id in ids
    }
    return [card for card in CARDS if card.id in shown or card in DWELLINGS]


def _belongs_to(mode: Mode, card: Card) -> bool:
    """Return whether a game of a mode can show a card."""
    if card.kind is CardKind.MARKET:
        return (card.colour is None) == (mode is Mode.FAMILY)
    return card.special_set in (None, mode)
