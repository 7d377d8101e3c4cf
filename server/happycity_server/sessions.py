"""One bot's connection: what it plays, and what waits to be sent to it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from happycity.v1 import play_service_pb2 as play
from happycity.wire import response_part
from happycity_server.refusals import Reason, Refusal

if TYPE_CHECKING:
    from happycity_server.matches import Match


_log = structlog.get_logger()

HOLD_SECONDS = 0.03
"""How long new decisions wait for the bot's next sign at most. Without this pause, small messages beget
small messages, and most of the time goes into sending them."""


class Session:
    """A bot that is connected. It knows nothing of gRPC: the stream's tasks feed and drain it.

    What is sent gathers in an outbox while the bot is busy with the last batch, so messages grow by
    themselves with the load, and one message carries the decisions of many games. A bot that takes its time
    over one game is sent the others' decisions after `HOLD_SECONDS` all the same. The outbox is bounded by
    the games that a bot plays: each has at most one open decision.
    """

    def __init__(self, name: str, *, max_games: int = 0) -> None:
        self.name = name
        self.max_games = max_games
        """Games that the bot is willing to play at once; 0 means any number."""
        self.closing: Refusal | None = None
        """Why the session was ended by the server, if it was."""
        self._games: dict[int, tuple[Match, int]] = {}
        self._outbox: list[bytes] = []
        self._wake = asyncio.Event()
        self._asking = False  # whether the outbox holds a decision
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def has_room(self) -> bool:
        """Whether the bot would play one more game."""
        return not self.max_games or len(self._games) < self.max_games

    def join(self, match: Match, seat: int) -> None:
        """Note that the bot plays in a match."""
        self._games[match.match_id] = (match, seat)

    def leave(self, match: Match) -> None:
        """Note that a match is over."""
        self._games.pop(match.match_id, None)

    def send(self, part: bytes) -> None:
        """Add a fragment of a `PlayResponse` to what is sent next."""
        self._outbox.append(part)
        self._wake.set()

    def ask(self, decision: bytes) -> None:
        """Add a decision, which the bot will answer, to what is sent next."""
        self._asking = True
        self.send(decision)

    def notice(
        self, kind: play.NoticeKind.ValueType, text: str, *, game_id: int = 0, decision_id: int = 0
    ) -> None:
        """Tell the bot's author something."""
        notice = play.Notice(kind=kind, game_id=game_id, decision_id=decision_id, text=text)
        self.send(response_part("notices", notice.SerializeToString()))

    def close(self, reason: Reason, text: str) -> None:
        """End the session once the outbox is sent."""
        if self.closing is None:
            self.closing = Refusal(reason, text)
            if reason is Reason.SHUTTING_DOWN:
                self.notice(play.NOTICE_KIND_SHUTDOWN, text)
            self._wake.set()

    async def next_batch(self) -> bytes:
        """Wait for something to send and return all there is; empty when the session is to end."""
        await self._wake.wait()
        if not self._idle.is_set():
            await self._wait_until_idle()
        self._wake.clear()
        if self._asking:
            self._asking = False
            self._idle.clear()
        batch = b"".join(self._outbox)
        self._outbox.clear()
        if batch and self.closing is not None:
            self._wake.set()  # come back once more, for the end
        return batch

    async def _wait_until_idle(self) -> None:
        timer = asyncio.get_running_loop().call_later(HOLD_SECONDS, self._idle.set)
        await self._idle.wait()
        timer.cancel()

    def receive(self, request: play.PlayRequest, now: float) -> None:
        """Take a batch from the bot."""
        self._idle.set()
        games = self._games
        for answer in request.answers:
            playing = games.get(answer.game_id)
            if playing is None:
                self._unknown_game(answer.game_id)
            else:
                match, seat = playing
                match.answer(seat, answer.decision_id, answer.move, now)
        for resign in request.resigns:
            playing = games.get(resign.game_id)
            if playing is None:
                self._unknown_game(resign.game_id)
            else:
                match, seat = playing
                _log.info("bot_resigned", bot=self.name, match=match.match_id, reason=resign.reason[:200])
                match.forfeit(seat, "resigned", now)
        if request.HasField("heartbeat"):
            self.send(response_part("heartbeat", request.heartbeat.SerializeToString()))

    def lost(self, now: float) -> None:
        """Give up all games: the connection is gone."""
        for match, _ in list(self._games.values()):
            match.lose(self, now)
        self._games.clear()

    def _unknown_game(self, game_id: int) -> None:
        self.notice(play.NOTICE_KIND_UNKNOWN_GAME, "you play no such game (now)", game_id=game_id)
