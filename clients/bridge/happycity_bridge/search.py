"""What a program may ask of the native engine while a decision waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happycity import Move
from happycity.compiled import required
from happycity.rules.deals import MAX_SEED
from happycity_bridge.decode import ProgramAnswer, SearchRequest, chosen_move
from happycity_bridge.encode import Line
from happycity_bridge.errors import AnswerError
from happycity_client import Decision

if TYPE_CHECKING:
    from happycity_engine import Position

MAX_WORLDS = 1000
"""Sampled worlds of a request: the bridge's other games wait for some 10 milliseconds."""
_FORMS = (
    ("sample", {"seed"}),
    ("position", {"position"}),
    ("apply", {"position", "move"}),
    ("playouts", {"seed", "worlds"}),
    ("playouts", {"position"}),
)
"""What may be asked, each with the keys that it takes."""
_MOVES = tuple(Move.all())


def search_reply(request: SearchRequest, decision: Decision) -> Line:
    """Return the line that answers a request about a decision; AnswerError if there is none."""
    names = request.keys.keys() - {"ask", "id"}
    if (request.ask, names) not in _FORMS:
        forms = ", ".join(f"{ask} ({', '.join(sorted(keys))})" for ask, keys in _FORMS)
        raise AnswerError(request.line, f"which asks for none of these with their keys: {forms}")
    try:
        if "worlds" in names:
            seed, count = request.number("seed", MAX_SEED), request.number("worlds", MAX_WORLDS, least=1)
            worlds = [decision.position(seed=(seed + number) & MAX_SEED) for number in range(count)]
        elif "seed" in names:
            worlds = [decision.position(seed=request.number("seed", MAX_SEED))]
        else:
            worlds = [required("Position").from_bytes(bytes.fromhex(str(request.keys["position"])))]
        if request.ask == "playouts":
            return _playouts(worlds)
        if request.ask == "apply":
            answer = ProgramAnswer(request.line, request.id, request.keys["move"], {})
            worlds[0].apply(chosen_move(answer, _legal(worlds[0])).index)
    except ImportError as error:
        raise AnswerError(request.line, f"but {error}") from None
    except ValueError as error:
        raise AnswerError(request.line, f"which can't be: {error}") from None
    return _described(worlds[0])


def _described(position: Position) -> Line:
    outcome = position.outcome
    names = ("points", "coins", "inhabitants", "hearts", "ranks")
    return {
        "type": "position",
        "position": bytes(position).hex(),
        "round": position.round,
        "seat": position.seat,
        "legal": [move.text for move in _legal(position)],
        "outcome": None if outcome is None else dict(zip(names, outcome, strict=True)),
    }


def _playouts(worlds: list[Position]) -> Line:
    """Write by legal move the mean of its playouts: one in each world."""
    moves = _legal(worlds[0])
    values = [sum(world.playout(move.index) for world in worlds) / len(worlds) for move in moves]
    return {"type": "playouts", "legal": [move.text for move in moves], "values": values}


def _legal(position: Position) -> list[Move]:
    return [_MOVES[index] for index in position.legal_moves]
