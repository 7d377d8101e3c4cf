"""Reading game records, and checking them by replay.

What reads a part of a record raises a RecordError where that is missing or malformed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

from happycity.errors import ConfigError, DealError, HappyCityError, RecordError, ReplayError, other_format
from happycity.match import Ending, Incident, IncidentKind, SeatResult, one_line, seat_results
from happycity.records.record import FORMAT, Json, outcome_json, reshuffles_json, trace
from happycity.rules.cards import CARDS_BY_ID, Card, Mode
from happycity.rules.deals import Config, Deal, Scoring
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import Outcome

_T = TypeVar("_T")
_INCIDENTS = {kind.value: kind for kind in IncidentKind if kind is not IncidentKind.OTHER}
_ENDINGS = {ending.value: ending for ending in Ending if ending is not Ending.OTHER}
_OUTCOME = tuple(field.name for field in fields(Outcome))
_LARGEST = 2**31 - 1  # no game comes near; a store and the wire have room for it
_LARGEST_FLOAT = sys.float_info.max
_EXACT_BELOW = 2**53  # microseconds: 285 years
_LONGEST_NAME = 64
_KEYS: Mapping[str, frozenset[str]] = {
    "": frozenset(
        {
            *("format", "bots", "config", "deal", "moves", "outcome", "endings", "reasons"),
            *("clock", "metrics", "luck", "incidents"),
        }
    ),
    "config": frozenset({"players", "mode", "scoring"}),
    "deal": frozenset({"seed", "decks", "specials", "box", "reshuffles"}),
    "moves": frozenset({"seat", "move", "by", "legal", "state"}),
    "clock": frozenset({"think_us", "round_trip_us"}),
    "metrics": frozenset({"decision", "values"}),
    "luck": frozenset({"evaluator", "places"}),
    "incidents": frozenset({"decision", "seat", "kind", "text"}),
}
"""The keys of a record, and of the objects in it; replaying checks those of the others."""


@contextmanager
def record_at(where: str) -> Iterator[None]:
    """Let errors in a record say where it is."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"{where}: malformed record: {error}") from None


def replay(record: Json) -> Game:
    """Play a record again and return the finished game; errors are those of `positions_of`."""
    *_, game = positions_of(record)
    return game


def positions_of(record: Json, *, checked: Deal | None = None) -> Iterator[Game]:
    """Play a record again; yield its game, one object, at each decision and when it is over.

    `checked` is the deal of a record of which deal, results, clock and metrics were checked before.

    Raises:
        RecordError: a part of the record is missing or malformed.
        ReplayError: the rules play the game differently, from the place that the message names.
    """
    try:
        game = Game(checked or deal_of(record))
    except HappyCityError as error:
        raise RecordError(str(error)) from None
    for number, line in enumerate(_get(record, "moves", list), start=1):
        yield game
        _replay_move(game, line, number)
    if game.outcome is None:
        raise ReplayError("the moves end before the game does")
    _same("outcome", _get(record, "outcome", dict), outcome_json(game.outcome))
    _same(
        "reshuffles", _get(_get(record, "deal", dict), "reshuffles", list), reshuffles_json(game.reshuffles)
    )
    if checked is None:
        results_of(record)
        clock_of(record)
        metrics_of(record)
    incidents_of(record)
    choosers_of(record)
    yield game


def check_whole(record: Json) -> None:
    """Refuse a record that says more than this version knows, or has texts that can't be shown in a line.

    Raises:
        RecordError: it does; the message names the key or text.
    """
    if record.get("format") != FORMAT:
        raise RecordError(other_format(record.get("format"), FORMAT))
    for name, known in _KEYS.items():
        part = record.get(name, {}) if name else record
        keys = chain.from_iterable(part) if isinstance(part, list) else part
        if unknown := set(keys) - known:
            raise RecordError(f"{name or 'record'}: unknown key {min(unknown)!a:.60}")
    texts = [*record.get("reasons", ()), *(entry["text"] for entry in record.get("incidents", ()))]
    if wrong := [text for text in texts if text != one_line(text)]:
        raise RecordError(f"{wrong[0]!a:.60} is not one line of text")


