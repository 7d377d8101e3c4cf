"""What tools that know nothing of this project do with the server: call it by reflection, ask for health."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from tests.server.trust import settings

from happycity_server.app import SERVICES, running

SERVING = health_pb2.HealthCheckResponse.SERVING


class Reflective:
    """Calls a server by what its reflection tells, with messages as JSON has them."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self._pool: Any = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))

    def call(self, service: str, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Call a method with one message on either side."""
        method = self._pool.FindServiceByName(service).methods_by_name[name]
        unary: Any = self._channel.unary_unary(
            f"/{service}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        return MessageToDict(unary(ParseDict(request, GetMessageClass(method.input_type)())))


async def test_reflection_is_enough_to_call(tmp_path: Path) -> None:
    """A client without any file of ours sets up a match, finds it, and looks a card up."""

    def use(address: str) -> None:
        with grpc.insecure_channel(address) as channel:
            client = Reflective(channel)
            catalogue = client.call("happycity.v1.CatalogueService", "GetCatalogue", {})
            assert {"card": "CARD_MUSEUM", "id": "museum"}.items() <= catalogue["cards"][14].items()
            config = {"players": 2, "mode": "MODE_FAMILY", "scoring": "SCORING_PRODUCT"}
            request = {"config": config, "bots": ["anna", "ben"], "timeControl": {"connectMs": 30_000}}
            created = client.call("happycity.v1.MatchService", "CreateMatch", request)
            assert created["match"]["state"] == "MATCH_STATE_WAITING"
            listed = client.call("happycity.v1.MatchService", "ListMatches", {})
            assert listed["matches"] == [created["match"]]

    async with running(settings(tmp_path)) as arena:
        await asyncio.to_thread(use, arena.address)


async def test_health_is_told_of_the_server_and_of_each_service(tmp_path: Path) -> None:
    """As a health probe asks; a service that there is not is NOT_FOUND."""
    async with (
        running(settings(tmp_path)) as arena,
        grpc.aio.insecure_channel(arena.address) as channel,
    ):
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", *SERVICES):
            assert (await stub.Check(health_pb2.HealthCheckRequest(service=service))).status == SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(health_pb2.HealthCheckRequest(service="no.such.Service"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
