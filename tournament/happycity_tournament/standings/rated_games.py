"""The games of any sources as ratings take them: each once, and under the names that bots are rated by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from pathlib import PurePath
from typing import TYPE_CHECKING

from happycity import ConfigError, RecordError
from happycity.errors import suggestion
from happycity_tournament.config import MEAN_ELO, TournamentConfig
from happycity_tournament.games import FinishedGame, Result
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.sprt import SprtState
from happycity_tournament.recorded_games import check_printable
from happycity_tournament.standings.counted import CountingRules, Uncounted
from happycity_tournament.storage.database import DAMAGED
from happycity_tournament.storage.sources import Source, SourceError

if TYPE_CHECKING:
    from happycity_tournament.ratings.columns import Games
    from happycity_tournament.ratings.estimate import Estimate


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
class RatedGames:
    """The games of all sources, as ratings take them."""

    games: Games
    count: int
    """How many games these are."""
    copies: int
    """Games left out because they were there already."""
    uncounted: Counter[Uncounted]
    """Games that don't count, by the reason."""
    tournaments: Sequence[tuple[TournamentConfig, Sequence[str]]] = ()
    """The tournaments of the sources, with the names by which their bots are rated."""


def load_for_rating(sources: Sequence[Source], naming: Naming | None = None) -> RatedGames:
    """Read all games that count, copies of a game once; games with the same deal seed are one deal.

    Raises:
        SourceError: a source can't be read.
        StoreError: a store is damaged.
        ConfigError: `naming` is about a bot that isn't there.
    """
    naming, labels = naming or Naming(), source_labels([source.name for source in sources])
    stored = [source.tournaments() for source in sources]
    rules = [CountingRules(tournaments) for tournaments in stored]
    configs = [
        (config, tuple(naming.name(bot, label) for bot in config.bots))
        for rule, label in zip(rules, labels, strict=True)
        for config in rule.configs.values()
    ]
    reader = _Reader(naming)
    for source, label, tournaments, rule in zip(sources, labels, stored, rules, strict=True):
        try:
            for entry in tournaments:
                reader.builder.indexes(reader.names(entry.bots, label))
            reader.read(source.results(), label, rule)
        except RecordError as error:
            raise SourceError(source.name, f"{DAMAGED}: {error}") from None
    naming.check(list(reader.bots))
    return RatedGames(
        reader.builder.build(),
        count=reader.count,
        copies=reader.copies,
        uncounted=sum((rule.uncounted for rule in rules), Counter[Uncounted]()),
        tournaments=configs,
    )


def judged_games(
    source: Source, rules: CountingRules, *, with_records: bool = False
) -> Iterator[tuple[FinishedGame, str | None, Uncounted | None]]:
    """Yield the games of a source with their records, and why they don't count, if they don't.

    Copies of games of no tournament are left out.
    """
    seen = set[int]()
    for game, record in source.games(with_records=with_records):
        if game.tournament_id is None:
            key = game.result.copy_key
            if key in seen:
                continue
            seen.add(key)
        yield game, record, rules.reason(game)


def rate_games(
    estimate: Estimate,
    tournaments: Sequence[tuple[TournamentConfig, Sequence[str]]],
    *,
    anchor: str | None = None,
    anchor_elo: float = MEAN_ELO,
    test: SprtState | None = None,
) -> Ratings:
    """Return the ratings of an estimate, with what should be known about the model; it may take seconds.

    With each tournament come the names by which its bots are rated. If the games are those of a sequential
    `test` that has an estimate of the difference, that is their difference.
    """
    # They import numpy, for which a server and the bots of a run would wait.
    from happycity_tournament.ratings.checks import check_lines, check_model  # noqa: PLC0415
    from happycity_tournament.ratings.final import rate, with_difference  # noqa: PLC0415
    from happycity_tournament.schedule.replays import swiss_error_factor  # noqa: PLC0415

    factor = swiss_error_factor(tournaments, estimate)
    ratings = rate(estimate, anchor=anchor, anchor_elo=anchor_elo, error_factor=factor)
    ratings = replace(ratings, notes=(*ratings.notes, *check_lines(check_model(estimate))))
    if test is None or test.elo is None:
        return ratings
    return with_difference(ratings, tournaments[0][1], (test.elo, test.elo_low, test.elo_high))


class _Reader:
    """Counts games as it reads them, hundreds at once."""

    def __init__(self, naming: Naming) -> None:
        from happycity_tournament.ratings.columns import GamesBuilder  # noqa: PLC0415 - it imports numpy

        self.builder = GamesBuilder([])
        self.bots: dict[str, None] = {}
        """The names in the sources, in their order."""
        self.count = 0
        self.copies = 0
        self._naming = naming
        self._seen: set[int] = set()
        """The keys of games of the tournaments and files before."""

    def names(self, bots: Iterable[object], label: str) -> list[str]:
        """Return the names by which bots of a source are rated."""
        own = list(map(check_printable, bots))
        self.bots.update(dict.fromkeys(own))
        return [self._naming.name(name, label) for name in own]

    def read(self, parts: Iterable[list[Result]], label: str, rules: CountingRules) -> None:
        """Add the games of a source that count."""
        from happycity_tournament.ratings.columns import by_size  # noqa: PLC0415 - as above

        known: dict[str, int] = {}
        """By the bots' names in the source, the numbers by which they are rated."""
        for tournament_id, own in groupby(parts, key=lambda part: part[0].tournament_id if part else None):
            keys = set[int]()
            for part in own:
                for bot in dict.fromkeys(chain.from_iterable(one.bots for one in part)):
                    if bot not in known:
                        (known[bot],) = self.builder.indexes(self.names([bot], label))
                counted, _ = rules.rule(tournament_id).divide(part)
                new = self._without_copies(counted, keys, apart=tournament_id is None)
                for _, alike in by_size(new):
                    self.builder.extend(alike, known)
                self.count += len(new)
            self._seen |= keys

    def _without_copies(self, games: Sequence[Result], keys: set[int], *, apart: bool) -> Sequence[Result]:
        """Return the games that were in no source or tournament before, and, if `apart`, not among these.

        A tournament has no copies in itself: its equal games are different ones.
        """
        own = [game.copy_key for game in games]
        if apart:
            firsts = dict(reversed(list(zip(own, games, strict=True))))
            new = [firsts[key] for key in dict.fromkeys(own) if key not in keys and key not in self._seen]
        elif self._seen.isdisjoint(own):
            new = list(games)
        else:
            new = [game for key, game in zip(own, games, strict=True) if key not in self._seen]
        keys.update(own)
        self.copies += len(games) - len(new)
        return new


def source_labels(names: Sequence[str]) -> tuple[str, ...]:
    """Return short names of sources: the last parts of their paths, or the whole where two are the same."""
    short = [PurePath(name).name or name for name in names]
    return tuple(name if short.count(own) > 1 else own for name, own in zip(names, short, strict=True))
