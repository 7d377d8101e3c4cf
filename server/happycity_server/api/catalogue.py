"""CatalogueService: the values of the cards."""

from __future__ import annotations

from happycity.v1 import catalogue_service_pb2 as pb
from happycity.v1.catalogue_service_pb2_grpc import CatalogueServiceServicer
from happycity.wire.messages import catalogue_message


class CatalogueService(CatalogueServiceServicer):
    """Returns the card tables."""

    def __init__(self) -> None:
        self._response = catalogue_message()

    async def GetCatalogue(self, request: pb.GetCatalogueRequest, context: object) -> pb.Catalogue:
        """Return every card."""
        return self._response
