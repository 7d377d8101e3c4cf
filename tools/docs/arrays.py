"""Print the page of the site with the actions and observations of self-play and environments."""

from __future__ import annotations

import sys
from itertools import groupby

from happycity import CARDS, MoveKind
from happycity.rules.cards import DWELLINGS, SPECIALS
from happycity_envs.selfplay import ACTIONS, Observations

PLAYERS = 4
SHOWN = 10
"""Longer lists of moves are shown by their ends."""


def actions() -> str:
    """Return the table of all actions: a row for each kind of move."""
    rows = []
    for kind, group in groupby(enumerate(ACTIONS), key=lambda each: each[1].kind):
        numbered = list(group)
        first, last = numbered[0][0], numbered[-1][0]
        numbers = f"{first}" if first == last else f"{first} to {last}"
        rows.append(f"| {numbers} | {_moves(kind, [str(move) for _, move in numbered], first)} |\n")
    return "| numbers | moves |\n|---|---|\n" + "".join(rows)


def _moves(kind: MoveKind, moves: list[str], first: int) -> str:
    word = kind.name.lower()
    if moves == [word]:
        return f"`{word}`"
    objects = [move.removeprefix(f"{word} ") for move in moves]
    if len(objects) > SHOWN:
        return (
            f"`{word}` with the cards from `{objects[0]}` to `{objects[-1]}`, in the order of their numbers"
        )
    return f"`{word}` with " + ", ".join(f"{number} `{each}`" for number, each in enumerate(objects, first))


def observations() -> str:
    """Return the table of all planes, with their places at a table of four."""
    rows = []
    for plane, seat, place in Observations(PLAYERS).parts():
        if seat:
            continue
        whose = "each seat" if plane.each_seat else "table"
        where = f"{place.start}" if plane.size == 1 else f"{place.start} to {place.stop - 1}"
        rows.append(f"| {where} | {whose} | `{plane.name}` | {plane.size} | {plane.meaning} |\n")
    seats = Observations(PLAYERS).seat_size
    return (
        "| places, 4 players | of | plane | numbers | content |\n|---|---|---|---:|---|\n"
        + "".join(rows)
        + f"\nThe places of a seat are those of the observer's own; another seat is {seats} numbers on.\n"
        f"Of the {len(CARDS)} cards, the last {len(SPECIALS)} are the specials; the dwellings are"
        f" {', '.join(f'`{card}`' for card in DWELLINGS)}.\n"
    )


def arrays_page() -> str:
    """Return the page, as Markdown."""
    return (
        "# Actions and observations\n\n"
        "The numbers of all moves and the planes of an observation, which [external AIs](../external-ais.md)"
        f" share.\n\n## Actions\n\n{actions()}\n## Observations\n\n{observations()}"
    )


def main() -> None:
    """Print the page."""
    sys.stdout.write(arrays_page())
