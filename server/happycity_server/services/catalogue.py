"""CatalogueService: the values of the cards."""

from __future__ import annotations

from happycity.rules import CARDS
from happycity.v1 import catalogue_service_pb2 as pb
from happycity.v1.catalogue_service_pb2_grpc import CatalogueServiceServicer
from happycity.wire import card_info_message


class CatalogueService(CatalogueServiceServicer):
    """Returns the card tables."""

    def __init__(self) -> None:
        self._response = pb.GetCatalogueResponse(cards=map(card_info_message, CARDS))

    async def GetCatalogue(self, request: pb.GetCatalogueRequest, context: object) -> pb.GetCatalogueResponse:
        """Return every card."""
        return self._response
