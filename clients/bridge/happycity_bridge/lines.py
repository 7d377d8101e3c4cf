"""What a program is told: the messages of the protocol, as protobuf's JSON mapping writes them.

Names are those of the .proto files (`game_id`, not `gameId`), nothing is left out because it is 0, and
64-bit numbers are strings, as the mapping demands. The decision is put together by hand: for the one line
that is written for every move, protobuf's own writer takes ten times as long. A test compares the two.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from happycity import Config, Event, Game, Mode, Move, MoveKind, View
from happycity.moves import COIN, COPY_BOX
from happycity.v1 import cards_pb2, game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire import coins_moved, config_message, result_message
from happycity_client import Decision, GameOver, GameStart, VoidReason

Line = dict[str, object]

_CARDS: dict[int, str] = {number: name for name, number in cards_pb2.Card.items()}
_EVENTS: dict[int, str] = {number: name for name, number in game_pb2.EventKind.items()}
_PHASES: dict[int, str] = {number: name for name, number in game_pb2.Phase.items()}
_NO_CARD = _CARDS[0]
_UNKNOWN_ENDING = "unknown"
"""The SDK's word for an ending that a newer server has."""


def game_started(start: GameStart) -> Line:
    """Tell that a game begins."""
    message = play.GameStarted(
        game_id=start.game_id,
        config=config_message(start.config),
        seat=start.seat,
        bots=start.bots,
        seed=start.seed,
    )
    return {"type": "game_started", **_mapped(message)}


def decision(decision: Decision, rng: random.Random) -> Line:
    """Tell of a choice that waits. What a simple program needs comes first.

    Args:
        decision: the choice.
        rng: makes up what is hidden where prices depend on effects, which never depend on it.
    """
    view = decision.view
    return {
        "type": "decision",
        "game_id": str(decision.game_id),
        "legal": [move.text for move in decision.moves],
        "seat": decision.seat,
        "moves": _moves(decision.moves, view, rng),
        "view": _view(view),
        "events": [_event(event) for event in decision.events],
        "clock": _clock(decision),
    }


def game_over(over: GameOver) -> Line:
    """Tell how a game ended."""
    known = [ending for ending in over.endings if ending != _UNKNOWN_ENDING]
    result = result_message(over.outcome, places=over.places, endings=known)
    line = _mapped(play.GameOver(game_id=over.game_id, result=result))
    if len(known) < len(over.endings):
        # Half a list would be read by seat, and wrongly.
        del line["result"]["endings"]
    return {"type": "game_over", **line}


def game_voided(game_id: int, reason: VoidReason) -> Line:
    """Tell that a game was broken off: a game_over without a result."""
    number = play.VoidReason.Value(f"VOID_REASON_{reason.name}")
    return {"type": "game_over", **_mapped(play.GameOver(game_id=game_id, void_reason=number))}


def error(game_id: int, text: str, legal: Sequence[Move]) -> Line:
    """Tell a program why one of its games is resigned."""
    return {
        "type": "error",
        "game_id": str(game_id),
        "message": text,
        "legal": [move.text for move in legal],
    }


def _mapped(message: Message) -> dict[str, dict[str, object]]:
    mapped: dict[str, dict[str, object]] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return mapped


def _moves(moves: Sequence[Move], view: View, rng: random.Random) -> list[Line]:
    if view.config.mode is Mode.EXPERT and moves[0] is COIN:
        game = Game.from_view(view, rng)
        return [_move(move, coins_moved(game, view.seat, move)) for move in moves]
    return [_move(move, move.card.cost if move.card else 1) for move in moves]


def _move(move: Move, coins: int) -> Line:
    """Write a move; `coins` are what it costs or brings, if it does."""
    kind = move.kind
    content: Line = {}
    if kind is MoveKind.DRAW:
        content = {"deck": move.number}
    elif kind is MoveKind.COIN:
        content = {"amount": coins}
    elif move is COPY_BOX:
        content = {"box": True}
    elif kind is MoveKind.COPY:
        content = {"seat": move.number}
    elif move.card is not None:
        content = {"card": _CARDS[move.card.number]}
        if kind in (MoveKind.BUILD, MoveKind.DWELL):
            content["price"] = coins
    return {kind.name.lower(): content}


def _view(view: View) -> Line:
    return {
        "round": view.round,
        "seat": view.seat,
        "phase": _PHASES[view.phase],
        "seats": [
            {
                "coins": coins,
                "income": income,
                "city": [_CARDS[card.number] for card in city],
                "uses_left": uses,
            }
            for coins, income, city, uses in zip(
                view.coins, view.incomes, view.cities, view.uses, strict=True
            )
        ],
        "centre": [_CARDS[card.number] for card in view.centre],
        "specials": [_CARDS[card.number] for card in view.specials],
        "dwellings": list(view.dwellings),
        "decks": list(view.decks),
        "discards": list(view.discards),
        "config": _config(view.config),
    }


def _config(config: Config) -> Line:
    return {
        "players": config.players,
        "mode": f"MODE_{config.mode.name}",
        "scoring": f"SCORING_{config.scoring.name}",
    }


def _event(event: Event) -> Line:
    return {
        "kind": _EVENTS[event.kind],
        "seat": event.seat,
        "card": _CARDS[event.card.number] if event.card else _NO_CARD,
        "amount": event.amount,
    }


def _clock(decision: Decision) -> Line:
    return {
        "time_left_ms": round((decision.time_left or 0) * 1e3),
        "last_think_us": str(round((decision.last_think or 0) * 1e6)),
        "bank_left_ms": round((decision.bank_left or 0) * 1e3),
        "round_trip_us": round((decision.round_trip or 0) * 1e6),
    }
