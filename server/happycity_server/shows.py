"""Watching matches: each spectator replays the moves on a game of its own, which costs the match nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from happycity import Deal, Game, Move
from happycity.records import Json, deal_of, places
from happycity.v1 import game_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.wire import coins_moved, event_message, move_message, result_message, view_message
from happycity_server.matches import Match, MatchState

_Moves = Sequence[tuple[int, Move]]


class Show(Protocol):
    """Something to watch, step by step."""

    def steps(self, *, skip: int) -> AsyncIterator[pb.WatchMatchResponse]:
        """Yield the positions of the match, the first `skip` decisions left out, up to its end."""

    def close(self) -> None:
        """Stop watching."""


class RecordedShow:
    """A finished match, from its record."""

    def __init__(self, record: Json) -> None:
        self._deal = deal_of(record)
        self._moves = [(line["seat"], Move.parse(line["move"])) for line in record["moves"]]
        self._endings = record["endings"]

    async def steps(self, *, skip: int) -> AsyncIterator[pb.WatchMatchResponse]:
        """Yield all positions at once."""
        replay = _Replay(self._deal)
        for step in replay.advance(self._moves, skip=skip):
            yield step
        outcome = replay.game.outcome
        assert outcome is not None
        result = result_message(outcome, places=places(outcome, self._endings), endings=self._endings)
        yield pb.WatchMatchResponse(decisions=len(self._moves), result=result)

    def close(self) -> None:
        """Nothing is held."""


class LiveShow:
    """A match that waits or runs."""

    def __init__(self, match: Match) -> None:
        self._match = match
        self._moved = match.watch()

    async def steps(self, *, skip: int) -> AsyncIterator[pb.WatchMatchResponse]:
        """Yield what happened already, then each move as it is made."""
        match, referee = self._match, self._match.referee
        replay = _Replay(match.spec.deal)
        while True:
            self._moved.clear()
            for step in replay.advance(referee.recorder.moves, skip=skip):
                yield step
            if match.over.done():
                await match.closed.wait()  # whoever sees the result finds the match in the store
                break
            await self._moved.wait()
        last = pb.WatchMatchResponse(decisions=len(referee.recorder.moves))
        if match.state is MatchState.FINISHED:
            outcome = referee.game.outcome
            assert outcome is not None
            last.result.CopyFrom(result_message(outcome, places=referee.places, endings=referee.endings))
        yield last

    def close(self) -> None:
        """Stop watching."""
        self._match.unwatch(self._moved)


class _Replay:
    """A game that catches up with a list of moves."""

    def __init__(self, deal: Deal) -> None:
        self.game = Game(deal)
        self._decisions = -1  # not even the beginning has been shown

    def advance(self, moves: _Moves, *, skip: int) -> list[pb.WatchMatchResponse]:
        """Play the moves that are new; return the positions after the first `skip` decisions."""
        steps = []
        if self._decisions < 0:
            self._decisions = 0
            if not skip:
                steps.append(self._step(move=None, seat=0))
        for seat, move in moves[self._decisions :]:
            coins = coins_moved(self.game, seat, move)
            self.game.apply(move)
            self._decisions += 1
            if self._decisions >= skip:
                steps.append(self._step(move=move_message(move, coins), seat=seat))
        return steps

    def _step(self, *, move: game_pb2.Move | None, seat: int) -> pb.WatchMatchResponse:
        return pb.WatchMatchResponse(
            decisions=self._decisions,
            move=move,
            seat=seat,
            events=map(event_message, self.game.events),
            view=view_message(self.game.view()),
        )
