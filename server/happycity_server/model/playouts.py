"""Playing on from a view in sampled worlds: what the workers of the simulation service do.

All of it follows from the messages that a caller sent. Nothing here knows of matches, so nothing can reveal a
real hidden order; and nothing here knows gRPC, so a worker process is light.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

from happycity.errors import ConfigError, DealError, FieldError, IllegalMoveError
from happycity.match import seat_results
from happycity.model.v1beta1 import model_service_pb2 as pb
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import Outcome
from happycity.rules.views import Event, View
from happycity.v1 import game_pb2
from happycity.wire.match import result_message
from happycity.wire.messages import event_message, move_messages, move_of, view_message, view_of
from happycity_evaluation.policies import POLICIES, play_to_end


class LineError(FieldError):
    """A line can't be played; the field is that of the request which is wrong."""


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A part of the work that was asked of one line."""

    line: int
    """The position of the line in the request."""
    content: bytes
    """The line as a message."""
    first: int = 0
    """The number of the first world, from 0."""
    worlds: int = 1


@dataclass(frozen=True, slots=True)
class PlayoutJob:
    """Playouts that one worker plays at a time."""

    policy: str
    """A key of `POLICIES`."""
    each_move: bool
    items: tuple[WorkItem, ...]


class PlayoutStats:
    """Sums over playouts by seat, in integers: the order of addition doesn't matter."""

    __slots__ = ("_sums", "playouts")

    def __init__(self, players: int) -> None:
        self.playouts = 0
        # Points, their squares, places, their squares, and how often the seat was first.
        self._sums = [[0] * players for _ in range(5)]

    def add(self, outcome: Outcome) -> None:
        """Count a playout."""
        self.playouts += 1
        for seat, (points, place) in enumerate(zip(outcome.points, outcome.ranks, strict=True)):
            numbers = (points, points * points, place, place * place, place == 1)
            for sums, number in zip(self._sums, numbers, strict=True):
                sums[seat] += number

    def merge(self, other: PlayoutStats) -> None:
        """Count the playouts of another one."""
        self.playouts += other.playouts
        for sums, others in zip(self._sums, other._sums, strict=True):
            sums[:] = map(int.__add__, sums, others)

    def message(self, line: int, move: game_pb2.Move | None) -> pb.RolloutResult:
        """Write the means and their standard errors, of which there are none without a playout."""
        count = self.playouts
        if not count:
            return pb.RolloutResult(line=line, move=move)
        seats = [
            pb.SeatEstimate(
                points_mean=points / count,
                points_error=_standard_error(count, points, points_squared),
                place_mean=places / count,
                place_error=_standard_error(count, places, places_squared),
                firsts_share=firsts / count,
                firsts_error=_standard_error(count, firsts, firsts),
            )
            for points, points_squared, places, places_squared, firsts in zip(*self._sums, strict=True)
        ]
        return pb.RolloutResult(seats=seats, playouts=count, line=line, move=move)


def _standard_error(count: int, total: int, squares: int) -> float:
    """Return the standard error of a mean: the sample's standard deviation over the root of its size."""
    if count < 2:
        return 0.0
    return sqrt((count * squares - total * total) / (count * count * (count - 1)))


def apply_moves(items: Sequence[WorkItem]) -> list[bytes]:
    """Return the position to which each line comes in its first world, as messages; LineError if to none."""
    return [_position(item).SerializeToString(deterministic=True) for item in items]


def legal_moves(items: Sequence[WorkItem]) -> list[list[bytes]]:
    """Return the legal moves of each line's view, as messages; LineError if a view is impossible."""
    return [[move.SerializeToString() for move in move_messages(_world(item, 0))] for item in items]


def roll_out(job: PlayoutJob) -> list[list[PlayoutStats]]:
    """Play a job's playouts; return the statistics of each item: one, or one for each legal move.

    LineError if a line can't be played.
    """
    return [_play_item(item, job) for item in job.items]


def _play_item(item: WorkItem, job: PlayoutJob) -> list[PlayoutStats]:
    all_stats: list[PlayoutStats] = []
    policy = POLICIES[job.policy]
    for number in range(item.first, item.first + item.worlds):
        start = _world(item, number)
        if not job.each_move:
            _play_line(start, item)
        options: Sequence[Move | None] = start.legal_moves if job.each_move else (None,)
        all_stats = all_stats or [PlayoutStats(start.config.players) for _ in options]
        for stats, move in zip(all_stats, options, strict=True):
            world = start
            if move is not None:
                world = start.copy()
                world.apply(move)
            stats.add(play_to_end(world, policy, _rng("playout", item.content, number)))
    return all_stats


def _position(item: WorkItem) -> pb.Position:
    world = _world(item, item.first)
    events = _play_line(world, item)
    outcome = world.outcome
    return pb.Position(
        view=view_message(world.view()),
        moves=move_messages(world),
        events=map(event_message, events),
        result=None if outcome is None else result_message(seat_results(outcome)),
    )


def _play_line(world: Game, item: WorkItem) -> list[Event]:
    """Make a line's moves; return what they brought about."""
    events: list[Event] = []
    for number, move in enumerate(_line(item.content).moves):
        try:
            world.apply(move_of(move))
        except KeyError:
            raise LineError(_move_field(item, number), "this is not a move of the game") from None
        except IllegalMoveError as error:
            raise LineError(_move_field(item, number), str(error)) from None
        events += world.events
    return events


def _move_field(item: WorkItem, number: int) -> str:
    return f"lines[{item.line}].moves[{number}]"


def _world(item: WorkItem, number: int) -> Game:
    """Sample a world that is consistent with a line's view."""
    try:
        return Game.from_view(_view(item.content), _rng("world", item.content, number))
    except KeyError as error:
        text = f"{error} is not a card or phase of the game"
    except (ConfigError, DealError, LookupError) as error:
        text = str(error)
    raise LineError(f"lines[{item.line}].view", text)


def _rng(purpose: str, content: bytes, number: int) -> random.Random:
    return random.Random(f"happycity {purpose} {_line(content).seed} {number}")


@lru_cache(maxsize=16)  # the items of a line come one after the other
def _line(content: bytes) -> pb.Line:
    return pb.Line.FromString(content)


@lru_cache(maxsize=16)
def _view(content: bytes) -> View:
    """Read the view of a line; ConfigError, DealError or LookupError if no game can look like it."""
    view = view_of(_line(content).view)
    if len(view.specials) > view.config.players + 2:
        raise DealError("specials: more than players + 2 (article 2.4)")
    return view
