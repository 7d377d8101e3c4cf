"""A lobby without gRPC, on a time that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

from tests.server.program import Program

from happycity import Config, Deal, FailurePolicy, TimeControl
from happycity.v1 import play_service_pb2 as play
from happycity.worker.v1.worker_service_pb2 import Conditions
from happycity_server.errors import Reason
from happycity_server.places.places import Places
from happycity_server.places.protocol import WorkerService
from happycity_server.play.clock import FairClock
from happycity_server.play.limits import SessionLimits
from happycity_server.play.lobby import SWEEP_SECONDS, Lobby
from happycity_server.play.match import Match
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.storage.async_store import AsyncStore

DEAL = Deal.shuffle(Config(players=2), seed=11)


class Arena:
    """A lobby, and what its server would do for it."""

    def __init__(self, **limits: Any) -> None:
        self.now = 1000.0
        self.lobby = Lobby(
            FairClock(lambda: self.now, tick_seconds=SWEEP_SECONDS),
            lambda: self.now,
            limits=SessionLimits(**limits),
        )
        workers = WorkerService(lambda: self.now, Conditions(), events=self.lobby.events)
        self.places = Places(self.lobby, cast("AsyncStore", None), lambda: self.now, workers)
        self.lobby.sweep()
        self.stored = asyncio.Event()
        """Cleared while the arena takes its time to store finished matches."""
        self.stored.set()
        self._playing: list[asyncio.Task[None]] = []  # held until the loop ends

    def wait(self, seconds: float) -> None:
        """Let time pass, and the lobby notice what is due."""
        for _ in range(round(seconds / SWEEP_SECONDS)):
            self.now += SWEEP_SECONDS
            self.lobby.sweep()

    def connect(self, name: str, **hello: Any) -> LocalProgram:
        return LocalProgram(self, name, **hello)

    async def match(
        self,
        *bots: str,
        deal: Deal = DEAL,
        time: TimeControl | None = None,
        policy: FailurePolicy | None = None,
        disqualified: Iterable[str] = (),
        tournament_id: int = 0,
    ) -> Match:
        if len(bots) != deal.config.players:
            deal = Deal.shuffle(Config(players=len(bots)), seed=11)
        spec = MatchSpec(
            deal=deal,
            bots=bots,
            bot_seeds=tuple(range(len(bots))),
            time=time or TimeControl(),
            policy=policy or FailurePolicy(),
            disqualified=frozenset(disqualified),
            tournament_id=tournament_id,
        )
        match = self.lobby.create(spec)
        self._playing.append(asyncio.create_task(self._play(match)))
        await asyncio.sleep(0)  # the task begins the match
        return match

    async def _play(self, match: Match) -> None:
        async with self.lobby.played(match):
            await self.stored.wait()


class LocalProgram(Program):
    def __init__(self, arena: Arena, name: str, **hello: Any) -> None:
        super().__init__()
        self._arena = arena
        self.session, self.outbox = arena.lobby.enter(play.Hello(name=name, **hello))
        self.resume_token = self.session.resume_token
        """As the welcome has it, whether that was read or not."""
        self.batches: list[bytes] = []
        """All that was read, as it was sent."""
        self._sending: asyncio.Task[bytes] | None = None

    @property
    def end(self) -> Reason | None:
        """Why the server cut the stream, if it did."""
        return self.outbox.error.reason if self.outbox.cut_off.done() and self.outbox.error else None

    async def read(self) -> play.PlayResponse:
        """Take the next batch; the connection takes another one from then on."""
        if self._sending is None:
            self._sending = asyncio.create_task(self.outbox.next_batch())
        self.batches.append(await self._sending)
        response = play.PlayResponse.FromString(self.batches[-1])
        self.received.MergeFrom(response)
        self._sending = asyncio.create_task(self.outbox.next_batch())
        await asyncio.sleep(0)
        return response

    async def say(self, **parts: Any) -> None:
        """Send a batch, which arrives at once."""
        self.session.receive(self.outbox, play.PlayRequest(**parts), self._arena.now)

    async def catch_up(self) -> None:
        """Read all that waits to be sent, or to the end of the stream."""
        while self.outbox.waiting_bytes or (self._sending is not None and self._sending.done()):
            await self.read()
            if not self.batches[-1]:
                return

    def lose(self) -> None:
        self._arena.lobby.leave(self.session, self.outbox)

    def again(self, **hello: Any) -> LocalProgram:
        return LocalProgram(self._arena, self.session.name, **{"resume_token": self.resume_token, **hello})


def broken_deal() -> Deal:
    """Return a deal on which the arena itself fails: no game knows the card that is drawn first."""
    deal = Deal.shuffle(Config(players=2), seed=11)
    unknown = SimpleNamespace(number=1000)
    object.__setattr__(deal, "decks", ((unknown,),) * 3)  # a deal checks its cards when it is made
    return deal
