"""The games of any sources as ratings take them: each once, and under the names that bots are rated by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, groupby
from typing import TYPE_CHECKING

from happycity.errors import ConfigError, RecordError, suggestion
from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import Result
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.sprt import SprtState
from happycity_tournament.recorded_games import RecordedGame, check_printable
from happycity_tournament.standings.counted import CountingRules, Uncounted

if TYPE_CHECKING:
    from happycity_tournament.ratings.columns import Games
    from happycity_tournament.ratings.estimate import Estimate
    from happycity_tournament.storage.sources import Source


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


def load_for_rating(sources: Sequence[Source], renamed: Mapping[str, str]) -> RatedGames:
    """Read all games that count, copies of a game once; games with the same deal seed are one deal.

    `renamed` has new names of bots; those that get one name are rated as one.

    Raises:
        SourceError: a source can't be read.
        StoreError: a store is damaged.
        ConfigError: `renamed` is about a bot that isn't there.
    """
    # They import SQLAlchemy, for which those who verify would wait.
    from happycity_tournament.storage.database import DAMAGED  # noqa: PLC0415
    from happycity_tournament.storage.sources import SourceError  # noqa: PLC0415

    stored = [source.tournaments() for source in sources]
    rules = [CountingRules(tournaments) for tournaments in stored]
    reader = _RatingReader(renamed)
    for source, tournaments, rule in zip(sources, stored, rules, strict=True):
        try:
            for entry in tournaments:
                reader.builder.indexes(reader.names(entry.bots))
            reader.read(source.results(), rule)
        except RecordError as error:
            raise SourceError(source.name, f"{DAMAGED}: {error}") from None
    for bot in renamed:
        if bot not in reader.bots:
            raise ConfigError(f"--rename: {bot!r} is not one of the bots; {suggestion(bot, reader.bots)}")
    return RatedGames(
        reader.builder.build(),
        count=reader.count,
        copies=reader.copies,
        uncounted=sum((rule.uncounted for rule in rules), Counter[Uncounted]()),
    )


def counted_games(source: Source, rules: CountingRules) -> Iterator[RecordedGame]:
    """Yield the games of a source that count, by its rules, with their records, and no copies of others."""
    for game, record in source.games(with_records=True):
        is_copy = game.tournament_id is None and rules.is_copy(game.result)
        if not is_copy and rules.reason(game) is None:
            yield game, record


def rate_games(
    estimate: Estimate,
    *,
    anchor: str | None = None,
    anchor_elo: float = MEAN_ELO,
    test: SprtState | None = None,
    luck_evaluator: str = "",
) -> Ratings:
    """Return the ratings of an estimate, with what should be known about the model; it may take seconds.

    If the games are those of a sequential `test`, of its candidate and its base, that has an estimate of the
    difference, that is their difference. Notes name the evaluator by which luck was taken off the scores, if
    it was, and the bots that were luckier than chance allows.
    """
    # They import numpy, for which a server and the bots of a run would wait.
    from happycity_tournament.ratings.checks import check_lines, check_model  # noqa: PLC0415
    from happycity_tournament.ratings.final import rate, with_difference  # noqa: PLC0415
    from happycity_tournament.ratings.mean_luck import mean_luck  # noqa: PLC0415

    ratings = rate(estimate, anchor=anchor, anchor_elo=anchor_elo)
    too_lucky = [luck.text for luck in mean_luck(estimate.games) if luck.is_too_lucky]
    notes = *ratings.notes, *check_lines(check_model(estimate)), *luck_notes(luck_evaluator), *too_lucky
    ratings = replace(ratings, notes=notes)
    if test is None or test.elo is None:
        return ratings
    return with_difference(ratings, estimate.games.bots, (test.elo, test.elo_low, test.elo_high))


def luck_notes(evaluator: str) -> list[str]:
    """Return what to say of scores whose luck is taken off by an evaluator of this digest; "" if it isn't."""
    return [f"the luck of the draws is taken off the scores, by evaluator {evaluator}"] if evaluator else []


class _RatingReader:
    """Counts games as it reads them, hundreds at once."""

    def __init__(self, renamed: Mapping[str, str]) -> None:
        from happycity_tournament.ratings.columns import GamesBuilder, SeenKeys  # noqa: PLC0415 - numpy

        self.builder = GamesBuilder([])
        self.bots: dict[str, None] = {}
        """The names in the sources, in their order."""
        self.count = 0
        self.copies = 0
        self._renamed = renamed
        self._seen = SeenKeys()

    def names(self, bots: Iterable[object]) -> list[str]:
        """Return the names by which bots of a source are rated."""
        own = list(map(check_printable, bots))
        self.bots.update(dict.fromkeys(own))
        return [self._renamed.get(name, name) for name in own]

    def read(self, parts: Iterable[list[Result]], rules: CountingRules) -> None:
        """Add the games of a source that count."""
        from happycity_tournament.ratings.columns import by_size  # noqa: PLC0415 - as above

        known: dict[str, int] = {}
        """By the bots' names in the source, the numbers by which they are rated."""
        for tournament_id, own in groupby(parts, key=lambda part: part[0].tournament_id if part else None):
            for part in own:
                for bot in dict.fromkeys(chain.from_iterable(one.bots for one in part)):
                    if bot not in known:
                        (known[bot],) = self.builder.indexes(self.names([bot]))
                counted, _ = rules.rule(tournament_id).divide(part)
                new = list(compress(counted, self._seen.are_new([one.copy_key for one in counted])))
                if tournament_id is None:  # equal games of a tournament are different ones
                    new = [one for one in new if not rules.is_copy(one)]
                for _, alike in by_size(new):
                    self.builder.extend(alike, known)
                self.count += len(new)
                self.copies += len(counted) - len(new)
            self._seen.next_tournament()
