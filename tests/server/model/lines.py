"""Lines from the views of games, and what the workers make of them, in this process."""

import random
from collections.abc import Iterable, Sequence

from happycity import Config, Game, Mode, Move
from happycity.model.v1beta1 import model_service_pb2 as pb
from happycity.records.random_games import random_move
from happycity.wire.messages import move_message, view_message
from happycity_server.model.playouts import PlayoutJob, PlayoutStats, WorkItem, roll_out


def started(seed: int = 1, *, players: int = 2, mode: Mode = Mode.FAMILY, moves: int = 0) -> Game:
    game, rng = Game.deal(Config(players=players, mode=mode), seed=seed), random.Random(seed)
    for _ in range(moves):
        if game.outcome is None:
            game.apply(random_move(game, rng))
    return game


def line(game: Game, moves: Iterable[str] = (), seed: int = 0) -> pb.Line:
    messages = [move_message(Move.parse(move)) for move in moves]
    return pb.Line(view=view_message(game.view()), moves=messages, seed=seed)


def item(line: pb.Line, first: int = 0, worlds: int = 1, number: int = 0) -> WorkItem:
    return WorkItem(number, line.SerializeToString(deterministic=True), first, worlds)


def rolled_out(*items: WorkItem, policy: str = "quick", each_move: bool = False) -> list[list[PlayoutStats]]:
    return roll_out(PlayoutJob(policy, each_move, items))


def estimates(stats: PlayoutStats) -> Sequence[pb.SeatEstimate]:
    return stats.message(0, None).seats
