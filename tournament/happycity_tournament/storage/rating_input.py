"""The games of any sources as ratings take them: each once, and under the names that bots are rated by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

from happycity import ConfigError
from happycity.errors import suggestion
from happycity_tournament.storage.sources import RecordedGame, Source

if TYPE_CHECKING:
    from happycity_tournament.ratings.columns import Games


@dataclass(slots=True)
class Deduplicator:
    """Lets each game pass once, however many copies of it there are."""

    copies: int = 0
    """Games left out so far, as an equal one had passed."""
    _seen: set[bytes] = field(default_factory=set)

    def unique(self, games: Iterable[RecordedGame]) -> Iterator[RecordedGame]:
        """Yield the games that are not copies of earlier ones; 16 bytes of each are kept."""
        for game, record in games:
            fingerprint = game.fingerprint
            if fingerprint in self._seen:
                self.copies += 1
            else:
                self._seen.add(fingerprint)
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
    sources: tuple[str, ...]
    """Short names of the sources, by the numbers that the games have."""
    count: int
    """How many games these are."""
    copies: int
    """Games left out because they were there already."""
    unrated: int
    """Games left out because a disqualified bot sat at the table."""
    practice: int = 0
    """Games left out because they were practice."""


def load_for_rating(sources: Sequence[Source], naming: Naming | None = None) -> RatingInput:
    """Read all games that are rated, copies of a game once; games with the same deal seed are one deal.

    Raises:
        ConfigError: `naming` is about a bot that isn't there.
    """
    from happycity_tournament.ratings.columns import GamesBuilder  # noqa: PLC0415 - it imports numpy

    naming, labels = naming or Naming(), source_labels([source.name for source in sources])
    bots = [list(dict.fromkeys(source.bots())) for source in sources]
    naming.check(list(dict.fromkeys(bot for own in bots for bot in own)))
    names = [{bot: naming.name(bot, label) for bot in own} for own, label in zip(bots, labels, strict=True)]
    builder = GamesBuilder(list(dict.fromkeys(name for own in names for name in own.values())))
    deduplicator, count, unrated, practice = Deduplicator(), 0, 0, 0
    for number, source in enumerate(sources):
        for game, _ in deduplicator.unique(source.games(with_records=False)):
            if game.practice:
                practice += 1
            elif game.unrated:
                unrated += 1
            else:
                seated = [names[number].get(bot, bot) for bot in game.bots]
                builder.add_row(seated, game.places, game.deal_seed, source=number)
                count += 1
    return RatingInput(
        games=builder.build(),
        sources=labels,
        count=count,
        copies=deduplicator.copies,
        unrated=unrated,
        practice=practice,
    )


def source_labels(names: Sequence[str]) -> tuple[str, ...]:
    """Return short names of sources: the last parts of their paths, or the whole where two are the same."""
    short = [PurePath(name).name or name for name in names]
    return tuple(name if short.count(own) > 1 else own for name, own in zip(names, short, strict=True))
