"""Encrypted connections, with certificates made for the occasion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
import trustme

import happycity_client
from happycity import Move
from happycity.runtime.transport import Access
from happycity_check.scripted_server import ScriptedServer
from happycity_client import Bot, ConnectionFailedError, Decision, Settings

from .conftest import Script


class FirstMove(Bot):
    """Plays the neutral move."""

    def choose(self, decision: Decision) -> Move:
        """Return the first legal move."""
        return decision.moves[0]


@dataclass
class Files:
    """Certificates in PEM."""

    ca: Path
    cert: Path
    key: Path


@pytest.fixture
def authority() -> trustme.CA:
    """Give a certificate authority."""
    return trustme.CA()


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> Files:
    """Give the files of a bot."""
    mine = authority.issue_cert("anna@example.org")
    paths = Files(*(tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")))
    authority.cert_pem.write_to_path(str(paths.ca))
    mine.cert_chain_pems[0].write_to_path(str(paths.cert))
    mine.private_key_pem.write_to_path(str(paths.key))
    return paths


def credentials(authority: trustme.CA, *, mutual: bool) -> grpc.ServerCredentials:
    server = authority.issue_cert("127.0.0.1", "localhost")
    pair = (server.private_key_pem.bytes(), server.cert_chain_pems[0].bytes())
    if not mutual:
        return grpc.ssl_server_credentials([pair])
    return grpc.ssl_server_credentials([pair], authority.cert_pem.bytes(), require_client_auth=True)


@pytest.fixture
async def tls_server(authority: trustme.CA) -> AsyncIterator[ScriptedServer]:
    """Give a scripted server with TLS."""
    async with ScriptedServer.listening(credentials=credentials(authority, mutual=False)) as server:
        yield server


async def test_a_ca_makes_the_connection_encrypted(tls_server: ScriptedServer, files: Files) -> None:
    """The token travels inside it."""
    settings = Settings(name="anna", server=tls_server.address, access=Access(ca=files.ca, token="secret"))
    task = asyncio.create_task(happycity_client.play(FirstMove, settings))
    script = Script(tls_server)
    await script.welcome()
    assert script.stream.metadata["authorization"] == "Bearer secret"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_bot_shows_its_certificate_where_one_is_asked_for(
    authority: trustme.CA, files: Files
) -> None:
    """With a certificate the connection stands; without one it doesn't."""
    async with ScriptedServer.listening(credentials=credentials(authority, mutual=True)) as server:
        settings = Settings(
            name="anna", server=server.address, access=Access(ca=files.ca, cert=files.cert, key=files.key)
        )
        task = asyncio.create_task(happycity_client.play(FirstMove, settings))
        await Script(server).welcome()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ConnectionFailedError, match="no connection to"):
            await happycity_client.play(
                FirstMove, Settings(name="anna", server=server.address, access=Access(ca=files.ca))
            )


async def test_a_certificate_of_another_ca_is_refused_in_one_line(
    tls_server: ScriptedServer, tmp_path: Path
) -> None:
    """The line says what to look at."""
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    with pytest.raises(ConnectionFailedError, match="a certificate of that CA") as caught:
        await happycity_client.play(
            FirstMove, Settings(name="anna", server=tls_server.address, access=Access(ca=other))
        )
    assert "\n" not in str(caught.value)


async def test_no_plain_connection_to_a_server_with_tls(tls_server: ScriptedServer) -> None:
    """It fails, and doesn't hang."""
    with pytest.raises(ConnectionFailedError, match="no connection to"):
        await happycity_client.play(FirstMove, Settings(name="anna", server=tls_server.address))
