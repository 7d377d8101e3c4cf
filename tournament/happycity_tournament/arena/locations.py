"""Where a tournament is: on a server, or in a store that no server uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from happycity.runtime import event_loop
from happycity_tournament.arena.run_folder import RemoteServer, Run
from happycity_tournament.config import TournamentState
from happycity_tournament.games import ListedGame
from happycity_tournament.running.progress import UNFINISHED
from happycity_tournament.running.roster import Change, change_roster, joining, leaving
from happycity_tournament.running.snapshot import Snapshot, listed, load_snapshot, stored_snapshot
from happycity_tournament.storage import Store, StoredTournament, Troubles
from happycity_tournament.storage.rows import RatingRow, rating_row
from happycity_tournament.storage.sources import RecordedGame, no_game, only_id

if TYPE_CHECKING:
    from happycity_tournament.arena.connection import Connection

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLocation:
    """A tournament on a server."""

    server: RemoteServer
    tournament_id: int
    run: Run | None = None
    """The run that it belongs to, if it was named by the run's folder."""

    @property
    def arguments(self) -> str:
        """The tournament as commands take it."""
        return str(self.run.folder) if self.run else f"{self.tournament_id} --server {self.server.address}"

    def status(self) -> Snapshot:
        """Return the tournament without its standings."""
        return call_server(self.server, lambda connection: connection.tournament(self.tournament_id))

    def show(self) -> Snapshot:
        """Return the tournament with its standings and final ratings."""
        return call_server(self.server, lambda connection: connection.standings(self.tournament_id))

    def stop(self) -> Snapshot:
        """Start no more games, and wait until the running ones are finished."""

        async def stop(connection: Connection) -> Snapshot:
            await connection.stop(self.tournament_id)
            async with aclosing(connection.watch(self.tournament_id)) as snapshots:
                async for snapshot in snapshots:
                    last = snapshot
            return last

        return call_server(self.server, stop)

    def delete(self) -> int:
        """Remove the tournament; return how many games it had."""
        return call_server(self.server, lambda connection: connection.delete(self.tournament_id))

    def add_bots(self, bots: Sequence[str]) -> Snapshot:
        """Let bots join."""
        return call_server(self.server, lambda connection: connection.add_bots(self.tournament_id, bots))

    def withdraw_bot(self, bot: str) -> Snapshot:
        """Let a bot leave."""
        return call_server(self.server, lambda connection: connection.withdraw_bot(self.tournament_id, bot))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLocation:
    """A tournament in a store that no server uses, or that is only read."""

    url: str
    tournament_id: int
    run: Run | None = None

    @property
    def arguments(self) -> str:
        """The tournament as commands take it, on any server that uses its store."""
        return str(self.run.folder) if self.run else f"{self.tournament_id} --server ADDRESS"

    def show(self) -> Snapshot:
        """Return the tournament with its standings and final ratings."""
        with Store.existing(self.url) as store:
            return load_snapshot(store, self.tournament_id)

    def stop(self) -> Snapshot:
        """Keep servers from continuing the tournament."""
        with self._claimed() as store:
            if stored_snapshot(store, self.tournament_id, claimed=False).state in UNFINISHED:
                store.set_state(self.tournament_id, TournamentState.STOPPED)
            return stored_snapshot(store, self.tournament_id, claimed=False)

    def delete(self) -> int:
        """Remove the tournament; return how many games it had."""
        with self._claimed() as store:
            stored_snapshot(store, self.tournament_id, claimed=False)
            return store.delete_tournament(self.tournament_id)

    def add_bots(self, bots: Sequence[str]) -> Snapshot:
        """Let bots join."""
        return self._change(joining(bots))

    def withdraw_bot(self, bot: str) -> Snapshot:
        """Let a bot leave."""
        return self._change(leaving(bot))

    def _change(self, change: Change) -> Snapshot:
        with self._claimed() as store:
            change_roster(store, self.tournament_id, change)
            return stored_snapshot(store, self.tournament_id, claimed=False)

    @contextmanager
    def _claimed(self) -> Iterator[Store]:
        """Give the store for writing; it has to be there, and no server can use it meanwhile."""
        Store.existing(self.url).close()
        with Store.create(self.url) as store:
            store.claim()
            yield store


Location = ServerLocation | StoreLocation
"""A tournament. Every method raises a HappyCityError if it can't be reached or changed."""


def call_server(server: RemoteServer, call: Callable[[Connection], Awaitable[_T]]) -> _T:
    """Return what a call on a server returns, or raise a ServerError."""
    from happycity_tournament.arena.connection import connect  # noqa: PLC0415 - what only reads stores needs no gRPC

    async def connected() -> _T:
        async with connect(server.address, server.access) as connection:
            return await call(connection)

    return event_loop.run(connected())


class ServerSource:
    """The games of a tournament on a server, all of them read at once; a `Source` like any other."""

    def __init__(self, server: RemoteServer, tournament_id: int) -> None:
        self.name = f"tournament {tournament_id} on {server.address}"
        self.files: Sequence[Path] = ()
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
                request_id=None,
                config=config,
                games_total=snapshot.games_total,
                state=snapshot.state,
                created_at=snapshot.created_at,
                profiles=snapshot.profiles,
                troubles=Troubles(
                    games_voided=snapshot.games_voided,
                    games_unrated=snapshot.games_unrated,
                    disqualified=snapshot.disqualified,
                    remarks=snapshot.remarks,
                ),
            )
        ]

    def bots(self) -> Iterator[str]:
        """Yield the bots of the tournament."""
        return iter(self._snapshot.bots)

    def games(self, *, with_records: bool) -> Iterator[RecordedGame]:
        """Yield the games in the order in which they were set up."""
        return ((game, record if with_records else None) for game, record in reversed(self._games))

    def rating_rows(self) -> Iterator[list[RatingRow]]:
        """Yield what ratings take of the games, all at once."""
        yield [rating_row(game) for game, _ in self.games(with_records=False)]

    def newest_games(self, *, bot: str | None = None) -> Iterator[ListedGame]:
        """Yield the games in the order in which they were set up, the last one first, page by page."""
        token = ""
        while True:
            call = partial(_page, tournament_id=self._tournament_id, bot=bot or "", token=token)
            games, token = call_server(self._server, call)
            yield from games
            if not token:
                return

    def game(self, match_id: int | None = None) -> RecordedGame:
        """Return the game with a match id and its record; by default the only game."""

        async def download(connection: Connection) -> RecordedGame:
            chosen = match_id
            if chosen is None:
                chosen = only_id(self.name, await connection.newest_games(self._tournament_id, count=2))
            game, record = await connection.game(chosen)
            if game.tournament_id != self._tournament_id:
                raise no_game(self.name, chosen)
            return game, record

        return call_server(self._server, download)

    def close(self) -> None:
        """Do nothing: no connection stays open."""

    @cached_property
    def _games(self) -> list[RecordedGame]:
        async def download(connection: Connection) -> list[RecordedGame]:
            return [game async for game in connection.games(self._tournament_id)]

        return call_server(self._server, download)


def _page(
    connection: Connection, *, tournament_id: int, bot: str, token: str
) -> Awaitable[tuple[list[ListedGame], str]]:
    return connection.games_page(tournament_id, bot=bot, token=token)


def stored_snapshots(url: str) -> list[Snapshot]:
    """Return all tournaments of a store without their standings, newest first."""
    with Store.existing(url) as store:
        claimed = store.is_claimed()
        return [listed(store, stored, claimed=claimed) for stored in store.tournaments(None)]
