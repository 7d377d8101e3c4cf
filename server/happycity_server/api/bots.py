"""BotService: who is connected."""

from __future__ import annotations

from happycity.match import is_person
from happycity.v1 import bot_service_pb2 as pb
from happycity.v1.bot_service_pb2_grpc import BotServiceServicer
from happycity_server.api.paging import cut_names, name_after_of, page_size
from happycity_server.places.places import Places


class BotService(BotServiceServicer):
    """Lists the bots of all places."""

    def __init__(self, places: Places) -> None:
        self._places = places

    async def ListBots(self, request: pb.ListBotsRequest, context: object) -> pb.ListBotsResponse:
        """List the bots that are connected, or were a moment ago."""
        size, after = page_size(request.page_size), name_after_of(request.page_token)
        house = request.house if request.HasField("house") else None
        names = [
            name
            for name in self._places.bot_names()
            if name > after and not is_person(name) and house in (None, name in self._places.house)
        ]
        page, token = cut_names(names, size)
        return pb.ListBotsResponse(bots=map(self._places.bot, page), next_page_token=token)