def clock_of(record: Json) -> tuple[list[int], list[int]]:
    """Return the times in a server's record, as `clock_json` got them; two empty lists from other records."""
    if "clock" not in record:
        return [], []
    clock = _get(record, "clock", dict)
    lengths = {"think_us": len(_get(record, "moves", list)), "round_trip_us": config_of(record).players}
    for key, expected in lengths.items():
        times = _get(clock, key, list, "clock")
        if len(times) != expected:
            raise RecordError(f"clock: {key}: {len(times)} numbers instead of {expected}")
        if set(map(type, times)) == {int} and 0 <= min(times) <= max(times) < _EXACT_BELOW:
            continue
        for number in times:
            if type(number) is not int or not 0 <= number < _EXACT_BELOW:
                raise RecordError(f"clock: {key}: {number!r:.60} is not a number of microseconds")
    return clock["think_us"], clock["round_trip_us"]


def movers_of(record: Json) -> list[int]:
    """Return the seat of each move of a record."""
    players, moves = config_of(record).players, _get(record, "moves", list)
    seats: list[Any] = [move.get("seat") if isinstance(move, dict) else None for move in moves]
    if set(map(type, seats)) <= {int} and set(seats) <= set(range(players)):
        return seats
    for number, seat in enumerate(seats, start=1):
        if type(seat) is not int or not 0 <= seat < players:
            raise RecordError(f"move {number}: there is no seat {seat!r:.60}")
    return seats


def choosers_of(record: Json) -> dict[int, str]:
    """Return by decision, from 1, what chose in the place of the seat's player; most records have none."""
    choosers = {}
    for number, move in enumerate(_get(record, "moves", list), start=1):
        if isinstance(move, dict) and "by" in move:
            name = choosers[number] = move["by"]
            if not isinstance(name, str) or not name or name != one_line(name)[:_LONGEST_NAME]:
                raise RecordError(f"move {number}: by: {name!r:.60} is not a name")
    return choosers


def metrics_of(record: Json) -> list[tuple[int, dict[str, float]]]:
    """Return the numbers that bots sent with their answers: the seat of each answer, and numbers by name."""
    metrics, seats = [], movers_of(record) if "metrics" in record else []
    for decision, entry in _entries(record, "metrics", first=1):
        values = _get(entry, "values", dict, "metrics")
        for name, number in values.items():
            if type(number) not in (int, float) or not abs(number) <= _LARGEST_FLOAT:  # nan
                raise RecordError(f"metrics: {name!r:.60}: {number!r:.60} is not a finite number")
        metrics.append((seats[decision - 1], values))
    return metrics


def incidents_of(record: Json) -> list[Incident]:
    """Return what went wrong for the seats of a record, in the order in which it happened."""
    players, incidents = config_of(record).players, []
    for decision, entry in _entries(record, "incidents", first=0):
        seat = _get(entry, "seat", int, "incidents")
        kind, text = (_get(entry, key, str, "incidents") for key in ("kind", "text"))
        if not 0 <= seat < players:
            raise RecordError(f"incidents: there is no seat {seat}")
        if kind not in _INCIDENTS:
            raise RecordError(f"incidents: {kind!r:.60} is not one of {', '.join(_INCIDENTS)}")
        incidents.append(Incident(decision, seat, _INCIDENTS[kind], one_line(text)))
    return incidents


def _entries(record: Json, key: str, *, first: int) -> Iterator[tuple[int, Json]]:
    """Yield the entries of a list of a record, none if it has no such list, each with its decision."""
    last = len(_get(record, "moves", list)) if key in record else 0
    for entry in _get(record, key, list) if key in record else ():
        if not isinstance(entry, dict):
            raise RecordError(f"{key}: not a JSON object")
        decision = _get(entry, "decision", int, key)
        if not first <= decision <= last:
            raise RecordError(f"{key}: there is no decision {decision}")
        yield decision, entry


