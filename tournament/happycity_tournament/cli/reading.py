"""Sources whose games are counted on the terminal while they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.status import Status

from happycity import ConfigError
from happycity_tournament.games import FinishedGame, Result
from happycity_tournament.running.rating_input import Naming, RatingInput, load_for_rating
from happycity_tournament.storage import StoredTournament
from happycity_tournament.storage.sources import RecordedGame, Source, SourceError

COUNTED_AT_ONCE = 500
"""Games after which the count on the terminal is updated."""


def load_games(sources: Sequence[Source], naming: Naming) -> RatingInput:
    """Read the games of some sources that are rated; a source without any is a SourceError."""
    with counted(sources) as read:
        loaded = load_for_rating(read, naming)
    if not loaded.count:
        rated = " that is rated" if loaded.uncounted else ""
        raise SourceError(", ".join(source.name for source in sources), f"no finished game in it{rated}")
    return loaded


class _CountedSource:
    """A source whose games are counted on the terminal as they are read."""

    def __init__(self, source: Source, status: Status) -> None:
        self._source = source
        self._status = status
        self.name = source.name
        self.files = source.files

    def tournaments(self) -> list[StoredTournament]:
        return self._source.tournaments()

    def bots(self) -> Iterator[str]:
        return self._source.bots()

    def games(self, *, with_records: bool) -> Iterator[RecordedGame]:
        for number, game in enumerate(self._source.games(with_records=with_records), start=1):
            if not number % COUNTED_AT_ONCE:
                self._show(number)
            yield game

    def results(self) -> Iterator[list[Result]]:
        read = 0
        for some in self._source.results():
            read += len(some)
            self._show(read)
            yield some

    def newest_games(self, *, bot: str | None = None) -> Iterator[FinishedGame]:
        return self._source.newest_games(bot=bot)

    def game(self, match_id: int | None = None) -> RecordedGame:
        return self._source.game(match_id)

    def close(self) -> None:
        self._source.close()

    def _show(self, games: int) -> None:
        self._status.update(f"{games:,} games read; Ctrl-C stops it")


@contextmanager
def counted(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """Give sources whose games are counted on the terminal as they are read."""
    with Console(stderr=True).status("reading games; Ctrl-C stops it") as status:
        yield [_CountedSource(source, status) for source in sources]


def keep_apart(source: Source, out: Path) -> None:
    """Refuse to overwrite a source."""
    if out.exists() and any(file.samefile(out) for file in source.files):
        raise ConfigError(f"--out: {out} is the source itself")
