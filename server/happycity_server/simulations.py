"""Playing on from a view in sampled worlds: what the workers of the simulation service do.

All of it follows from the messages that a caller sent. Nothing here knows of matches, so nothing can tell a
real hidden order; and nothing here knows gRPC, so a worker process is light.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

from happycity.errors import ConfigError, DealError, HappyCityError, IllegalMoveError
from happycity.game import Game
from happycity.moves import Move
from happycity.policies import POLICIES, play_out
from happycity.scoring import Outcome
from happycity.v1 import game_pb2
from happycity.v1 import simulation_service_pb2 as pb
from happycity.views import Event, View
from happycity.wire import (
    coins_moved,
    event_message,
    move_message,
    move_of,
    outcome_message,
    view_message,
    view_of,
)


class LineError(HappyCityError):
    """A line can't be played; the text says why."""

    def __init__(self, line: int, part: str, text: str) -> None:
        super().__init__(line, part, text)  # all of them, so that it can come back from a worker
        self.line = line
        """The position of the line in the request."""
        self.field = f"lines[{line}].{part}"

    def __str__(self) -> str:
        return f"{self.field}: {self.args[2]}"


@dataclass(frozen=True, slots=True)
class Share:
    """A part of what was asked of one line."""

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
    each_move: bool
    shares: tuple[Share, ...]


class Tally:
    """Sums over playouts by seat, in integers: it doesn't matter in which order they are added up."""

    __slots__ = ("firsts", "places", "places_squared", "playouts", "points", "points_squared")

    def __init__(self, players: int) -> None:
        self.playouts = 0
        self.points = [0] * players
        self.points_squared = [0] * players
        self.places = [0] * players
        self.places_squared = [0] * players
        self.firsts = [0] * players

    def add(self, outcome: Outcome) -> None:
        """Count a playout."""
        self.playouts += 1
        for seat, (points, place) in enumerate(zip(outcome.points, outcome.ranks, strict=True)):
            self.points[seat] += points
            self.points_squared[seat] += points * points
            self.places[seat] += place
            self.places_squared[seat] += place * place
            self.firsts[seat] += place == 1

    def merge(self, other: Tally) -> None:
        """Count the playouts of another tally."""
        self.playouts += other.playouts
        for name in ("points", "points_squared", "places", "places_squared", "firsts"):
            sums: list[int] = getattr(self, name)
            sums[:] = map(int.__add__, sums, getattr(other, name))

    def message(self, line: int, move: game_pb2.Move | None) -> pb.RollOut:
        """Write the means and their standard errors."""
        count = self.playouts
        return pb.RollOut(
            points_mean=[total / count for total in self.points],
            place_mean=[total / count for total in self.places],
            firsts_share=[total / count for total in self.firsts],
            points_error=_errors(count, self.points, self.points_squared),
            place_error=_errors(count, self.places, self.places_squared),
            firsts_error=_errors(count, self.firsts, self.firsts),
            playouts=count,
            line=line,
            move=move,
        )


def _errors(count: int, sums: Iterable[int], squares: Iterable[int]) -> list[float]:
    """Return the standard errors of means: the sample's standard deviation over the root of its size."""
    if count < 2:
        return [0.0 for _ in sums]
    return [
        sqrt((count * square - total * total) / (count * count * (count - 1)))
        for total, square in zip(sums, squares, strict=True)
    ]


def explore(shares: Sequence[Share]) -> list[bytes]:
    """Return the position that each line comes to in its first world, as messages.

    Raises:
        LineError: a line can't be played.
    """
    return [_position(share).SerializeToString(deterministic=True) for share in shares]


def legal_moves(shares: Sequence[Share]) -> list[list[bytes]]:
    """Return the legal moves of each line's view, as messages.

    Raises:
        LineError: there is no such view.
    """
    return [[move.SerializeToString() for move in _moves(_world(share, 0))] for share in shares]


def roll_out(job: PlayoutJob) -> list[list[Tally]]:
    """Play a job's playouts; return the tallies of each share: one, or one for each legal move.

    Raises:
        LineError: a line can't be played.
    """
    return [_tallies(share, job) for share in job.shares]


def _tallies(share: Share, job: PlayoutJob) -> list[Tally]:
    tallies: list[Tally] = []
    policy = POLICIES[job.policy]
    for number in range(share.first, share.first + share.worlds):
        start = _world(share, number)
        if not job.each_move:
            _play(start, share)
        options: Sequence[Move | None] = start.legal_moves if job.each_move else (None,)
        tallies = tallies or [Tally(start.config.players) for _ in options]
        for tally, move in zip(tallies, options, strict=True):
            world = start
            if move is not None:
                world = start.copy()
                world.apply(move)
            tally.add(play_out(world, policy, _rng("playout", share.content, number)))
    return tallies


def _position(share: Share) -> pb.Position:
    world = _world(share, share.first)
    events = _play(world, share)
    return pb.Position(
        view=view_message(world.view()),
        moves=_moves(world),
        outcome=outcome_message(world.outcome) if world.outcome is not None else None,
        events=[event_message(event) for event in events],
    )


def _moves(world: Game) -> list[game_pb2.Move]:
    seat = world.seat
    return [move_message(move, coins_moved(world, seat, move)) for move in world.legal_moves]


def _play(world: Game, share: Share) -> list[Event]:
    """Make a line's moves; return what they brought about."""
    events: list[Event] = []
    for number, move in enumerate(_line(share.content).moves):
        try:
            world.apply(move_of(move))
        except KeyError:
            raise LineError(share.line, f"moves[{number}]", "that is no move of the game") from None
        except IllegalMoveError as error:
            raise LineError(share.line, f"moves[{number}]", str(error)) from None
        events += world.events
    return events


def _world(share: Share, number: int) -> Game:
    """Sample a world that looks like a line's view."""
    try:
        return Game.from_view(_view(share.content), _rng("world", share.content, number))
    except KeyError as error:
        text = f"{error} is no card or phase of the game"
    except (ConfigError, DealError) as error:
        text = str(error)
    raise LineError(share.line, "view", text)


def _rng(purpose: str, content: bytes, number: int) -> random.Random:
    return random.Random(f"happycity {purpose} {_line(content).seed} {number}")


@lru_cache(maxsize=16)  # the shares of a line come one after the other
def _line(content: bytes) -> pb.Line:
    return pb.Line.FromString(content)


@lru_cache(maxsize=16)
def _view(content: bytes) -> View:
    """Read the view of a line.

    Raises:
        ConfigError: its configuration makes no sense.
        DealError: no game can look like it.
        KeyError: it has a card or a phase that isn't known here.
    """
    view = view_of(_line(content).view)
    if len(view.specials) > view.config.players + 2:
        raise DealError("specials: more than players + 2 (article 2.4)")
    return view
