"""Tournaments that this server plays, each in a task of its own, and what their bots say of themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

import structlog

from happycity.errors import FieldError
from happycity_server.latest import LatestWrite
from happycity_server.places.places import Places
from happycity_server.play.session import Session
from happycity_server.tournaments.resting import Resting
from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import BotProfile
from happycity_tournament.play.progress import ScheduleChangedError, TournamentStatus
from happycity_tournament.play.runner import TournamentRun
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError

_log = structlog.get_logger()


class RunningTournament:
    """A tournament that is played until its task ends, and what its bots say of themselves."""

    def __init__(self, run: TournamentRun, play: Coroutine[Any, Any, None], store: AsyncStore) -> None:
        """Begin to play it."""
        self.run = run
        self._store = store
        self._unstored: dict[str, BotProfile] = {}
        # One write at a time, as a bot may reconnect as fast as it can.
        self._profiles = LatestWrite(self._store_profiles)
        self.task = asyncio.create_task(self._play(play))

    @property
    def status(self) -> TournamentStatus:
        """How it stands; another one after a change of the roster."""
        return self.run.status

    def note_profiles(self, said: Mapping[str, BotProfile]) -> None:
        """Note what bots say of themselves, and have it stored if it is new."""
        known, bots = self.status.profiles, self.status.config.bots
        new = {bot: profile for bot, profile in said.items() if known.get(bot) != profile and bot in bots}
        if new:
            known.update(new)
            self._unstored.update(new)
            self._profiles.begin()

    async def _play(self, play: Coroutine[Any, Any, None]) -> None:
        await play
        await self._profiles.wait()

    async def _store_profiles(self) -> None:
        said, self._unstored = self._unstored, {}
        tournament_id = self.status.tournament_id
        try:
            await self._store.write(self._store.store.set_profiles, tournament_id, said)
        except StoreError as error:  # the games are stored all the same, or the server ends
            _log.error("profiles_not_stored", tournament=tournament_id, problem=str(error))


class Running(dict[int, RunningTournament]):
    """The tournaments that this server plays, by id."""

    def __init__(
        self,
        places: Places,
        store: AsyncStore,
        resting: Resting,
        *,
        hosted_digest: Callable[[str], str],
        retry: Callable[[int], bool],
    ) -> None:
        """Play none yet.

        `hosted_digest` returns the digest of the submission that the server plays as a bot; "" if it doesn't.
        `retry` has a tournament that the store has stopped continued later, and returns whether it does so.
        """
        super().__init__()
        self._places = places
        self._store = store
        self._resting = resting
        self._hosted_digest = hosted_digest
        self._retry = retry
        places.events.arrived.append(self._note_arrival)

    def start(self, run: TournamentRun) -> None:
        """Play a tournament; ConfigError if not all submissions play that it names."""
        self.check_hosted(run.status.config)  # here, so that nothing comes between it and `pins`
        tournament_id = run.status.tournament_id
        self._resting.forget(tournament_id)
        playing = self[tournament_id] = RunningTournament(run, self._play(run), self._store)
        playing.task.add_done_callback(lambda _: self.pop(tournament_id))
        playing.note_profiles(self._places.profiles())

    def check_hosted(self, config: TournamentConfig) -> None:
        """Require that the submissions play which a tournament names; else ConfigError."""
        for bot, digest in config.hosted_bots.items():
            if (playing := self._hosted_digest(bot)) != digest:
                found = f"plays as {playing[:12]}" if playing else "isn't hosted"
                raise FieldError("hosted_bots", f"{bot} {found}, and not as {digest[:12]}")

    def pins(self, bot: str) -> bool:
        """Return whether a tournament that is played has named the submission that plays as a bot."""
        return any(bot in playing.status.config.hosted_bots for playing in self.values())

    def _note_arrival(self, session: Session) -> None:
        """Note what a bot says that has just connected."""
        for playing in self.values():
            playing.note_profiles({session.name: session.profile})

    async def _play(self, run: TournamentRun) -> None:
        tournament_id = run.status.tournament_id
        try:
            await run.run()
        except ScheduleChangedError as error:
            problem = str(error)
        except StoreError as error:
            problem = f"the server's store {error.problem}"
            _log.error("tournament_failed", tournament=tournament_id, problem=str(error))
            if error.for_all and self._retry(tournament_id):
                problem += "; the tournament goes on when games can be stored again"
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failure ends here
            problem = "the server failed in this tournament; its log says why"
            _log.exception("tournament_failed", tournament=tournament_id)
        else:
            with suppress(StoreError):  # it is loaded when it is asked for
                await self._resting.keep(run.status)
            return
        finally:
            self._places.drop_waiting(tournament_id)
        status = run.status  # another one after a change of the roster
        status.remarks.append(problem)
        with suppress(StoreError):
            await self._store.write(self._store.store.set_problems, tournament_id, status.problems)
