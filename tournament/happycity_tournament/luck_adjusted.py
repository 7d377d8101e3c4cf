"""Games with what their seats won by chance, which is taken off wherever scores are computed.

A seat's luck is that of `happycity_bots.luck`. Its mean is 0 with any evaluator, so ratings and
differences without it estimate the same with smaller errors, which stay clustered by deal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from happycity import Game, HappyCityError, Move
from happycity.records.record import loads
from happycity.records.replay import deal_of, replay
from happycity_bots.evaluator import Evaluator
from happycity_bots.luck import draws_of, total_luck
from happycity_tournament.games import FinishedGame
from happycity_tournament.recorded_games import RecordedGame
from happycity_tournament.storage.sources import Source, SourceError
from happycity_tournament.storage.stored import StoredTournament


class LuckAdjusted(Source):
    """A source whose games have their luck, which takes some 30 ms of computing for each."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._evaluator = Evaluator()
        self.name, self.files = source.name, source.files
        self.luck_evaluator = self._evaluator.digest

    def tournaments(self) -> list[StoredTournament]:
        """Return its tournaments, oldest first."""
        return self._source.tournaments()

    def bots(self) -> Iterator[str]:
        """Yield the names of all bots, some more than once."""
        return self._source.bots()

    def games(self, *, with_records: bool) -> Iterator[RecordedGame]:
        """Yield all games with their luck; SourceError if one has no sound record."""
        for game, record in self._source.games(with_records=True):
            yield self._with_luck(game, record), record if with_records else None

    def newest_games(self, *, bot: str | None = None) -> Iterator[FinishedGame]:
        """Yield all games, or those of a bot, the newest first, without their luck."""
        return self._source.newest_games(bot=bot)

    def game(self, match_id: int | None = None) -> RecordedGame:
        """Return one game with its record and its luck; errors as in `games`."""
        game, record = self._source.game(match_id)
        return self._with_luck(game, record), record

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def _with_luck(self, game: FinishedGame, line: str | None) -> FinishedGame:
        if line is None:
            raise SourceError(self.name, f"game {game.match_id} has no record to compute its luck from")
        try:
            return replace(game, luck=luck_of(line, self._evaluator))
        except HappyCityError as error:
            raise SourceError(self.name, f"game {game.match_id}: {error}") from None


def luck_of(line: str, evaluator: Evaluator) -> tuple[float, ...]:
    """Return the places that each seat won by chance, from a game's record; errors are those of `replay`."""
    record = loads(line)
    replay(record)  # checks the record
    deal = deal_of(record)
    moves = [Move.parse(move["move"]) for move in record["moves"]]
    return total_luck(draws_of(Game(deal), moves, evaluator.after_cards), deal.config.players)
