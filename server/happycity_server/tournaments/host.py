"""Plays a tournament's games in the server's lobby."""

from __future__ import annotations

import structlog

from happycity import Deal, VoidReason
from happycity_server.errors import ApiError
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match, MatchSpec, MatchState
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.running.progress import TournamentStatus
from happycity_tournament.storage import AsyncStore, StoreError

_log = structlog.get_logger()


def finished_game(match: Match, fixture: Fixture | None = None) -> FinishedGame:
    """Return a finished match as a game to be stored; `fixture` is its place in a tournament's schedule."""
    spec = match.spec
    return FinishedGame(
        match_id=match.match_id,
        tournament_id=spec.tournament_id or None,
        position=fixture.position if fixture is not None else None,
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


class LobbyHost:
    """A `MatchHost` on this server's lobby and store."""

    def __init__(self, lobby: Lobby, store: AsyncStore) -> None:
        self._lobby = lobby
        self._store = store
        self.wait_for = lobby.wait_for
        self.wait_for_any = lobby.wait_for_any
        self.connected = lobby.connected
        self.disqualify = lobby.disqualify
        self.drop_waiting = lobby.drop_waiting

    async def play(self, fixture: Fixture, status: TournamentStatus) -> FinishedGame | VoidReason:
        """Play a game to its end and store it, or return why it was voided.

        A game that the store refuses while it takes others is the arena's fault, like any other failure.

        Raises:
            StoreError: the store takes no games at all.
        """
        try:
            match = self._lobby.create(_spec(fixture, status))
        except ApiError:  # the server is about to stop, and so is the tournament
            return VoidReason.SHUTDOWN
        async with self._lobby.played(match):
            if match.state is not MatchState.FINISHED:
                assert match.void_reason is not None
                return match.void_reason
            game = finished_game(match, fixture)
            try:
                await self._store.save(game, match.record)
            except StoreError as error:
                if error.for_all:
                    raise
                _log.exception("game_not_stored", match=match.match_id)
                return VoidReason.SERVER_ERROR
            return game


def _spec(fixture: Fixture, status: TournamentStatus) -> MatchSpec:
    config = status.config
    return MatchSpec(
        deal=Deal.shuffle(config.game, seed=fixture.deal_seed),
        bots=fixture.bots,
        bot_seeds=fixture.bot_seeds,
        time=config.time,
        policy=config.policy,
        tournament_id=status.tournament_id,
        disqualified=frozenset(status.standings.disqualified),
    )
