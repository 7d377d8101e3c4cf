"""Games as their records have them, wherever the records are kept."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, islice
from operator import attrgetter

import orjson

from happycity import Deal, Game, RecordError, ReplayError
from happycity.records.record import FORMAT, Json, deal_json, loads
from happycity.records.replay import (
    check_whole,
    clock_of,
    config_of,
    deal_of,
    metrics_of,
    movers_of,
    positions_of,
    results_of,
)
from happycity.rules.deals import MAX_SEED
from happycity_tournament.games import FinishedGame, Result
from happycity_tournament.plain_json import json_line

RecordedGame = tuple[FinishedGame, str | None]
"""A game and its record; None where there is none, or where records are not read."""

_GAMES_AT_ONCE = 200


def read_record(line: str) -> Json:
    """Read the line of a record as `loads` does, in half the time."""
    with suppress(ValueError):
        record: Json = orjson.loads(line)
        if isinstance(record, dict) and record.get("format") == FORMAT:
            return record
    return loads(line)  # says what is wrong


def game_of_record(line: str, *, number: int) -> FinishedGame:
    """Read a game from its record, whose key `bots` names the bots by seat; the game is not replayed.

    Raises:
        RecordError: the line is not a record, is malformed, or doesn't name the bots.
    """
    return game_of_json(read_record(line), number=number)


def replayed_game(record: Json, *, number: int) -> FinishedGame:
    """Return a game whose record agrees with the rules and the seed of its deal, and has nothing else.

    Luck in it is not computed again.

    Raises:
        RecordError, ReplayError: it doesn't.
    """
    game = game_of_json(record, number=number)
    deque(checked_positions(record, game), maxlen=0)
    return game


def checked_positions(record: Json, game: FinishedGame) -> Iterator[Game]:
    """Yield the positions of a game's record as `positions_of` does; errors are those of `replayed_game`."""
    deal = Deal.shuffle(game.config, seed=game.deal_seed)
    if not deal_json(deal).items() <= record["deal"].items():
        deal_of(record)  # says what is malformed
        raise ReplayError("the cards are not those of the deal's seed")
    yield from positions_of(record, checked=deal)
    check_whole(record)


def game_of_json(record: Json, *, number: int) -> FinishedGame:
    """Read a game from its record, as `game_of_record` does."""
    config, seats = config_of(record), results_of(record)
    bots, deal = record.get("bots"), record.get("deal")
    if bots is None:
        raise RecordError("it doesn't name the bots (key `bots`)")
    if not isinstance(bots, list) or len(bots) != config.players:
        raise RecordError(f"bots: expected {config.players} names, found {bots!r:.60}")
    seed = deal.get("seed") if isinstance(deal, dict) else None
    if type(seed) is not int or not 0 <= seed <= MAX_SEED:
        raise RecordError(f"deal: seed: {seed!r:.60} is not a number from 0 to 2^64 - 1")
    clock_of(record)
    metrics_of(record)
    return FinishedGame(
        match_id=number,
        deal_seed=seed,
        config=config,
        bots=tuple(map(check_printable, bots)),
        seats=seats,
        recorded_luck=luck_in(record),
        decisions=len(movers_of(record)),
    )


def luck_in(record: Json) -> tuple[float, ...]:
    """Return the places that each seat won by chance as a record has them (key `luck`); () if it has none.

    Raises:
        RecordError: they are malformed.
    """
    if "luck" not in record:
        return ()
    luck = record["luck"]
    places = luck.get("places") if isinstance(luck, dict) else None
    if not isinstance(places, list) or len(places) != config_of(record).players:
        raise RecordError(f"luck: places: expected a number for each seat, found {places!r:.60}")
    if not all(type(number) in (int, float) and math.isfinite(number) for number in places):
        raise RecordError(f"luck: places: {places!r:.60} are not all numbers")
    return tuple(map(float, places))


def with_recorded_luck(game: FinishedGame, record: str | None) -> FinishedGame:
    """Return a game with the luck that its record has; a RecordError says what is wrong with it."""
    return game if record is None else replace(game, recorded_luck=luck_in(read_record(record)))


def in_parts(results: Iterable[Result]) -> Iterator[list[Result]]:
    """Yield results some of one tournament at once, as those who count them take them."""
    for _, own in groupby(results, key=attrgetter("tournament_id")):
        while some := list(islice(own, _GAMES_AT_ONCE)):
            yield some


def named_record(bots: Sequence[str], record: str) -> str:
    """Return a record with the bots' names by seat in it, which a server's record lacks.

    Raises:
        RecordError: it is not a record.
    """
    head = f'{{"format":"{FORMAT}",'
    if '"bots"' not in record and record.startswith(f'{head}"config":'):  # as this project writes them
        return f'{head}"bots":{json_line(list(bots)).decode()},{record.removeprefix(head)}'
    content = read_record(record)
    if "bots" in content:
        return record
    return json_line({"format": content.pop("format"), "bots": list(bots), **content}).decode()


def check_printable(bot: object) -> str:
    """Return a bot's name if it can be shown; names in files go to terminals and pages.

    Raises:
        RecordError: it is not a text, is empty, or holds control characters.
    """
    if not isinstance(bot, str) or not bot or not bot.isprintable():
        raise RecordError(f"bots: {bot!a:.80} can't be shown as a name")
    return bot
