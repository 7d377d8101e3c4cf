"""Matches as watchers see them: each position is made once, and written once in each form, for all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from threading import RLock
from typing import Any, TypeVar

import structlog

from happycity import Game
from happycity.records.playback import Playback
from happycity.records.record import loads
from happycity.wire.watch import end_message, step_message
from happycity_server.broadcast import Broadcast, SharedValues
from happycity_server.play.match import Match, OpenMatch
from happycity_tournament.games import FinishedGame
from happycity_tournament.storage.packing import unpack

KEPT_GAMES = 16
"""Finished games that are kept as watchers see them; each takes some 1.5 MB."""
SLICE = 8
"""Positions of a match that are made before other things go on, for the first watcher of a long game."""

_log = structlog.get_logger()
_T = TypeVar("_T")


@dataclass(eq=False, repr=False)
class WatchedMatch:
    """A match to look at, and what was made of its positions."""

    playback: Playback
    tournament_id: int | None = None
    """The tournament that it belongs to, if any."""
    at_worker: bool = False
    """Whether a worker plays it, so that it has no position before it is over."""
    decisions_at_worker: int = 0
    """How many a worker had reported of a match that was voided."""
    _written: dict[Callable[[WatchedMatch, int], Any], list[Any]] = field(default_factory=dict, init=False)
    _made: dict[Callable[[WatchedMatch], Any], Any] = field(default_factory=dict, init=False)
    _lock: AbstractContextManager[bool] = field(default_factory=RLock, init=False)

    @property
    def is_over(self) -> bool:
        """Whether no position follows any more."""
        return bool(self.playback.results) or self.playback.void_reason is not None

    def positions(self, write: Callable[[WatchedMatch, int], _T]) -> list[_T]:
        """Return all positions in the form in which `write` has one, by the match and its decisions so far.

        Each is written once. All of a long game take some milliseconds: call it in a thread then.
        """
        with self._lock:
            written = self._written.setdefault(write, [])
            for number in range(len(written), len(self.playback.steps)):
                written.append(write(self, number))
            return written

    def whole(self, make: Callable[[WatchedMatch], _T]) -> _T:
        """Return what `make` makes of a finished game, which is made once; call it in a thread."""
        with self._lock:
            if make not in self._made:
                self._made[make] = make(self)
            made: _T = self._made[make]
            return made


def step_bytes(match: WatchedMatch, decisions: int) -> bytes:
    """Write a position as WatchMatch sends it."""
    return step_message(match.playback, decisions).SerializeToString()


def end_bytes(match: WatchedMatch) -> bytes:
    """Write how a match ended as WatchMatch sends it."""
    decisions = match.decisions_at_worker or match.playback.decisions
    return end_message(match.playback, decisions=decisions).SerializeToString()


async def responses(watched: Broadcast[WatchedMatch], *, skip: int = 0) -> AsyncIterator[bytes]:
    """Yield what WatchMatch sends: the positions after the first `skip` decisions, those to come, the end."""
    position = skip
    async for match in watched.values():
        if match.is_over:
            steps = await asyncio.to_thread(match.positions, step_bytes)
        else:
            steps = match.positions(step_bytes)
        reached = len(steps)  # more may come while these are sent
        for step in islice(steps, position, reached):
            yield step
        position = max(position, reached)
    yield watched.value.whole(end_bytes)


class Watches:
    """All matches that are watched, by match id."""

    def __init__(self) -> None:
        self._live: dict[int, Broadcast[WatchedMatch]] = {}
        self._finished = SharedValues[int, Broadcast[WatchedMatch]](kept=KEPT_GAMES)

    def live(self, match: OpenMatch) -> Broadcast[WatchedMatch]:
        """Return a match that waits, runs or is being stored, as all its watchers share it.

        One that a worker plays is shown from its record, when it is over.
        """
        watched = self._live.get(match.match_id)
        if watched is None:
            shown = WatchedMatch(
                Playback(bots=match.bots, match_id=match.match_id, timed=True),
                tournament_id=match.spec.tournament_id or None,
                at_worker=not isinstance(match, Match),
            )
            watched = self._live[match.match_id] = Broadcast(shown)
            watched.follow(self._follow(match, watched), match=match.match_id)
        return watched

    def keeps(self, match_id: int) -> bool:
        """Return whether a finished match was asked for lately, so that it costs nothing to show it."""
        return match_id in self._finished

    async def finished(
        self, game: FinishedGame, read: Callable[[], Awaitable[str]]
    ) -> Broadcast[WatchedMatch]:
        """Return a finished match; `read` reads its record, if the match is not among those that are kept."""

        async def make() -> Broadcast[WatchedMatch]:
            playback = await asyncio.to_thread(recorded, await read(), game.match_id, game.bots)
            watched = Broadcast(WatchedMatch(playback, tournament_id=game.tournament_id))
            watched.publish()
            watched.end()
            return watched

        return await self._finished.get(game.match_id, make)

    async def _follow(self, match: OpenMatch, watched: Broadcast[WatchedMatch]) -> None:
        """Keep a match current to its end, which comes when it is stored."""
        try:
            if isinstance(match, Match):
                try:
                    await _replay_live(match, watched)
                except Exception:
                    if match.void_reason is None:
                        raise
                    _log.exception("last_move_failed", match=match.match_id)  # as in the match itself
            await match.closed.wait()  # a watcher who gets the result finds the match in the store
            shown = watched.value
            if not isinstance(match, Match) and match.packed_record:
                shown.playback = await asyncio.to_thread(
                    lambda: recorded(unpack(match.packed_record), match.match_id, match.bots)
                )
            elif match.void_reason is not None:
                shown.playback.void_reason = match.void_reason
                shown.decisions_at_worker = match.decisions if shown.at_worker else 0
            else:
                shown.playback.finish(match.results)
            watched.publish()
        finally:
            del self._live[match.match_id]


async def _replay_live(match: Match, watched: Broadcast[WatchedMatch]) -> None:
    """Play the moves of a match once more as they are made, until it is over."""
    moves = _Moves(match, watched.value.playback)
    watched.publish()
    moved = asyncio.Event()
    match.watchers.add(moved.set)
    try:
        while True:
            moved.clear()
            is_over = match.over.done()
            while moves.add():
                watched.publish()
                await asyncio.sleep(0)
            if is_over:
                return
            await moved.wait()
    finally:
        match.watchers.discard(moved.set)


class _Moves:
    """The moves of a match that is played here, as they are added to a playback."""

    def __init__(self, match: Match, playback: Playback) -> None:
        """Begin with the position at the first decision."""
        self._referee = match.referee
        self._game = Game(match.spec.deal)
        self._playback = playback
        self._metrics = self._incidents = 0  # how many of them are in the playback
        playback.show(self._game)

    def add(self) -> bool:
        """Add some new moves, with what bots sent and what went wrong; return whether there were any."""
        referee, first = self._referee, self._playback.decisions
        new = slice(first, first + SLICE)
        moves = zip(referee.moves[new], referee.think_us[new], strict=True)
        for number, ((_, move), think_us) in enumerate(moves, start=first + 1):
            metrics = None
            for entry in islice(referee.metrics, self._metrics, self._metrics + 1):
                if entry["decision"] == number:
                    metrics = entry["values"]
                    self._metrics += 1
            self._playback.answer(
                move,
                think_seconds=think_us / 1e6 if think_us else None,
                metrics=metrics,
                chosen_by=referee.choosers.get(number, ""),
            )
            self._game.apply(move)
            self._playback.show(self._game)
            for incident in islice(referee.incidents, self._incidents, None):
                if incident.decision_id > number:
                    break
                self._playback.add_incidents((incident,))
                self._incidents += 1
        return self._playback.decisions > first


def recorded(record: str, match_id: int, bots: Sequence[str]) -> Playback:
    """Return the game of a stored record; it takes some milliseconds. RecordError if it is malformed."""
    playback = Playback.of_record(loads(record), bots=bots, match_id=match_id)
    playback.timed = True  # by the server that wrote the record
    return playback
