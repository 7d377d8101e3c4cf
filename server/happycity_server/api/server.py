"""The gRPC service ServerService: what this server is."""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version

from happycity.v1 import server_service_pb2 as pb
from happycity.wire.messages import PROTOCOL_VERSION
from happycity_server.access.roles import Principal


class ServerService:
    """Says which version, services and limits the server has."""

    def __init__(self, limits: pb.ServerLimits, services: Collection[str]) -> None:
        """Describe a server with these limits; `services` are the full names of those that it has."""
        self._response = pb.Server(
            version=version("happycity"),
            protocol_version=PROTOCOL_VERSION,
            services=sorted(services),
            limits=limits,
        )

    async def GetServer(self, caller: Principal, request: pb.GetServerRequest) -> pb.Server:
        """Return what the server is."""
        return self._response
