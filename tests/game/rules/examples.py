"""Examples of the articles of RULES.md as text: a position or a deal, moves, and what comes of them.

The files in `articles/` are written by hand but for the indented lines, which are made from the rules by
`python -m tests.game.rules.examples`. A change of them is to be read like a change of the rules.

    position buy; coins 9 4; cities school | house zoo; centre museum spa bank
    > build museum
    > 3 neutral moves

As in `positions.view_with`, what isn't said is as plain as can be. Seats are separated by `|`, and `-` is an
empty city; `again` goes back to the last position.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.game.rules.positions import position, stacked_deal

from happycity import CARDS, Event, EventKind, Game, Mode, Move, Phase, Scoring

FILES = sorted((Path(__file__).parent / "articles").glob("*.txt"))
_OFTEN = (EventKind.KEEP, EventKind.DISCARD, EventKind.DRAW, EventKind.COIN, EventKind.DECLINE)
"""What is left out of the events of neutral moves."""
_GIVEN = ("dwellings", *(f"city {seat}" for seat in range(5)))
"""What the lines of positions say themselves."""
_CHANGED_BY_EVENTS = ("coins", "discards")
"""What they say too, unless something has happened there."""


def _numbers(text: str) -> list[int]:
    return [*map(int, text.split())]


def _by_seat(text: str) -> list[str]:
    return ["" if city == "-" else city for city in text.split(" | ")]


_READERS: dict[str, Callable[[str], Any]] = {
    "mode": Mode,
    "scoring": Scoring,
    "centre": str,
    "specials": str,
    "box": str,
    "cities": _by_seat,
    "decks": _by_seat,
    "markets": str.split,
    **dict.fromkeys(("coins", "discards", "dwellings", "uses"), _numbers),
    **dict.fromkeys(("players", "round", "seat", "seed"), int),
}


def made_again(text: str, ask: Callable[[str, Game], str] | None = None) -> str:
    """Return the text of a file with its indented lines made again.

    Where players are asked by a line such as `? planner`, `ask` returns the move of a player in a position.
    """
    lines: list[str] = []
    table = None
    for line in text.splitlines():
        if line.startswith("    "):
            continue
        lines.append(line)
        if line.startswith(("position ", "deal ")):
            table = Table(line)
            lines += table.shown()
        elif line == "again":
            assert table is not None
            table = Table(table.line)
            table.shown()
        elif line.startswith("? "):
            assert table is not None
            assert ask is not None
            lines += [f"    {name}: {ask(name, table.game)}" for name in line.split()[1:]]
        elif line.startswith("> "):
            assert table is not None
            table.play(line.removeprefix("> "))
            lines += table.shown()
    return "\n".join(lines) + "\n"


class Table:
    """A game of an example, and what was shown of it."""

    def __init__(self, line: str) -> None:
        self.line = line
        (kind, _, first), *more = [part.partition(" ") for part in line.split("; ")]
        setup = {name: _READERS[name](value) for name, _, value in more}
        deals = kind == "deal"
        self.game = Game(stacked_deal(**setup)) if deals else position(Phase[first.upper()], **setup)
        self.events = [*self.game.events]
        known = _GIVEN if self.events else (*_GIVEN, *_CHANGED_BY_EVENTS)
        self._shown = {name: part for name, part in _parts(self.game).items() if name in known}

    def play(self, moves: str) -> None:
        """Play a move, or a number of neutral ones, of which only remarkable events are shown."""
        count = moves.removesuffix(" neutral moves")
        if count == moves:
            self.game.apply(Move.parse(moves))
            self.events = [*self.game.events]
            return
        self.events = []
        for _ in range(int(count)):
            self.game.apply(self.game.neutral_move)
            self.events += [event for event in self.game.events if event.kind not in _OFTEN]

    def shown(self) -> Iterator[str]:
        """Yield the last events, what has changed since the last time, and who is to move."""
        now = _parts(self.game)
        changed = [part for name, part in now.items() if part != self._shown.get(name, "")]
        self._shown = now
        lines = ("; ".join(map(_event, self.events)), "; ".join(changed), _turn(self.game))
        return (f"    {line}" for line in lines if line)


def _event(event: Event) -> str:
    """Return kind, seat, card and numbers of an event, as far as it has them."""
    what = event.kind.name.lower().replace("_", " ")
    about = [event.card.id] if event.card else [f"{event.deck}"] if event.deck else []
    about += [f"{event.coins:+}"] if event.coins else [f"{event.round}"] if event.round else []
    whose = "" if event.kind is EventKind.ROUND_STARTED else f"seat {event.seat} "
    return whose + " ".join([what, *about])


def _parts(game: Game) -> dict[str, str]:
    """Return what is to be seen of a position, by name; parts without anything remarkable are empty."""
    view = game.view()
    seats = range(view.config.players)
    rows: dict[str, Iterable[object]] = {
        "coins": view.coins,
        "incomes": view.incomes,
        "uses": view.uses if any(view.uses) else (),
        "dwellings": view.dwellings,
        "discards": map(len, view.discards) if any(view.discards) else (),
        **{f"city {seat}": [card.id for card in view.cities[seat][1:]] for seat in seats},
        **{f"prices of {seat}": [*_unusual_prices(game, seat)] for seat in seats},
    }
    return {name: f"{name} {text}" if (text := _row(row)) else "" for name, row in rows.items()}


def _turn(game: Game) -> str:
    """Return who may do what, or the outcome."""
    if game.outcome is None:
        return f"round {game.round}, seat {game.seat}: {', '.join(map(str, game.legal_moves))}"
    return "; ".join(f"{name} {_row(row)}" for name, row in asdict(game.outcome).items())


def _row(values: Iterable[object]) -> str:
    return " ".join(map(str, values))


def _unusual_prices(game: Game, seat: int) -> Iterator[str]:
    prices = game.cities.prices[seat]
    return (f"{card.id}={prices[card.number]}" for card in CARDS if prices[card.number] != card.cost)


if __name__ == "__main__":
    for file in FILES:
        file.write_text(made_again(file.read_text("utf-8")), "utf-8")
