"""BotService: who is connected."""

from __future__ import annotations

from happycity.match import is_person
from happycity.v1 import bot_service_pb2 as pb
from happycity.v1.bot_service_pb2_grpc import BotServiceServicer
from happycity.wire import bot_info_message, duration_message
from happycity_server.play.lobby import Lobby
from happycity_server.play.session import Session
from happycity_server.services.paging import cut_names, name_after_of, page_size
from happycity_tournament.running.codec import timestamp


class BotService(BotServiceServicer):
    """Lists the lobby's sessions."""

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby

    async def ListBots(self, request: pb.ListBotsRequest, context: object) -> pb.ListBotsResponse:
        """List the bots that are connected, or were a moment ago."""
        size, after = page_size(request.page_size), name_after_of(request.page_token)
        house = request.house if request.HasField("house") else None
        names = [
            name
            for name, session in self._lobby.sessions.items()
            if name > after
            and not session.gone
            and not is_person(name)
            and house in (None, name in self._lobby.house)
        ]
        page, token = cut_names(names, size)
        return pb.ListBotsResponse(
            bots=[self._bot(self._lobby.sessions[name]) for name in page], next_page_token=token
        )

    def _bot(self, session: Session) -> pb.ConnectedBot:
        """Write a bot as it is now."""
        waiting = session.waiting_since
        return pb.ConnectedBot(
            name=session.name,
            info=bot_info_message(session.info),
            software=session.software,
            house=session.name in self._lobby.house,
            connected=session.outbox is not None,
            since=timestamp(session.since),
            games=session.games,
            max_games=session.max_games,
            answers=session.answers,
            strikes=session.strikes,
            decisions_waiting=len(waiting),
            waiting_for=duration_message(self._lobby.clock() - min(waiting)) if waiting else None,
            round_trip_us=session.round_trip_us,
        )
