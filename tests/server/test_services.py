"""The services around the games, and the server as a whole."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from happycity import CARDS
from happycity.v1 import catalogue_service_pb2, errors_pb2
from happycity.v1.catalogue_service_pb2_grpc import CatalogueServiceStub
from happycity_server.app import ListenError, serving
from happycity_server.config import ServerSettings
from happycity_server.refusals import Reason
from happycity_tournament.store import StoreError

SERVICES = ("Play", "Match", "Tournament", "Catalogue", "Simulation")


async def test_health_says_serving(channel: grpc.aio.Channel) -> None:
    """Stock health checks find the server and each of its services."""
    stub = health_pb2_grpc.HealthStub(channel)
    for service in ("", *(f"happycity.v1.{name}Service" for name in SERVICES)):
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_reflection_lists_the_services(channel: grpc.aio.Channel) -> None:
    """Stock tools can list what the server offers."""
    call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
    await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
    answer = await call.read()
    names = {service.name for service in answer.list_services_response.service}
    assert {f"happycity.v1.{name}Service" for name in SERVICES} <= names
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF


async def test_catalogue_is_the_card_tables(channel: grpc.aio.Channel) -> None:
    """A bot in any language can have the values of all cards."""
    request = catalogue_service_pb2.GetCatalogueRequest()
    cards = (await CatalogueServiceStub(channel).GetCatalogue(request)).cards
    assert [(info.card, info.id, info.cost, info.hearts) for info in cards] == [
        (card.number, card.id, card.cost, card.hearts) for card in CARDS
    ]


async def test_second_server_cannot_share_the_port(address: str, tmp_path: Path) -> None:
    """A port that is taken is an error in one line, never a silent share."""
    with pytest.raises(ListenError, match="can't be listened on") as caught:
        async with serving(
            ServerSettings(open=True, listen=address, store=f"sqlite:///{tmp_path}/other.sqlite")
        ):
            pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("listen", ["nonsense", "127.0.0.1", "127.0.0.1:port", ":50051"])
def test_address_that_makes_no_sense_is_refused(listen: str) -> None:
    """An address without host or port is named."""
    with pytest.raises(ValueError, match="is not host:port"):
        ServerSettings(listen=listen)


async def test_store_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """A server without its store does not start."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and long enough to be seen as none\n" * 50)
    with pytest.raises(StoreError, match=r"notes\.txt"):
        async with serving(ServerSettings(open=True, listen="127.0.0.1:0", store=f"sqlite:///{path}")):
            pass


async def test_garbage_on_the_port_harms_nobody(address: str, channel: grpc.aio.Channel) -> None:
    """Bytes that are no HTTP/2 end their own connection only."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"\x00\xffGET / HTTP/1.0\r\n\r\n" * 100)
    await writer.drain()
    with suppress(ConnectionResetError):  # another way to end it
        while await reader.read(4096):
            pass
    writer.close()
    await test_health_says_serving(channel)


def test_reasons_are_those_of_the_contract() -> None:
    """The server's table and the contract's enum have the same names and numbers."""
    told = {f"ERROR_REASON_{reason.name}": reason.value[0] for reason in Reason}
    contract = dict(errors_pb2.ErrorReason.items())
    del contract["ERROR_REASON_UNSPECIFIED"]
    assert told == contract
