"""Game records: writing them, reading them, and checking them by replay.

A record is one JSON object a line, in the format "happycity-record/1" that `docs/protocol.md` describes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from happycity.cards import CARDS_BY_ID, Card, Mode
from happycity.deals import Config, Deal, Scoring
from happycity.errors import ConfigError, DealError, HappyCityError, RecordError, ReplayError
from happycity.game import Game
from happycity.moves import Move
from happycity.scoring import Outcome, rank
from happycity.views import View

FORMAT = "happycity-record/1"
FINISHED = "finished"
FORFEIT_REASONS = ("timeout", "illegal", "disconnected", "resigned", "absent", "disqualified")
ENDINGS = (FINISHED, *(f"forfeit:{reason}" for reason in FORFEIT_REASONS))
"""The ways in which a seat's game may end in a server's record."""

MEASUREMENTS = ("clock", "metrics")
"""The keys of a server's record that tell of the bots, not of the game."""

Json = dict[str, Any]  # a JSON object: its values are checked as they are read
_T = TypeVar("_T")
_EXACT_BELOW = 2**53  # whole numbers that every reader of JSON reads as they are


def places(outcome: Outcome, endings: Sequence[str]) -> tuple[int, ...]:
    """Return the places that count: the outcome's, but forfeited seats share the last place."""
    played = [ending == FINISHED for ending in endings]
    return rank(
        [
            (1, points, coins) if stayed else (0, 0, 0)
            for stayed, points, coins in zip(played, outcome.points, outcome.coins, strict=True)
        ]
    )


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
        endings: Sequence[str] | None = None,
        clock: Json | None = None,
        metrics: Sequence[Json] = (),
    ) -> Json:
        """Return the record of the finished `game`.

        Args:
            game: the game.
            endings: how each seat ended; None is that all finished.
            clock: what `clock_json` made.
            metrics: what bots told of their decisions, each by `metrics_json`.
        """
        assert game.outcome is not None
        lines: list[Json] = [{"seat": seat, "move": move.text} for seat, move in self.moves]
        for line, traced in zip(lines, self._traced, strict=False):
            line.update(traced)
        record: Json = {
            "format": FORMAT,
            "config": _config_json(self._deal.config),
            "deal": _deal_json(self._deal, game.reshuffles),
            "moves": lines,
            "outcome": outcome_json(game.outcome),
            "endings": list(endings) if endings is not None else [FINISHED] * self._deal.config.players,
        }
        if clock is not None:
            record["clock"] = clock
        if metrics:
            record["metrics"] = list(metrics)
        return record


def clock_json(*, think_us: Sequence[int], round_trip_us: Sequence[int]) -> Json:
    """Return what a server's record tells of time.

    Args:
        think_us: microseconds that each decision took; 0 where nobody was asked.
        round_trip_us: microseconds of each seat's last round trip that was measured; 0 if none was.
    """
    return {"think_us": list(think_us), "round_trip_us": list(round_trip_us)}


def metrics_json(decision: int, told: Mapping[str, float]) -> Json:
    """Return what a server's record tells of the numbers that a bot sent with an answer.

    Args:
        decision: the place of the decision in `moves`, from 1.
        told: finite numbers by their names.
    """
    return {"decision": decision, "told": {name: _shortest(number) for name, number in told.items()}}


def without_measurements(record: Json) -> Json:
    """Return the record without times and metrics: what is left is the same for the same game."""
    return {key: value for key, value in record.items() if key not in MEASUREMENTS}


def dumps(record: Json) -> str:
    """Return the record as one line of JSON, always the same for the same game."""
    return json.dumps(record, separators=(",", ":"))


