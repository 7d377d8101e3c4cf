"""The games of any sources as ratings take them: each once, and under the names that bots are rated by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, compress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import orjson

from happycity import ConfigError, Ending, RecordError
from happycity.errors import suggestion
from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import is_practice
from happycity_tournament.schedule.decisions import GamesOfTests
from happycity_tournament.storage.database import DAMAGED
from happycity_tournament.storage.rows import RatingRow
from happycity_tournament.storage.sources import RecordedGame, Source, SourceError, check_printable

if TYPE_CHECKING:
    from happycity_tournament.ratings.columns import Games, GamesBuilder


@dataclass(slots=True)
class Deduplicator:
    """Lets each game pass once, however many copies of it there are."""

    copies: int = 0
    """Games left out so far, as an equal one had passed."""

    def unique(self, games: Iterable[RecordedGame]) -> Iterator[RecordedGame]:
        """Yield the games that are not copies of earlier ones; 16 bytes of each are kept."""
        seen: set[bytes] = set()
        for game, record in games:
            fingerprint = game.fingerprint
            if fingerprint in seen:
                self.copies += 1
            else:
                seen.add(fingerprint)
                yield game, record


@dataclass(frozen=True, slots=True)
class Naming:
    """The names by which bots are rated, where these are not those in the games."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    """New names by those in the games; several bots may get one name, and are rated as one."""
    by_source: frozenset[str] = frozenset()
    """Bots, by their new names, that are rated apart in each source, as BOT@SOURCE."""

    def name(self, bot: str, source: str) -> str:
        """Return the name of a bot of a source."""
        name = self.renamed.get(bot, bot)
        return f"{name}@{source}" if name in self.by_source else name

    def check(self, bots: Sequence[str]) -> None:
        """Refuse names of bots that aren't in the games with a ConfigError."""
        new = [self.renamed.get(bot, bot) for bot in bots]
        for flag, wanted, known in (("--rename", self.renamed, bots), ("--by-source", self.by_source, new)):
            for bot in wanted:
                if bot not in known:
                    raise ConfigError(f"{flag}: {bot!r} is not one of the bots; {suggestion(bot, known)}")


@dataclass(frozen=True, slots=True, eq=False)
class RatingInput:
    """The games of all sources, as ratings take them."""

    games: Games
    count: int
    """How many games these are."""
    copies: int
    """Games left out because they were there already."""
    unrated: int
    """Games left out because a disqualified bot sat at the table."""
    practice: int = 0
    """Games left out because they were practice."""
    tournaments: tuple[tuple[TournamentConfig, tuple[str, ...]], ...] = ()
    """The tournaments of the sources, with the names by which their bots are rated."""
    after_decision: int = 0
    """Games left out because a sequential test had decided before them."""


def configs_of(source: Source) -> list[TournamentConfig]:
    """Return the configurations of a source's tournaments, of those that can be read."""
    configs = []
    for stored in source.tournaments():
        with suppress(ConfigError):
            configs.append(TournamentConfig.of(stored.config))
    return configs


def load_for_rating(sources: Sequence[Source], naming: Naming | None = None) -> RatingInput:
    """Read all games that are rated, copies of a game once; games with the same deal seed are one deal.

    Raises:
        SourceError: a source can't be read.
        StoreError: a store holds what no server stores.
        ConfigError: `naming` is about a bot that isn't there.
    """
    from happycity_tournament.ratings.columns import GamesBuilder  # noqa: PLC0415 - it imports numpy

    naming, labels = naming or Naming(), source_labels([source.name for source in sources])
    by_source = [configs_of(source) for source in sources]
    configs = [
        (config, tuple(naming.name(bot, label) for bot in config.bots))
        for configs, label in zip(by_source, labels, strict=True)
        for config in configs
    ]
    reader = _Reader(GamesBuilder([]), naming)
    for source, label, own in zip(sources, labels, by_source, strict=True):
        try:
            for entry in source.tournaments():
                reader.builder.indexes(reader.names(entry.bots, label))
            reader.read(source.rating_rows(), label, own)
        except RecordError as error:
            raise SourceError(source.name, f"holds what no server stores: {error}") from None
        except (ValueError, TypeError, OverflowError) as error:
            raise SourceError(source.name, DAMAGED) from error
    naming.check(list(reader.bots))
    return RatingInput(
        reader.builder.build(),
        count=reader.rated,
        copies=reader.copies,
        unrated=reader.unrated,
        practice=reader.practice,
        tournaments=tuple(configs),
        after_decision=reader.after_decision,
    )


