"""The gRPC service ServerService: what this server is."""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version

from happycity.v1 import server_service_pb2 as pb
from happycity.wire.fields import to_message
from happycity.wire.match import duration_message
from happycity.wire.messages import PROTOCOL_VERSION
from happycity_server.access.roles import Principal
from happycity_server.config import ServerSettings


class ServerService:
    """Says which version, services and limits the server has."""

    def __init__(self, settings: ServerSettings, services: Collection[str]) -> None:
        """Describe a server with these settings; `services` are the full names of those that it has."""
        limits = to_message(
            pb.ServerLimits,
            settings,
            *("message_bytes", "calls_per_second", "calls_burst", "streams_per_token", "streams_per_peer"),
            *("practice_matches", "practice_matches_per_hour"),
            hello_time=duration_message(settings.hello_time),
            games_per_bot=settings.games_per_bot or None,
        )
        self._response = pb.Server(
            version=version("happycity"),
            protocol_version=PROTOCOL_VERSION,
            services=sorted(services),
            limits=limits,
        )

    async def GetServer(self, caller: Principal, request: pb.GetServerRequest) -> pb.Server:
        """Return what the server is."""
        return self._response
