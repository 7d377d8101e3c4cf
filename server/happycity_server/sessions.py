"""One bot, by its name: the games that it plays, on whatever connection it has at present."""

from __future__ import annotations

import math
import secrets
from importlib.metadata import version
from typing import TYPE_CHECKING

import structlog

from happycity.v1 import play_service_pb2 as play
from happycity.wire import PROTOCOL_VERSION, response_part
from happycity_server.refusals import Reason, Refusal
from happycity_server.streams import SessionLimits, Stream
from happycity_server.tally import Tally

if TYPE_CHECKING:
    from happycity_server.matches import Match

_SERVER = f"happycity-server/{version('happycity')}"

_log = structlog.get_logger()


class Session:
    """A bot that is connected, or was a moment ago: it outlives its stream.

    While no stream is attached the bot's games go on and its clocks run. A new stream with the session's
    token resumes the games where they are; one without takes the name over, and the games begin anew for it.
    """

    def __init__(self, name: str, limits: SessionLimits, tally: Tally) -> None:
        self.name = name
        self.max_games = 0
        """Games that the bot is willing to play at once; 0 means any number."""
        self.stream: Stream | None = None
        """The connection that the bot has at present."""
        self.detached_at = 0.0
        """Since when there is no stream, if there is none."""
        self.gone = False
        """Whether the bot said goodbye: then it has no games and gets none."""
        self.token = ""
        """Proves that a new stream comes from the same program."""
        self.round_trip_us = 0
        """Microseconds of the last round trip that was measured with this program; 0 before the first."""
        self.grace_seconds = 0.0
        """The longest grace time of the matches that the bot was in."""
        self._limits = limits
        self._tally = tally
        self._games: dict[int, tuple[Match, int]] = {}
        self._ended: dict[int, bytes] = {}  # GameOver parts, oldest first
        self._untimed = False  # whether it plays without clocks, perhaps in a debugger

    @property
    def has_room(self) -> bool:
        """Whether the bot may play one more game, by its own will and the server's.

        A game counts until its end is handed to the connection: in one batch with the next one's beginning
        the bot would read it last, and have a game more than it offered.
        """
        games = len(self._games) + (self.stream.untold_ends if self.stream is not None else 0)
        return all(games < limit for limit in (self.max_games, self._limits.games) if limit)

    @property
    def games(self) -> int:
        """How many games the bot plays at present."""
        return len(self._games)

    @property
    def is_asked(self) -> bool:
        """Whether a decision of one of its games waits for the bot."""
        return any(match.open_seat == seat for match, seat in self._games.values())

    # Connections ---------------------------------------------------------------------------------------

    def attach(self, stream: Stream, hello: play.Hello, now: float) -> bool:
        """Go on over a new stream, and end the older one; return whether the bot's games are resumed."""
        resumed = self._knows(hello.resume_token)
        older, self.stream = self.stream, stream
        stream.heard(now)
        self.max_games = hello.max_games
        self._count(resumed=resumed, anew=bool(older is not None or self._games))
        if older is not None:
            text = f"another bot connected with the name {self.name!r}"
            older.cut(Refusal(Reason.REPLACED, text))
        if not resumed:
            self.token = secrets.token_urlsafe(16)
            self.round_trip_us = 0
            self._ended.clear()
        stream.send(response_part("welcome", self._welcome(resumed=resumed).SerializeToString()))
        known = frozenset(hello.games) if resumed else frozenset()
        for game_id, (match, seat) in list(self._games.items()):
            match.present(self, seat, now, resumed=resumed, known=game_id in known)
        for game_id in known - self._games.keys():
            stream.end_game(self._ended.get(game_id) or _unknown_game_over(game_id))
        return resumed

    def detach(self, stream: Stream, now: float) -> None:
        """Notice that a stream has ended; an older one than the present one doesn't matter."""
        if stream is self.stream:
            self.stream = None
            self.detached_at = now

    def away_for(self, now: float) -> float:
        """Return the seconds for which the bot has been away; 0 while it is connected."""
        return now - self.detached_at if self.stream is None else 0.0

    def sweep(self, now: float) -> None:
        """Look after the connection; without one, give up the games whose grace time is over."""
        if self.stream is not None:
            self.stream.sweep(now, thinking=self._thinking_seconds)
            return
        away = now - self.detached_at
        for match, seat in list(self._games.values()):
            if away > match.spec.policy.grace_seconds:
                match.forfeit(seat, "disconnected", now)

    def forgotten(self, now: float) -> bool:
        """Whether the bot is gone, or has been away for so long that nothing is kept for it."""
        keep = max(self._limits.keep_seconds, self.grace_seconds)
        return self.gone or (not self._games and self.away_for(now) > keep)

    def depart(self, now: float) -> None:
        """Let the bot leave for good: it gives up its games."""
        self.gone = True
        games, self._games = list(self._games.values()), {}
        for match, seat in games:
            match.forfeit(seat, "disconnected", now)
            match.drop(seat)
        if self.stream is not None:
            self.stream.end(None)

    # Games ---------------------------------------------------------------------------------------------

    def join(self, match: Match, seat: int) -> None:
        """Note that the bot plays in a match."""
        self._games[match.match_id] = (match, seat)
        self.grace_seconds = max(self.grace_seconds, match.spec.policy.grace_seconds)
        self._untimed = self._untimed or match.spec.time.no_clock

    def leave(self, match: Match, over: bytes | None = None) -> None:
        """Note that the bot is out of a match, and if given tell it how that ended."""
        self._games.pop(match.match_id, None)
        if over is not None:
            if self.stream is not None:
                self.stream.end_game(over)
            self._ended[match.match_id] = over
            if len(self._ended) > self._limits.ended_games:
                del self._ended[next(iter(self._ended))]

    def send(self, part: bytes) -> None:
        """Send a fragment of a `PlayResponse` if the bot is connected."""
        if self.stream is not None:
            self.stream.send(part)

    def notice(
        self, kind: play.NoticeKind.ValueType, text: str, *, game_id: int = 0, decision_id: int = 0
    ) -> None:
        """Tell the bot's author something if the bot is connected."""
        if self.stream is not None:
            self.stream.notice(kind, text, game_id=game_id, decision_id=decision_id)

    def receive(self, stream: Stream, request: play.PlayRequest, now: float) -> None:
        """Take a batch from the bot.

        Raises:
            Refusal: the batch is none that a bot may send.
        """
        stream.heard(now)
        if stream is not self.stream or self.gone:
            return  # replaced, or on its way out
        games = self._games
        answers = request.answers
        if len(answers) > self._limits.batch or len(request.resigns) > self._limits.batch:
            raise Refusal(Reason.STALLED, f"more than {self._limits.batch} answers in one message")
        for answer in answers:
            playing = games.get(answer.game_id)
            if playing is None:
                self._stray_game(answer.game_id)
            else:
                match, seat = playing
                match.answer(seat, answer.decision_id, answer.move, now, answer.metrics)
        for resign in request.resigns:
            self._resign(resign, now)
        if request.HasField("heartbeat"):
            stream.echo(request.heartbeat)
        if request.HasField("pong"):
            self.round_trip_us = stream.pong(request.pong.nonce, now) or self.round_trip_us
        if request.HasField("hello"):
            raise Refusal(Reason.INVALID_FIELD, "a stream has one hello", field="hello")
        if request.HasField("goodbye"):
            self.depart(now)

    def _resign(self, resign: play.Resign, now: float) -> None:
        playing = self._games.get(resign.game_id)
        if playing is None:
            self._stray_game(resign.game_id)
            return
        match, seat = playing
        if match.forfeit(seat, "resigned", now):
            _log.info("bot_resigned", bot=self.name, match=match.match_id, reason=resign.reason[:200])

    def _stray_game(self, game_id: int) -> None:
        self.notice(play.NOTICE_KIND_UNKNOWN_GAME, "you play no such game (now)", game_id=game_id)

    def _thinking_seconds(self) -> float:
        """Return for how long the bot may think without looking at its stream."""
        if self._untimed:
            return math.inf
        return max((match.spec.time.decision_seconds for match, _ in self._games.values()), default=0.0)

    def _knows(self, token: str) -> bool:
        return bool(self.token) and secrets.compare_digest(token.encode(), self.token.encode())

    def _count(self, *, resumed: bool, anew: bool) -> None:
        self._tally.streams_opened += 1
        if resumed:
            self._tally.streams_resumed += 1
        elif anew:
            self._tally.streams_taken_over += 1

    def _welcome(self, *, resumed: bool) -> play.Welcome:
        return play.Welcome(
            protocol_version=PROTOCOL_VERSION,
            server=_SERVER,
            resume_token=self.token,
            resumed=resumed,
            heartbeat_ms=max(1, round(self._limits.ping_seconds * 1000)),
        )


def _unknown_game_over(game_id: int) -> bytes:
    over = play.GameOver(game_id=game_id, void_reason=play.VOID_REASON_UNKNOWN)
    return response_part("games_over", over.SerializeToString())