def loads(line: str) -> Json:
    """Read one line; what it tells is checked by `replay`.

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
        raise RecordError(f"format: {record.get('format')!r} instead of {FORMAT!r}")
    return record


def trace(game: Game) -> Json:
    """Return what a traced record says of the position before a move: legal moves and state."""
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
        "discards": list(view.discards),
        # Nothing in a family game is limited, and its records keep the form they had from the first.
        **({"uses": list(view.uses)} if view.config.mode is Mode.EXPERT else {}),
    }


def replay(record: Json) -> Game:
    """Play a record again and return the finished game.

    Raises:
        RecordError: a part of the record is missing or malformed.
        ReplayError: the rules tell the game differently, at the place that the message names.
    """
    deal = deal_of(record)
    try:
        game = Game(deal)
    except HappyCityError as error:
        raise RecordError(str(error)) from None
    for number, line in enumerate(_get(record, "moves", list), start=1):
        _replay_move(game, line, f"move {number}")
    if game.outcome is None:
        raise ReplayError("the moves end before the game does")
    _same("outcome", _get(record, "outcome", dict), outcome_json(game.outcome))
    _same(
        "reshuffles", _get(_get(record, "deal", dict), "reshuffles", list), _reshuffles_json(game.reshuffles)
    )
    _check_endings(record, deal.config.players)
    _check_clock(record, seats=deal.config.players)
    metrics_of(record)
    return game


def metrics_of(record: Json) -> list[tuple[int, dict[str, float]]]:
    """Return the numbers that bots sent with their answers: the seat of each answer, and numbers by name.

    Raises:
        RecordError: it is malformed.
    """
    if "metrics" not in record:
        return []
    moves = _get(record, "moves", list)
    found = []
    for entry in _get(record, "metrics", list):
        if not isinstance(entry, dict):
            raise RecordError("metrics: not a JSON object")
        decision = _get(entry, "decision", int, "metrics")
        if not 1 <= decision <= len(moves):
            raise RecordError(f"metrics: there is no decision {decision}")
        told = _get(entry, "told", dict, "metrics")
        for name, number in told.items():
            if type(number) not in (int, float) or not math.isfinite(number):
                raise RecordError(f"metrics: {name:.60}: {number!r:.60} is no number")
        seat = _get(moves[decision - 1], "seat", int, f"move {decision}")
        if not 0 <= seat < len(_get(record, "endings", list)):
            raise RecordError(f"move {decision}: there is no seat {seat}")
        found.append((seat, told))
    return found


def deal_of(record: Json) -> Deal:
    """Return the deal of a record.

    Raises:
        RecordError: it is malformed, or its orders are not the cards of the game.
    """
    deal = _get(record, "deal", dict)
    decks = [_cards(deck, f"deck {n}") for n, deck in enumerate(_get(deal, "decks", list), start=1)]
    if len(decks) != 3:
        raise RecordError(f"deal: {len(decks)} decks instead of 3")
    try:
        return Deal(
            config=config_of(record),
            seed=_get(deal, "seed", int),
            decks=(decks[0], decks[1], decks[2]),
            specials=_cards(_get(deal, "specials", list), "specials"),
            box=_cards(_get(deal, "box", list), "box"),
        )
    except DealError as error:
        raise RecordError(f"deal: {error}") from None


def config_of(record: Json) -> Config:
    """Return the kind of game that a record tells of.

    Raises:
        RecordError: it is malformed.
    """
    config = _get(record, "config", dict)
    try:
        return Config(
            players=_get(config, "players", int),
            mode=Mode(_get(config, "mode", str)),
            scoring=Scoring(_get(config, "scoring", str)),
        )
    except (ConfigError, ValueError) as error:
        raise RecordError(f"config: {error}") from None


def outcome_json(outcome: Outcome) -> Json:
    """Return an outcome in the form of a record's `outcome`."""
    return {
        "points": list(outcome.points),
        "coins": list(outcome.coins),
        "inhabitants": list(outcome.inhabitants),
        "hearts": list(outcome.hearts),
        "ranks": list(outcome.ranks),
    }