_Game = tuple[list[str], list[int], int]
"""The bots and places of a game by seat, and the seed of its deal."""


@dataclass(slots=True)
class _Reader:
    """Counts games as it reads them, thousands at once."""

    builder: GamesBuilder
    naming: Naming
    bots: dict[str, None] = field(default_factory=dict)
    """The names in the sources, in their order."""
    rated: int = 0
    copies: int = 0
    unrated: int = 0
    practice: int = 0
    after_decision: int = 0
    _seen: set[int] = field(default_factory=set)
    """Hashes of games: of a million, two have the same 64 bits by chance once in 40 million times."""

    def names(self, bots: Iterable[object], label: str) -> list[str]:
        """Return the names by which bots of a source are rated."""
        own = list(map(check_printable, bots))
        self.bots.update(dict.fromkeys(own))
        return [self.naming.name(name, label) for name in own]

    def read(
        self,
        parts: Iterable[list[RatingRow]],
        label: str,
        configs: Sequence[TournamentConfig],
    ) -> None:
        """Add the games of a source that are rated; its tournaments have these configurations."""
        known: dict[str, int] = {}
        """By the bots' names in the source, the numbers by which they are rated."""
        tests = GamesOfTests[_Game](configs)
        for rows in parts:
            games = self._rated(self._without_copies(rows), known, label, tests)
            self._add(games, known)
        self._add(list(tests.counted()), known)
        self.after_decision += tests.left_out

    def _without_copies(self, rows: list[RatingRow]) -> list[RatingRow]:
        """Return the rows that were not there before."""
        hashes = list(map(hash, rows))
        new = set(hashes)
        if len(new) < len(rows) or not self._seen.isdisjoint(new):
            first = {key: row for key, row in zip(hashes, rows, strict=True) if key not in self._seen}
            rows = list(first.values())
            self.copies += len(hashes) - len(rows)
        self._seen |= new
        return rows

    def _rated(
        self,
        rows: list[RatingRow],
        known: dict[str, int],
        label: str,
        tests: GamesOfTests[_Game],
    ) -> list[_Game]:
        """Return the games that are rated; those of tests are kept back."""
        if not rows:
            return []
        seed_texts, bots_texts, _, _, endings_texts, places_texts = zip(*rows, strict=True)
        lineups, places = _lists(bots_texts), _lists(places_texts)
        if list(map(len, lineups)) != list(map(len, places)):
            raise ValueError("bots and places by seat")
        for bot in dict.fromkeys(chain.from_iterable(lineups)):
            if bot not in known:
                (known[bot],) = self.builder.indexes(self.names([bot], label))
        with_disqualified = {
            text for text in set(endings_texts) if Ending.DISQUALIFIED.value in json.loads(text)
        }
        seeds = list(map(int, seed_texts))
        games = list(zip(lineups, places, seeds, strict=True))
        if not (with_disqualified or tests.expects_games or is_practice(max(seeds))):
            return games
        rated = []
        for game, endings in zip(games, endings_texts, strict=True):
            if is_practice(game[2]):
                self.practice += 1
                continue
            unrated = endings in with_disqualified
            self.unrated += unrated
            if not tests.keep(*game, None if unrated else game) and not unrated:
                rated.append(game)
        return rated

    def _add(self, games: list[_Game], known: Mapping[str, int]) -> None:
        """Add games to those that are rated."""
        sizes = [len(lineup) for lineup, _, _ in games]
        for size in dict.fromkeys(sizes):
            alike = list(compress(games, map(size.__eq__, sizes)))
            lineups, places, seeds = zip(*alike, strict=True)
            seated = map(known.__getitem__, chain.from_iterable(lineups))
            self.builder.add_rows(size, seated, chain.from_iterable(places), seeds)
        self.rated += len(games)


def _lists(texts: Sequence[str]) -> list[list[Any]]:
    """Return lists by their JSON."""
    lists = orjson.loads(f"[{','.join(texts)}]")
    if len(lists) != len(texts):
        raise ValueError("lists as JSON")
    return list(lists)


def source_labels(names: Sequence[str]) -> tuple[str, ...]:
    """Return short names of sources: the last parts of their paths, or the whole where two are the same."""
    short = [PurePath(name).name or name for name in names]
    return tuple(name if short.count(own) > 1 else own for name, own in zip(names, short, strict=True))
