"""Wants to set up a match, which is not for bots."""

from __future__ import annotations

import grpc
from tests.misbehaviour.bots.raw import arguments, bearer, channel, tell_refusal

from happycity import Config
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire import config_message


def main() -> None:
    """Play badly."""
    given = arguments()
    request = pb.CreateMatchRequest(config=config_message(Config(players=2)), bots=[given.name, "anna"])
    try:
        MatchServiceStub(channel(given.address)).CreateMatch(request, metadata=bearer(given.token))
    except grpc.RpcError as error:
        tell_refusal(error)


if __name__ == "__main__":
    main()
