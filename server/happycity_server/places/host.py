"""Plays games of tournaments and of the ladder in the server's lobby and by its workers, and stores them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import structlog

from happycity import Deal, VoidReason
from happycity_server.errors import ApiError
from happycity_server.places.dispatch import Dispatcher
from happycity_server.places.places import Places
from happycity_server.places.remote import RemoteMatch, RemotePlace
from happycity_server.play.match import Match, MatchSpec, MatchState
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.running.terms import Terms
from happycity_tournament.storage import AsyncStore, Record, StoreError

SETTLE_SECONDS = 1.0
"""How long bots that are connected may take to connect to all workers before a tournament begins."""
MAX_LOST_WORKERS = 3
"""How often a game is begun again elsewhere because the worker that played it was lost."""

_log = structlog.get_logger()


def finished_game(match: Match) -> FinishedGame:
    """Return a finished match that belongs to no schedule as a game to be stored."""
    spec = match.spec
    return FinishedGame(
        match_id=match.match_id,
        deal_seed=spec.deal.seed,
        config=spec.deal.config,
        bots=spec.bots,
        bot_seeds=spec.bot_seeds,
        seats=match.results,
        decisions=match.referee.decision_id,
        created_at=match.created_at,
        started_at=match.started_at,
        finished_at=match.finished_at,
    )


class PlacesHost:
    """A `MatchHost` on this server's places and store."""

    def __init__(self, places: Places, store: AsyncStore) -> None:
        self._places = places
        self._store = store
        self._dispatcher = Dispatcher(places.all, places.lobby.clock)
        self._changed = asyncio.Event()
        places.change_listeners.append(self._note_change)
        self.wait_for_any = places.arrivals.wait_for_any
        self.connected = places.connected
        self.disqualify = places.disqualify

    @property
    def places(self) -> int:
        """How many places play games side by side."""
        return len(self._places.all)

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Wait until all `bots` are connected anywhere, at most `seconds`; return those missing.

        Where there are workers, bots get a moment to connect to those too, or all first games would be played
        at the place where the last bot came first.
        """
        missing = await self._places.arrivals.wait_for(bots, seconds)
        if self._places.workers and not missing:
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_SECONDS):
                    while not self._are_everywhere(bots):
                        self._changed.clear()
                        await self._changed.wait()
        return missing

    def _are_everywhere(self, bots: Sequence[str]) -> bool:
        return all(place.is_connected(bot) for place in self._places.all for bot in bots)

    def _note_change(self) -> None:
        self._changed.set()
        self._dispatcher.reconsider()

    def drop_waiting(self, tournament_id: int) -> None:
        """Void the games of a tournament that have not begun."""
        self._dispatcher.drop(tournament_id)
        self._places.drop_waiting(tournament_id)

    def drop_ladder(self) -> None:
        """Void the games of the ladder that wait for a place; the server is about to stop."""
        self._dispatcher.drop(0)

    async def play(self, fixture: Fixture, terms: Terms) -> FinishedGame | VoidReason:
        """Play a game to its end and store it, or return why it was voided.

        A game whose worker is lost begins again. One that the store refuses while it takes others is the
        arena's fault, like any other failure.

        Raises:
            StoreError: the store takes no games at all.
        """
        for _ in range(MAX_LOST_WORKERS):
            match_id = self._places.lobby.next_match_id()  # here, as ids follow the schedule
            place = await self._dispatcher.place_for(fixture, terms)
            if place is None:
                return VoidReason.STOPPED
            try:
                if isinstance(place, RemotePlace):
                    played = await self._play_remote(place, match_id, fixture, terms)
                else:
                    played = await self._play_here(match_id, fixture, terms)
            finally:
                self._dispatcher.release(place, terms.tournament_id)
            if played is not None:
                return played
        return VoidReason.SERVER_ERROR

    async def _play_here(self, match_id: int, fixture: Fixture, terms: Terms) -> FinishedGame | VoidReason:
        lobby = self._places.lobby
        try:
            match = lobby.create(_spec(fixture, terms), match_id)
        except ApiError:  # the server is about to stop, and so is the tournament
            return VoidReason.SHUTDOWN
        async with lobby.played(match):
            if match.state is not MatchState.FINISHED:
                assert match.void_reason is not None
                return match.void_reason
            return await self._stored(_scheduled(finished_game(match), fixture, terms), match.record)

    async def _play_remote(
        self, place: RemotePlace, match_id: int, fixture: Fixture, terms: Terms
    ) -> FinishedGame | VoidReason | None:
        """Have a worker play a game and store it; return None if the worker was lost."""
        match = RemoteMatch(
            match_id=match_id,
            tournament_id=terms.tournament_id,
            ladder_deal_id=terms.ladder_deal(fixture.round),
            config=terms.game,
            bots=fixture.bots,
            created_at=self._places.unix_clock(),
            place=place,
        )
        async with place.played(match, fixture, terms):
            if match.lost:
                return None
            if match.void_reason is not None:
                return match.void_reason
            game = FinishedGame(
                match_id=match_id,
                deal_seed=fixture.deal_seed,
                config=terms.game,
                bots=fixture.bots,
                bot_seeds=fixture.bot_seeds,
                seats=match.results,
                decisions=match.decisions_asked,
                created_at=match.created_at,
                started_at=match.started_at,
                finished_at=match.finished_at,
            )
            return await self._stored(_scheduled(game, fixture, terms), match.record)

    async def _stored(self, game: FinishedGame, record: Record) -> FinishedGame | VoidReason:
        """Store a game; return it, or why it doesn't count."""
        try:
            await self._store.save(game, record)
        except StoreError as error:
            if error.for_all:
                raise
            _log.exception("game_not_stored", match=game.match_id)
            return VoidReason.SERVER_ERROR
        return game


def _spec(fixture: Fixture, terms: Terms) -> MatchSpec:
    return MatchSpec(
        deal=Deal.shuffle(terms.game, seed=fixture.deal_seed),
        bots=fixture.bots,
        bot_seeds=fixture.bot_seeds,
        time=terms.time,
        policy=terms.policy,
        tournament_id=terms.tournament_id,
        ladder_deal_id=terms.ladder_deal(fixture.round),
        disqualified=frozenset(terms.disqualified),
    )


def _scheduled(game: FinishedGame, fixture: Fixture, terms: Terms) -> FinishedGame:
    """Return a game with its place in a tournament's schedule, or in a deal of the ladder."""
    if not terms.tournament_id:
        return replace(game, ladder=(fixture.round, fixture.rotation))
    return replace(game, tournament_id=terms.tournament_id, position=fixture.position)
