"""The games of a tournament on a server, as a source like any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from happycity.v1.match_service_pb2 import Match
from happycity_tournament.client.connection import Connection, call_server, finished_game, listed_game
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.games import FinishedGame
from happycity_tournament.recorded_games import RecordedGame
from happycity_tournament.storage.sources import Source
from happycity_tournament.storage.stored import StoredTournament

RECORDS_AT_ONCE = 200


class ServerSource(Source):
    """The games of a tournament on a server; results are read page by page, records only where wanted."""

    def __init__(self, server: RemoteServer, tournament_id: int) -> None:
        self.name = f"{server.url}#{tournament_id}"
        self._server = server
        self._tournament_id = tournament_id
        self._snapshot = call_server(server, lambda connection: connection.tournament(tournament_id))

    def tournaments(self) -> list[StoredTournament]:
        """Return the tournament."""
        snapshot = self._snapshot
        config = {} if snapshot.config is None else snapshot.config.json()
        return [
            StoredTournament(
                id=snapshot.tournament_id,
                config=config,
                games_total=snapshot.games_total,
                state=snapshot.state,
                created_at=snapshot.created_at,
                profiles=snapshot.profiles,
            )
        ]

    def bots(self) -> Iterator[str]:
        """Yield the bots of the tournament."""
        return iter(self._snapshot.bots)

    def games(self, *, with_records: bool) -> Iterator[RecordedGame]:
        """Yield the games by round, table and rotation."""
        matches = [match for page in self._pages() for match in page]
        matches.sort(key=lambda match: (match.deal.round, match.deal.table, match.deal.rotation))
        for first in range(0, len(matches), RECORDS_AT_ONCE):
            some = matches[first : first + RECORDS_AT_ONCE]
            records = self._records(some) if with_records else [None] * len(some)
            yield from zip(map(finished_game, some), records, strict=True)

    def newest_games(self, *, bot: str | None = None) -> Iterator[FinishedGame]:
        """Yield the games in the order in which they were set up, the last one first."""
        return (listed_game(match) for page in self._pages(bot or "") for match in page)

    def game(self, match_id: int | None = None) -> RecordedGame:
        """Return the game with a match id and its record; by default the only game."""

        async def download(connection: Connection) -> RecordedGame:
            chosen = match_id
            if chosen is None:
                newest, _ = await connection.newest_games(self._tournament_id, count=2)
                chosen = self.only_id([match.match_id for match in newest])
            game, record = await connection.game(chosen)
            if game.tournament_id != self._tournament_id:
                raise self.no_game(chosen)
            return game, record

        return call_server(self._server, download)

    def _pages(self, bot: str = "") -> Iterator[list[Match]]:
        token, is_first = "", True
        while is_first or token:
            ask = partial(Connection.newest_games, tournament_id=self._tournament_id, bot=bot, token=token)
            matches, token = call_server(self._server, ask)
            is_first = False
            yield matches

    def _records(self, matches: Sequence[Match]) -> list[str]:
        async def download(connection: Connection) -> list[str]:
            return [await connection.record(match) for match in matches]

        return call_server(self._server, download)
