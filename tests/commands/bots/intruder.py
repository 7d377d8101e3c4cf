"""A bot that tries at its first decision what it has no right to, writes down how that ends, and plays on."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import grpc

from happycity import Move
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.status import STATUS_METADATA, decode_status
from happycity_client import Bot, Decision, run

OUTCOMES = Path("outcomes.json")


def outcomes(match_id: int, token: str) -> dict[str, str]:
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    with grpc.insecure_channel(os.environ["HAPPYCITY_SERVER"]) as channel:
        matches, tournaments = MatchServiceStub(channel), TournamentServiceStub(channel)
        hello = play.PlayRequest(hello=play.Hello(name="random"))
        watch = match_pb.WatchMatchRequest(match_id=match_id)
        create = pb.CreateTournamentRequest()
        stop = pb.StopTournamentRequest(tournament_id=1)
        resume = pb.ResumeTournamentRequest(tournament_id=1)
        delete = pb.DeleteTournamentRequest(tournament_id=1)
        disqualify = pb.DisqualifyBotRequest(tournament_id=1, bot="random")
        calls: dict[str, Callable[[], object]] = {
            "play as another": lambda: list(PlayServiceStub(channel).Play(iter([hello]), metadata=metadata)),
            "watch": lambda: list(matches.WatchMatch(watch, metadata=metadata)),
            "create match": lambda: matches.CreateMatch(match_pb.CreateMatchRequest(), metadata=metadata),
            "create": lambda: tournaments.CreateTournament(create, metadata=metadata),
            "stop": lambda: tournaments.StopTournament(stop, metadata=metadata),
            "resume": lambda: tournaments.ResumeTournament(resume, metadata=metadata),
            "delete": lambda: tournaments.DeleteTournament(delete, metadata=metadata),
            "disqualify": lambda: tournaments.DisqualifyBot(disqualify, metadata=metadata),
        }
        return {name: reason(call) for name, call in calls.items()}


def reason(call: Callable[[], object]) -> str:
    """Return the reason for which a call is refused; "" if it isn't."""
    try:
        call()
    except grpc.RpcError as refusal:
        error = refusal
    else:
        return ""
    assert isinstance(error, grpc.Call)
    encoded = next(value for key, value in error.trailing_metadata() or () if key == STATUS_METADATA)
    assert isinstance(encoded, bytes)
    return decode_status(encoded).reason


class Intruder(Bot):
    def choose(self, decision: Decision) -> Move:
        if not OUTCOMES.exists():
            tokens = {"own token": os.environ["HAPPYCITY_TOKEN"], "no token": ""}
            content = {name: outcomes(decision.match_id, token) for name, token in tokens.items()}
            OUTCOMES.write_text(json.dumps({**content, "environment": dict(os.environ)}))
        return decision.moves[0]


run(Intruder)
