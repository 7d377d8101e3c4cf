"""An agent's bot: it shows each decision to the agent and waits for the agent's move."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from happycity import HappyCityError, Mode, Move, VoidReason
from happycity.match import one_line
from happycity.text.words import plural
from happycity_client import Bot, Decision, GameOver, GameStarted, Settings, play
from happycity_mcp.arena import LONGEST_NAME, practise
from happycity_mcp.decisions import DecisionBoard, GameResult
from happycity_runtime.event_loop import end_tasks, running

END_SECONDS = 2.0
"""How long the end of practice may take after the end of its last game."""


class AgentError(HappyCityError):
    """What an agent wants is not possible; the text says what is."""


class AgentBot(Bot):
    """One game of an agent."""

    def __init__(self, start: GameStarted, board: DecisionBoard) -> None:
        # Names come from strangers; a model may not take one for lines of its own.
        names = tuple(one_line(name)[:LONGEST_NAME] for name in start.bots)
        super().__init__(replace(start, bots=names))
        self._board = board
        self._own_moves: list[str] = []

    async def choose(self, decision: Decision) -> Move:
        """Return the agent's move."""
        move = await self._board.decide(decision, self.start, tuple(self._own_moves))
        self._own_moves.append(f"{move} (round {decision.view.round})")
        return move

    def game_over(self, over: GameOver) -> None:
        """Tell the agent how it ended."""
        own = over.seats[self.start.seat]
        text = f"your place is {own.place} of {len(over.seats)}, with {plural(own.points, 'point')}"
        if own.forfeited:
            reason = one_line(own.reason) or "no reason given"
            text = f"your seat was forfeited, {own.ending.word}: {reason}"
        self._end(over.match_id, text, own.ending.word, own.place, own.points)

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        """Tell the agent why the game does not count."""
        text = f"it was voided and does not count ({reason.value.replace('_', ' ')})"
        self._end(match_id, text, "voided")

    def _end(self, match: int, text: str, ending: str, place: int | None = None, points: int = 0) -> None:
        players = len(self.start.bots)
        result = GameResult(match=match, place=place, players=players, points=points, ending=ending)
        self._board.end(result, text)


class Agent:
    """A bot that is connected for an agent, and what waits for that agent."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        self.settings = settings
        self.key = secrets.token_urlsafe(12)
        """By which the agent shows over HTTP which bot it is."""
        self.board = DecisionBoard(clock)
        self.last_used = clock()
        self.calls = 0
        """Calls that are being served."""
        self._clock = clock
        self._connected = asyncio.Event()
        self._playing: asyncio.Task[None] | None = None
        self._practising: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The bot's name."""
        return self.settings.name

    @property
    def has_ended(self) -> bool:
        """Whether the arena has ended the connection for good."""
        return self._playing is not None and self._playing.done()

    def is_idle(self, seconds: float) -> bool:
        """Return whether it has called nothing in some seconds."""
        return not self.calls and self.last_used < self._clock() - seconds

    async def connect(self) -> None:
        """Connect to the arena; HappyCityError if it can't be reached, or refuses the bot."""
        games = play(
            lambda start: AgentBot(start, self.board), self.settings, on_connected=self._connected.set
        )
        self._playing = asyncio.create_task(games)
        self._playing.add_done_callback(lambda _: self.board.wake())
        async with running(self._connected.wait()) as welcome:
            await asyncio.wait((self._playing, *welcome), return_when=asyncio.FIRST_COMPLETED)
        if self.has_ended:
            raise AgentError(f"{self.name} is not connected: {self._end()}")

    async def close(self) -> None:
        """Say goodbye to the arena; running games are forfeited."""
        await end_tasks(*filter(None, (self._practising, self._playing)))

    def check(self) -> None:
        """Refuse to go on if the arena has ended the connection, by an AgentError that says why."""
        if self.has_ended:
            raise AgentError(f"{self.name} is no longer connected: {self._end()}; call join to connect again")

    def _end(self) -> str:
        """Return why the connection has ended."""
        assert self._playing is not None
        if self._playing.cancelled():
            return "another agent needs its place"
        error = self._playing.exception()
        if error is not None and not isinstance(error, HappyCityError):
            raise error
        return str(error) if error else "the arena has ended the session"

    async def wait_for_news(self, seconds: float) -> None:
        """Wait until a decision is open or a game has ended, or the time is over.

        AgentError if the connection has ended, or practice can't go on.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.board.current is None and not self.board.ended:
                    self.check()
                    self._check_practice()
                    await self.board.changed()

    async def practise(
        self, against: Sequence[str], *, games: int, mode: Mode, decision_seconds: float
    ) -> None:
        """Set practice matches up, which are played while the agent waits for its turns.

        AgentError if others go on already.
        """
        if self._practising is not None:
            # The end of a game reaches the bot a moment before it reaches those who watch the match.
            await asyncio.wait((self._practising,), timeout=END_SECONDS)
            if not self._practising.done():
                raise AgentError("a practice game is running; play it with wait_for_turn and play_move")

            await end_tasks(self._practising)
        self._practising = asyncio.create_task(
            practise(
                self.settings, against=against, games=games, mode=mode, decision_seconds=decision_seconds
            )
        )
        self._practising.add_done_callback(lambda _: self.board.wake())

    def _check_practice(self) -> None:
        """Raise, once, why practice has failed, if it has."""
        task = self._practising
        if task is None or not task.done():
            return
        self._practising = None
        error = task.exception()
        if isinstance(error, HappyCityError):
            raise AgentError(f"practice is not possible: {one_line(str(error))}") from None
        if error is not None:
            raise error
