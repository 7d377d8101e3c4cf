"""Finished games as offline work sees them, wherever they were kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from happycity.errors import RecordError
from happycity.records import ENDINGS, FINISHED, Json, config_of, loads, outcome_of, places
from happycity_tournament.results import DISQUALIFIED, Fixture, GameResult

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedGame:
    """A finished game; all tuples are by seat. A game of no tournament has no place in a schedule."""

    id: int
    """Its number in its source: the match id in a store, elsewhere its place from 1."""
    tournament_id: int | None = None
    round: int | None = None
    table: int | None = None
    rotation: int | None = None
    deal_seed: int
    """0 to 2^64 - 1; games with the same seed shared their cards."""
    bots: tuple[str, ...]
    points: tuple[int, ...]
    coins: tuple[int, ...]
    places: tuple[int, ...]
    """1 is best; equal seats share a place."""
    endings: tuple[str, ...]
    """`finished`, or `forfeit:` and the reason."""
    decisions: int
    """Those asked of the bots; in a game that was read from a record, neutral moves count too."""
    seconds: float | None = None
    """Wall time from the game's start to its end; None where it isn't known."""
    finished_at: float | None = None
    """Unix time in seconds; None where it isn't known."""
    record: str | None = None
    """The game's record; None if there is none, or if it wasn't asked for."""

    @property
    def fingerprint(self) -> bytes:
        """What copies of a game in several sources have in common: deal, bots, points, coins and endings.

        Games that deterministic bots played twice are the same by it too; they tell nothing new either.
        """
        told = (self.deal_seed, self.bots, self.points, self.coins, self.endings)
        return hashlib.blake2b(json.dumps(told).encode(), digest_size=16).digest()

    def result(self, *, deal: int) -> GameResult:
        """Return the game as ratings count it.

        Args:
            deal: the number of its deal, from 1, which is its round if it belongs to no tournament.
        """
        fixture = Fixture(
            round=deal if self.round is None else self.round,
            table=self.table or 0,
            rotation=self.rotation or 0,
            deal_seed=self.deal_seed,
            bots=self.bots,
            bot_seeds=(0,) * len(self.bots),
        )
        return GameResult(
            fixture=fixture,
            points=self.points,
            coins=self.coins,
            places=self.places,
            endings=self.endings,
            decisions=self.decisions,
            seconds=self.seconds or 0.0,
        )

    @property
    def quarantined(self) -> bool:
        """Whether a seat was forfeited for a disqualified bot: such a game is not rated."""
        return DISQUALIFIED in self.endings

    def forfeited(self, seat: int) -> bool:
        """Tell whether the bot in `seat` (from 0) forfeited the game."""
        return self.endings[seat] != FINISHED


def game_of_record(line: str, *, number: int) -> PlayedGame:
    """Read a game from its record, whose key `bots` names the bots by seat; the moves aren't looked at.

    Raises:
        RecordError: the line is no record, is malformed, or doesn't name the bots.
    """
    record = loads(line)
    seats = config_of(record).players
    if "bots" not in record:
        raise RecordError("doesn't name the bots (key `bots`), so nobody can be rated by it")
    endings = _by_seat(record, "endings", str, seats)
    unknown = [ending for ending in endings if ending not in ENDINGS]
    if unknown:
        raise RecordError(f"endings: {unknown[0]!r} is none of {', '.join(ENDINGS)}")
    outcome = _get(record, "outcome", dict)
    for key in ("points", "coins", "inhabitants", "hearts", "ranks"):
        _by_seat(outcome, key, int, seats)
    told = outcome_of(record)
    return PlayedGame(
        id=number,
        deal_seed=_get(_get(record, "deal", dict), "seed", int),
        bots=checked_names(_by_seat(record, "bots", str, seats)),
        points=told.points,
        coins=told.coins,
        places=places(told, endings),
        endings=endings,
        decisions=len(_get(record, "moves", list)),
        record=line.strip(),
    )


def checked_names(bots: Sequence[str]) -> tuple[str, ...]:
    """Return the names, if they can be shown: they come from strangers and go to terminals and pages.

    Raises:
        RecordError: a name is empty, is there twice, or holds control characters.
    """
    for bot in bots:
        if not bot or not bot.isprintable():
            raise RecordError(f"bots: {bot!a:.80} can't be shown as a name")
    if len(set(bots)) < len(bots):
        raise RecordError(f"bots: one of {', '.join(bots)} is named twice")
    return tuple(bots)


def record_with_bots(game: PlayedGame) -> str | None:
    """Return the game's record with the bots' names in it, which older records lack; None without one."""
    if game.record is None:
        return None
    record = loads(game.record)
    if "bots" in record:
        return game.record
    named: Json = {"format": record["format"], "bots": list(game.bots), **record}
    return json.dumps(named, separators=(",", ":"))


def _by_seat(mapping: Mapping[str, Any], key: str, kind: type[_T], seats: int) -> tuple[_T, ...]:
    values = _get(mapping, key, list)
    if len(values) != seats:
        raise RecordError(f"{key}: {len(values)} for {seats} seats")
    return tuple(_checked(value, key, kind) for value in values)


def _get(mapping: Mapping[str, Any], key: str, kind: type[_T]) -> _T:
    return _checked(mapping.get(key), key, kind)


def _checked(value: object, key: str, kind: type[_T]) -> _T:
    # A JSON true is an int to Python, but never a number to a record.
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordError(f"{key}: expected {kind.__name__}, found {value!r:.60}")
    return value
