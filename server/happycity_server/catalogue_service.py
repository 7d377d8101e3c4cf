"""CatalogueService: the values of the cards."""

from __future__ import annotations

import grpc

from happycity import CARDS
from happycity.v1 import catalogue_service_pb2 as pb
from happycity.v1.catalogue_service_pb2_grpc import CatalogueServiceServicer
from happycity.wire import card_info_message


class CatalogueService(CatalogueServiceServicer):
    """Answers from the card tables."""

    def __init__(self) -> None:
        self._response = pb.GetCatalogueResponse(cards=map(card_info_message, CARDS))

    async def GetCatalogue(  # noqa: N802 - gRPC names its methods so
        self,
        request: pb.GetCatalogueRequest,
        context: grpc.aio.ServicerContext[pb.GetCatalogueRequest, pb.GetCatalogueResponse],
    ) -> pb.GetCatalogueResponse:
        """Return every card."""
        return self._response
