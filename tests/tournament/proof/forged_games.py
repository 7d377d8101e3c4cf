"""Games as a forger makes them: by the rules, with moves of other bots."""

from collections.abc import Mapping
from typing import Any

from happycity import Game, Move
from happycity.records.record import Recorder
from happycity.records.replay import deal_of
from happycity_bots import BOTS
from happycity_client import Decision, GameStarted


def replayed_by(record: dict[str, Any], bots: Mapping[str, str], seeds: list[int]) -> dict[str, Any]:
    """Return the record of the same deal, in which reference bots play for the names of `bots`."""
    deal = deal_of(record)
    game, recorder = Game(deal), Recorder(deal)
    seated = [
        BOTS[bots[name]](
            GameStarted(
                match_id=0, config=deal.config, seat=seat, bots=tuple(record["bots"]), seed=seeds[seat]
            )
        )
        for seat, name in enumerate(record["bots"])
    ]
    while game.outcome is None:
        move = seated[game.seat].choose(Decision.of(game))
        assert isinstance(move, Move)
        recorder.add(game, move)
        game.apply(move)
    made = recorder.record(game)
    return {"format": made.pop("format"), "bots": record["bots"], **made}


def blame(record: dict[str, Any], seat: int, *decisions: int, kind: str = "timeout") -> None:
    """Add incidents of a seat to a record."""
    record["incidents"] = [
        {"decision": decision, "seat": seat, "kind": kind, "text": "no answer within 10 s"}
        for decision in decisions
    ]