def outcome_of(record: Json) -> Outcome:
    """Return the outcome that a record tells, unchecked."""
    return Outcome(**{key: tuple(values) for key, values in record["outcome"].items()})


def _replay_move(game: Game, line: object, where: str) -> None:
    if not isinstance(line, dict):
        raise RecordError(f"{where}: not a JSON object")
    if game.outcome is not None:
        raise ReplayError(f"{where}: the game is over already")
    _same(f"{where}: seat", _get(line, "seat", int, where), game.seat)
    for key, value in trace(game).items():
        if key in line:
            _same(f"{where}: {key}", line[key], value)
    move = _get(line, "move", str, where)
    try:
        game.apply(Move.parse(move))
    except HappyCityError as error:
        raise ReplayError(f"{where}: {error}") from None


def _check_endings(record: Json, players: int) -> None:
    endings = _get(record, "endings", list)
    if len(endings) != players:
        raise RecordError(f"endings: {len(endings)} for {players} seats")
    for ending in endings:
        if ending not in ENDINGS:
            raise RecordError(f"endings: {ending!r} is none of {', '.join(ENDINGS)}")


def _check_clock(record: Json, *, seats: int) -> None:
    """Check the form of what a server's record tells of time; other records tell nothing."""
    if "clock" not in record:
        return
    clock = _get(record, "clock", dict)
    for key, expected in (("think_us", len(record["moves"])), ("round_trip_us", seats)):
        times = _get(clock, key, list, "clock")
        if len(times) != expected:
            raise RecordError(f"clock: {key}: {len(times)} numbers instead of {expected}")
        for number in times:
            if type(number) is not int or number < 0:
                raise RecordError(f"clock: {key}: {number!r:.60} is no number of microseconds")


def _shortest(number: float) -> float:
    """Return a whole number as what JSON writes without a point."""
    return int(number) if number.is_integer() and abs(number) < _EXACT_BELOW else number


def _same(what: str, told: object, found: object) -> None:
    if isinstance(told, dict) and isinstance(found, dict) and told.keys() == found.keys():
        for key in found:
            _same(f"{what}: {key}", told[key], found[key])
        return
    # By their JSON, as Python takes 1, 1.0 and true for equal.
    if json.dumps(told, sort_keys=True) != json.dumps(found, sort_keys=True):
        raise ReplayError(f"{what}: the record says {told!r}, the rules say {found!r}")


def _get(mapping: Mapping[str, Any], key: str, kind: type[_T], where: str = "record") -> _T:
    value = mapping.get(key)
    # A JSON true is an int to Python, but never a number to a record.
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordError(f"{where}: {key}: expected {kind.__name__}, found {value!r:.60}")
    return value


def _cards(ids: object, where: str) -> tuple[Card, ...]:
    if not isinstance(ids, list):
        raise RecordError(f"{where}: expected a list of card ids")
    unknown = [card_id for card_id in ids if not isinstance(card_id, str) or card_id not in CARDS_BY_ID]
    if unknown:
        raise RecordError(f"{where}: unknown card {unknown[0]!r}")
    return tuple(CARDS_BY_ID[card_id] for card_id in ids)


def _ids(cards: Iterable[Card]) -> list[str]:
    return [card.id for card in cards]


def _config_json(config: Config) -> Json:
    return {"players": config.players, "mode": config.mode.value, "scoring": config.scoring.value}


def _deal_json(deal: Deal, reshuffles: Iterable[tuple[int, tuple[Card, ...]]]) -> Json:
    return {
        "seed": deal.seed,
        "decks": [_ids(deck) for deck in deal.decks],
        "specials": _ids(deal.specials),
        "box": _ids(deal.box),
        "reshuffles": _reshuffles_json(reshuffles),
    }


def _reshuffles_json(reshuffles: Iterable[tuple[int, tuple[Card, ...]]]) -> list[Json]:
    return [{"deck": deck, "order": _ids(order)} for deck, order in reshuffles]
