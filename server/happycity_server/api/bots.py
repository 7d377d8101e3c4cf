"""BotService: who is connected."""

from __future__ import annotations

from happycity.match import is_person
from happycity.v1 import bot_service_pb2 as pb
from happycity.v1.bot_service_pb2_grpc import BotServiceServicer
from happycity_server.api.paging import cut_names, name_after_of, page_size
from happycity_server.places.bots import bot_message
from happycity_server.play.lobby import Lobby


class BotService(BotServiceServicer):
    """Lists the bots that are connected to the server."""

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby

    async def ListBots(self, request: pb.ListBotsRequest, context: object) -> pb.ListBotsResponse:
        """List the bots that are connected, or were a moment ago."""
        size, after = page_size(request.page_size), name_after_of(request.page_token)
        house = request.house if request.HasField("house") else None
        lobby = self._lobby
        sessions = {
            name: session
            for name, session in lobby.sessions.items()
            if name > after and not (session.gone or is_person(name)) and house in (None, name in lobby.house)
        }
        page, token = cut_names(sessions, size)
        bots = [bot_message(sessions[name], lobby) for name in page]
        return pb.ListBotsResponse(bots=bots, next_page_token=token)
