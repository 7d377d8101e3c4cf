"""Where and as whom a bot plays. The environment is read here and nowhere else."""

from __future__ import annotations

import os
import re
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import grpc

from happycity import ConfigError

DEFAULT_SERVER = "127.0.0.1:50051"
DEFAULT_GAMES = 8
"""Few, so that a bot that takes a second for a move answers all of them in time."""
RECONNECT_SECONDS = 60.0
"""A bot that lost its server tries for so long to find it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where and as whom a bot plays. All times are seconds."""

    name: str
    server: str = DEFAULT_SERVER
    token: str = ""
    games: int = DEFAULT_GAMES
    """Games at once at most; 0 leaves it to the server."""
    tls: bool = False
    """Whether to encrypt; a CA or a certificate implies it."""
    ca: str = ""
    """File of the certificates to trust, in PEM; "" means those that gRPC brings with it."""
    cert: str = ""
    """File of the bot's own certificate, in PEM, for servers that ask for one."""
    key: str = ""
    """File of the certificate's key, in PEM."""
    insecure: bool = False
    """Whether a token may travel in the clear to another machine."""
    wait_seconds: float = 0.0
    """How long to wait for a server that isn't there yet; 0 fails at once."""
    reconnect_seconds: float = RECONNECT_SECONDS
    """How long to try after a connection was lost; 0 never tries again."""

    @classmethod
    def gather(
        cls,
        *,
        default_name: str,
        name: str | None = None,
        server: str | None = None,
        token: str | None = None,
        games: int | None = None,
        tls: bool | None = None,
        ca: str | None = None,
        cert: str | None = None,
        key: str | None = None,
        wait_seconds: float = 0.0,
        reconnect_seconds: float = RECONNECT_SECONDS,
    ) -> Settings:
        """Fill in what isn't given: from the environment, else by default.

        The environment's HAPPYCITY_NAME, HAPPYCITY_SERVER, HAPPYCITY_TOKEN, HAPPYCITY_GAMES, HAPPYCITY_TLS,
        HAPPYCITY_CA, HAPPYCITY_CERT, HAPPYCITY_KEY and HAPPYCITY_INSECURE are read.

        Raises:
            ConfigError: a variable's value makes no sense.
        """
        environ = os.environ
        return cls(
            name=name or environ.get("HAPPYCITY_NAME") or default_name,
            server=server or environ.get("HAPPYCITY_SERVER") or DEFAULT_SERVER,
            token=token or environ.get("HAPPYCITY_TOKEN") or "",
            games=games if games is not None else _games(environ.get("HAPPYCITY_GAMES")),
            tls=tls if tls is not None else _switch("HAPPYCITY_TLS"),
            ca=ca or environ.get("HAPPYCITY_CA") or "",
            cert=cert or environ.get("HAPPYCITY_CERT") or "",
            key=key or environ.get("HAPPYCITY_KEY") or "",
            insecure=_switch("HAPPYCITY_INSECURE"),
            wait_seconds=wait_seconds,
            reconnect_seconds=reconnect_seconds,
        )

    @property
    def encrypted(self) -> bool:
        """Whether the connection is by TLS."""
        return bool(self.tls or self.ca or self.cert or self.key)

    def credentials(self) -> grpc.ChannelCredentials | None:
        """Read the files of TLS; return None where there is no encryption.

        Raises:
            ConfigError: a file can't be read or is not what it should be, or the token would be readable
                on its way.
        """
        if self.encrypted:
            ca, cert, key = self._pem("ca"), self._pem("cert"), self._pem("key")
            self._check_pem()
            return grpc.ssl_channel_credentials(ca, key, cert)
        if self.token and not self.insecure and not is_loopback(self.server):
            raise ConfigError(
                f"token: it would travel unencrypted to {self.server}; use TLS "
                "(HAPPYCITY_TLS=1 or HAPPYCITY_CA=FILE), or allow it with HAPPYCITY_INSECURE=1"
            )
        return None

    def _pem(self, field: str) -> bytes | None:
        name = getattr(self, field)
        if not name:
            return None
        try:
            return Path(name).read_bytes()
        except OSError as error:
            raise ConfigError(f"{field}: {name!r} can't be read: {error.strerror}") from None

    def _check_pem(self) -> None:
        """Refuse what gRPC would only answer with a failed handshake."""
        if bool(self.cert) != bool(self.key):
            missing, given = ("key", "cert") if self.cert else ("cert", "key")
            raise ConfigError(f"{missing}: it is missing; {given} needs it too")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            if self.ca:
                context.load_verify_locations(self.ca)
        except ssl.SSLError:
            raise ConfigError(f"ca: {self.ca!r} holds no certificates in PEM") from None
        try:
            if self.cert:
                context.load_cert_chain(self.cert, self.key, password="")
        except ssl.SSLError as error:
            raise ConfigError(
                f"cert: {self.cert!r} and {self.key!r} are no certificate and its key in PEM ({error.reason})"
            ) from None


def is_loopback(server: str) -> bool:
    """Tell whether an address as gRPC takes it stays on this machine. Names are not looked up."""
    if server.startswith(("unix:", "unix-abstract:")):
        return True
    target = re.sub(r"^(dns:(///?)?|ipv[46]:)", "", server)
    host = target.partition("]")[0][1:] if target.startswith("[") else target.rpartition(":")[0] or target
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _games(text: str | None) -> int:
    if not text:
        return DEFAULT_GAMES
    if not text.isdecimal():
        raise ConfigError(f"HAPPYCITY_GAMES: {text!r} is not a number of games")
    return int(text)


def _switch(variable: str) -> bool:
    text = os.environ.get(variable, "")
    if text not in ("", "0", "1"):
        raise ConfigError(f"{variable}: {text!r} is neither 0 nor 1")
    return text == "1"