def deal_of(record: Json) -> Deal:
    """Return the deal of a record."""
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
    """Return the kind of game of a record."""
    config = _get(record, "config", dict)
    try:
        return known_config(
            _get(config, "players", int), _get(config, "mode", str), _get(config, "scoring", str)
        )
    except (ConfigError, ValueError) as error:
        raise RecordError(f"config: {error}") from None


@lru_cache
def known_config(players: int, mode: str, scoring: str) -> Config:
    """Return a kind of game by its words, as records and stores have them; made once, as there are few.

    Raises:
        ConfigError: no game has so many players.
        ValueError: no mode or scoring is called so.
    """
    return Config(players=players, mode=Mode(mode), scoring=Scoring(scoring))


def results_of(record: Json) -> tuple[SeatResult, ...]:
    """Return how the game of a record ended for each seat; the game itself is not replayed."""
    players = config_of(record).players
    outcome = _get(record, "outcome", dict)
    numbers = {key: _numbers(outcome, key, players) for key in _OUTCOME}
    return seat_results(Outcome(**numbers), endings_of(record), _reasons(record, players))


def endings_of(record: Json) -> tuple[Ending, ...]:
    """Return how each seat of a record ended."""
    endings, players = _get(record, "endings", list), config_of(record).players
    if len(endings) != players:
        raise RecordError(f"endings: {len(endings)} for {players} seats")
    for ending in endings:
        if not isinstance(ending, str) or ending not in _ENDINGS:
            raise RecordError(f"endings: {ending!r:.60} is not one of {', '.join(_ENDINGS)}")
    return tuple(_ENDINGS[ending] for ending in endings)


def _reasons(record: Json, players: int) -> tuple[str, ...]:
    if "reasons" not in record:
        return ()
    reasons = _get(record, "reasons", list)
    if len(reasons) != players or not all(isinstance(reason, str) for reason in reasons):
        raise RecordError(f"reasons: expected {players} texts")
    return tuple(one_line(reason) for reason in reasons)


def _numbers(outcome: Json, key: str, players: int) -> tuple[int, ...]:
    numbers = _get(outcome, key, list, "outcome")
    if len(numbers) != players:
        raise RecordError(f"outcome: {key}: {len(numbers)} for {players} seats")
    for number in numbers:
        if type(number) is not int or not 0 <= number <= _LARGEST:
            raise RecordError(f"outcome: {key}: {number!r:.60} is not a number of this game")
    return tuple(numbers)


def _replay_move(game: Game, line: object, number: int) -> None:
    if not isinstance(line, dict):
        raise RecordError(f"move {number}: not a JSON object")
    if game.outcome is not None:
        raise ReplayError(f"move {number}: the game is over already")
    seat, move = line.get("seat"), line.get("move")
    if type(seat) is not int or seat != game.seat:
        where = f"move {number}"
        _same(f"{where}: seat", _get(line, "seat", int, where), game.seat)
    if len(line) > 2 and ("legal" in line or "state" in line):
        for key, value in trace(game).items():
            if key in line:
                _same(f"move {number}: {key}", line[key], value)
    text = move if type(move) is str else _get(line, "move", str, f"move {number}")
    try:
        game.apply(Move.parse(text))
    except HappyCityError as error:
        raise ReplayError(f"move {number}: {error}") from None


def _same(what: str, recorded: object, replayed: object) -> None:
    if isinstance(recorded, dict) and isinstance(replayed, dict) and recorded.keys() == replayed.keys():
        for key in replayed:
            _same(f"{what}: {key}", recorded[key], replayed[key])
    elif not _equal(recorded, replayed):
        raise ReplayError(f"{what}: the record says {recorded!r}, the rules say {replayed!r}")


def _equal(one: object, other: object) -> bool:
    """Return whether two values are the same JSON: Python takes 1, 1.0 and true for equal."""
    if type(one) is not type(other) or one != other:
        return False
    match one, other:
        case list(), list():
            return all(map(_equal, one, other))
        case dict(), dict():
            return all(_equal(one[key], other[key]) for key in one)
    return True


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
        raise RecordError(f"{where}: unknown card {unknown[0]!r:.60}")
    return tuple(CARDS_BY_ID[card_id] for card_id in ids)
