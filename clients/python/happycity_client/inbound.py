"""The server's messages as the bot's objects. What a newer server may add to them is left out."""

from __future__ import annotations

from functools import partial

from happycity import Event, Move, View
from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire import config_of, endings_of, event_of, move_of, outcome_of, view_of
from happycity_client.bot import Decision, GameOver, GameStart, VoidReason

_VOID_REASONS = {
    play.VoidReason.Value(f"VOID_REASON_{reason.name}"): reason
    for reason in VoidReason
    if reason is not VoidReason.UNSPECIFIED
}


def game_start_of(message: play.GameStarted) -> GameStart:
    """Read how a game begins.

    Raises:
        ConfigError: the kind of game is not known here.
    """
    return GameStart(
        game_id=message.game_id,
        config=config_of(message.config),
        seat=message.seat,
        bots=tuple(message.bots),
        seed=message.seed,
    )


def decision_of(message: play.Decision) -> Decision:
    """Read a decision; its view and events only when they are asked for."""
    clock = message.clock
    return Decision(
        game_id=message.game_id,
        seat=message.seat,
        moves=_moves_of(message),
        view=partial(_view_of, message),
        events=partial(_events_of, message),
        time_left=clock.time_left_ms / 1e3 or None,
        bank_left=clock.bank_left_ms / 1e3 or None,
        last_think=clock.last_think_us / 1e6 or None,
        round_trip=clock.round_trip_us / 1e6 or None,
    )


def position_of(move: object, message: play.Decision, decision: Decision) -> int:
    """Return the position of a move among those of the message.

    Raises:
        ValueError: it is none of the legal moves.
    """
    try:
        position = decision.moves.index(move)
    except ValueError:
        legal = ", ".join(map(str, decision.moves))
        raise ValueError(f"the bot chose {move}, which is not legal ({legal})") from None
    if len(decision.moves) == len(message.moves):
        return position
    return [_known_move(option) for option in message.moves].index(decision.moves[position])


def game_over_of(message: play.GameOver) -> GameOver:
    """Read how a game ended that was not voided."""
    result = message.result
    return GameOver(
        game_id=message.game_id,
        outcome=outcome_of(result.outcome),
        places=tuple(result.places),
        endings=tuple([_ending_of(ending) for ending in result.endings]),
    )


def void_reason_of(message: play.GameOver) -> VoidReason:
    """Read why a game was voided."""
    return _VOID_REASONS.get(message.void_reason, VoidReason.UNSPECIFIED)


def _moves_of(message: play.Decision) -> tuple[Move, ...]:
    try:
        return tuple([move_of(move) for move in message.moves])
    except KeyError:
        moves = [_known_move(move) for move in message.moves]
        return tuple([move for move in moves if move is not None])


def _known_move(message: game_pb2.Move) -> Move | None:
    try:
        return move_of(message)
    except KeyError:
        return None


def _view_of(message: play.Decision) -> View:
    return view_of(message.view)


def _events_of(message: play.Decision) -> tuple[Event, ...]:
    try:
        return tuple([event_of(event) for event in message.events])
    except LookupError:
        return tuple([event for event in map(_known_event, message.events) if event is not None])


def _known_event(message: game_pb2.Event) -> Event | None:
    try:
        return event_of(message)
    except LookupError:
        return None


def _ending_of(number: game_pb2.Ending.ValueType) -> str:
    try:
        return endings_of(game_pb2.Result(endings=[number]))[0]
    except KeyError:
        return "unknown"
