"""SimulationService: declared in the contract, not served by this version."""

from __future__ import annotations

from typing import Any

import grpc

from happycity.v1 import simulation_service_pb2 as pb
from happycity.v1.simulation_service_pb2_grpc import SimulationServiceServicer
from happycity_server.refusals import Reason, Refusal, refusing


class SimulationService(SimulationServiceServicer):
    """Answers every call with UNIMPLEMENTED."""

    @refusing
    async def Explore(  # noqa: N802 - gRPC names its methods so
        self, request: pb.ExploreRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.ExploreResponse:
        """Refuse."""
        raise _refusal()

    @refusing
    async def RollOut(  # noqa: N802
        self, request: pb.RollOutRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> pb.RollOutResponse:
        """Refuse."""
        raise _refusal()


def _refusal() -> Refusal:
    return Refusal(Reason.UNSUPPORTED_SERVICE, "the simulation service is not part of this version")
