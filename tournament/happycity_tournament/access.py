"""How to reach a server that others run: with which token, and by which encryption."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from happycity import ConfigError
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity_tournament.watch import ServerError, ServerLostError

if TYPE_CHECKING:  # in the generated stub's types only
    from happycity.v1.tournament_service_pb2_grpc import TournamentServiceAsyncStub

REACH_SECONDS = 5.0

# A channel's own pauses grow to two minutes, longer than a server takes to start again.
_OPTIONS = (("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 1000))
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What it takes to be let in; by default nothing, as on the server of a tournament's own."""

    token: str = ""
    """An organiser's token, if the server wants one."""
    tls: bool = False
    """Whether to encrypt; a CA or a certificate implies it."""
    ca: Path | None = None
    """Authorities to trust, in PEM; None trusts those that gRPC brings with it."""
    cert: Path | None = None
    """Own certificate, in PEM, for servers that ask for one."""
    key: Path | None = None
    """The key of the certificate, in PEM."""

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call brings along."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    @property
    def environment(self) -> Mapping[str, str]:
        """What bots that are started must know to connect too; token and certificate are not theirs."""
        tls = {"HAPPYCITY_TLS": "1"} if self._encrypted else {}
        return tls if self.ca is None else {**tls, "HAPPYCITY_CA": str(self.ca.resolve())}

    def channel(self, address: str) -> grpc.aio.Channel:
        """Return a channel to a server.

        Raises:
            ConfigError: a file can't be used, or the token could be read on its way.
        """
        if self._encrypted:
            return grpc.aio.secure_channel(address, self._credentials(), options=_OPTIONS)
        if self.token and not address.startswith("unix:") and address.rpartition(":")[0] not in _LOOPBACK:
            raise ConfigError(f"token: it would travel unencrypted to {address}; use --tls or --ca FILE")
        return grpc.aio.insecure_channel(address, options=_OPTIONS)

    @property
    def _encrypted(self) -> bool:
        return self.tls or not (self.ca is None and self.cert is None and self.key is None)

    def _credentials(self) -> grpc.ChannelCredentials:
        if (self.cert is None) != (self.key is None):
            raise ConfigError("cert, key: one needs the other; give both")
        ca, cert, key = (
            None if path is None else path.read_bytes() for path in (self.ca, self.cert, self.key)
        )
        self._check_files()
        return grpc.ssl_channel_credentials(ca, private_key=key, certificate_chain=cert)

    def _check_files(self) -> None:
        """Refuse what gRPC would only answer with a failed handshake."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            if self.ca is not None:
                context.load_verify_locations(self.ca)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key, password="")
        except ssl.SSLError as error:
            raise ConfigError(f"ca, cert, key: these files can't be used for TLS: {error.reason}") from None


@asynccontextmanager
async def dial(address: str, access: Access) -> AsyncIterator[TournamentServiceAsyncStub]:
    """Give a stub for a server that answers.

    Raises:
        ConfigError: it can't be dialled in this way.
        ServerError: none does.
    """
    async with access.channel(address) as channel:
        try:
            await asyncio.wait_for(channel.channel_ready(), REACH_SECONDS)
        except TimeoutError:
            raise ServerError(
                f"no server answers at {address}; start one with: happycity serve --listen {address}"
            ) from None
        yield TournamentServiceStub(channel)


@contextmanager
def translated(address: str) -> Iterator[None]:
    """Turn what gRPC raises into a ServerError.

    Raises:
        ServerLostError: the connection broke.
        ServerError: the server refused.
    """
    try:
        yield
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            raise ServerLostError(
                f"the connection to the server {address} was lost: {error.details()}"
            ) from None
        raise ServerError(f"the server {address} refused: {error.details()}") from None
