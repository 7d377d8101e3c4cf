"""Writing game records: one JSON object a line, in the format "happycity-record/1" of `docs/protocol.md`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from happycity.errors import RecordError, other_format
from happycity.match import Ending, Incident
from happycity.rules.cards import Card, Mode
from happycity.rules.deals import Config, Deal
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import Outcome
from happycity.rules.views import View

FORMAT = "happycity-record/1"

Json = dict[str, Any]  # a JSON object: its values are checked as they are read
_EXACT_BELOW = 2**53  # whole numbers that every reader of JSON reads as they are


class Recorder:
    """Collects the moves of one game and makes its record."""

    def __init__(self, deal: Deal, *, trace: Callable[[Game], Json] | None = None) -> None:
        self._deal = deal
        self._trace = trace
        self.moves: list[tuple[int, Move]] = []
        """Seat and move of each decision so far."""
        self._traced: list[Json] = []

    def add(self, game: Game, move: Move) -> None:
        """Note that the seat to decide will play `move`; call it before the move is applied."""
        self.moves.append((game.seat, move))
        if self._trace is not None:
            self._traced.append(self._trace(game))

    def record(
        self,
        game: Game,
        *,
        endings: Sequence[Ending] = (),
        reasons: Sequence[str] = (),
        clock: Json | None = None,
        metrics: Sequence[Json] = (),
        incidents: Sequence[Incident] = (),
        choosers: Mapping[int, str] | None = None,
    ) -> Json:
        """Return the record of the `game`; one that is not finished has no outcome yet.

        `endings` and `reasons` of forfeits are by seat, empty if all finished; `clock` and `metrics` are by
        `clock_json` and `metrics_json`; `choosers` names by decision, from 1, what chose in the place of the
        seat's player.
        """
        lines: list[Json] = [{"seat": seat, "move": move.text} for seat, move in self.moves]
        for line, traced in zip(lines, self._traced, strict=False):
            line.update(traced)
        for decision, chooser in (choosers or {}).items():
            lines[decision - 1]["by"] = chooser
        record: Json = {
            "format": FORMAT,
            "config": config_json(self._deal.config),
            "deal": {**deal_json(self._deal), "reshuffles": reshuffles_json(game.reshuffles)},
            "moves": lines,
            **({} if game.outcome is None else {"outcome": outcome_json(game.outcome)}),
            "endings": [ending.value for ending in endings or [Ending.FINISHED] * self._deal.config.players],
        }
        if any(reasons):
            record["reasons"] = list(reasons)
        if clock is not None:
            record["clock"] = clock
        if metrics:
            record["metrics"] = list(metrics)
        if incidents:
            record["incidents"] = list(map(incident_json, incidents))
        return record


def clock_json(*, think_us: Sequence[int], round_trip_us: Sequence[int]) -> Json:
    """Return the times in a server's record, in microseconds.

    They are those that each decision took, 0 if the bot was not asked, and each seat's last round trip that
    was measured, 0 if none was.
    """
    return {"think_us": list(think_us), "round_trip_us": list(round_trip_us)}


def metrics_json(decision: int, values: Mapping[str, float]) -> Json:
    """Return finite numbers that a bot sent with the answer to a decision, the place of a move from 1."""
    return {"decision": decision, "values": {name: _shortest(number) for name, number in values.items()}}


def incident_json(incident: Incident) -> Json:
    """Return what went wrong for a seat in the form of a record's `incidents`."""
    return {
        "decision": incident.decision_id,
        "seat": incident.seat,
        "kind": incident.kind.value,
        "text": incident.text,
    }


def dumps(record: Json) -> str:
    """Return the record as one line of JSON, always the same for the same game."""
    return json.dumps(record, separators=(",", ":"))


def loads(line: str) -> Json:
    """Read one line; `replay` checks what is in it.

    Raises:
        RecordError: the line is not a JSON object in this format.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise RecordError("not a JSON object")
    if record.get("format") != FORMAT:
        raise RecordError(other_format(record.get("format"), FORMAT))
    return record


def trace(game: Game) -> Json:
    """Return what a traced record has of the position before a move: legal moves and state."""
    return {"legal": [move.text for move in game.legal_moves], "state": state_json(game.view())}


def state_json(view: View) -> Json:
    """Return a view in the form of a record's `state`."""
    return {
        "round": view.round,
        "seat": view.seat,
        "phase": str(view.phase),
        "coins": list(view.coins),
        "income": list(view.incomes),
        "cities": [_ids(city) for city in view.cities],
        "centre": _ids(view.centre),
        "specials": _ids(view.specials),
        "dwellings": view.dwellings_left(),
        "decks": list(view.decks),
        "discards": list(map(len, view.discards)),
        # Nothing in a family game is limited, and its records keep the form they had from the first.
        **({"uses": list(view.uses)} if view.config.mode is Mode.EXPERT else {}),
    }


_OUTCOME_FIELDS = fields(Outcome)


def outcome_json(outcome: Outcome) -> Json:
    """Return an outcome in the form of a record's `outcome`."""
    return {field.name: list(getattr(outcome, field.name)) for field in _OUTCOME_FIELDS}


def _shortest(number: float) -> object:
    """Return a whole number as an int, which JSON writes without a point, in compiled code too."""
    if float(number).is_integer() and abs(number) < _EXACT_BELOW:
        return int(number)
    return number


def _ids(cards: Iterable[Card]) -> list[str]:
    return [card.id for card in cards]


def config_json(config: Config) -> Json:
    """Return a kind of game in the form of a record's `config`."""
    return {"players": config.players, "mode": config.mode.value, "scoring": config.scoring.value}


def deal_json(deal: Deal) -> Json:
    """Return a deal in the form of a record's `deal`, to which the reshuffles of its game belong."""
    return {
        "seed": deal.seed,
        "decks": [_ids(deck) for deck in deal.decks],
        "specials": _ids(deal.specials),
        "box": _ids(deal.box),
    }


def reshuffles_json(reshuffles: Iterable[tuple[int, tuple[Card, ...]]]) -> list[Json]:
    """Return the decks rebuilt in a game in the form of a record's `reshuffles`."""
    return [{"deck": deck, "order": _ids(order)} for deck, order in reshuffles]
