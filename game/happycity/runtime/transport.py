"""How programs reach a server: addresses, tokens, certificates and channels."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from happycity.errors import ConfigError

if TYPE_CHECKING:  # commands that only show their help do without gRPC
    import grpc

DEFAULT_ADDRESS = "127.0.0.1:50051"
TOKENS_VARIABLE = "HAPPYCITY_TOKENS"
"""The environment variable with the tokens of several bots, `NAME=TOKEN,NAME=TOKEN`."""


def is_unix(address: str) -> bool:
    """Return whether an address is a socket in the file system."""
    return address.startswith(("unix:", "unix-abstract:"))


def is_loopback(address: str) -> bool:
    """Return whether an address, as gRPC takes it, stays on this machine. Names are not looked up."""
    if is_unix(address):
        return True
    target = re.sub(r"^(dns:(///?)?|ipv[46]:)", "", address)
    host = target.partition("]")[0][1:] if target.startswith("[") else target.rpartition(":")[0] or target
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def parse_tokens(text: str) -> dict[str, str]:
    """Return the tokens of several bots by name, from a text such as `ann=hc_1_x,bob=hc_2_y`.

    Raises:
        ConfigError: the text has another form.
    """
    tokens = {}
    for number, entry in enumerate(filter(None, text.split(",")), start=1):
        name, separator, token = entry.strip().partition("=")
        if not (name and separator and token):  # which is not shown, as it may be a secret
            raise ConfigError(f"{TOKENS_VARIABLE}: entry {number} is not NAME=TOKEN")
        tokens[name] = token
    return tokens


def format_tokens(tokens: Mapping[str, str]) -> str:
    """Return the text that `parse_tokens` reads."""
    return ",".join(f"{name}={token}" for name, token in tokens.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a client is let in by a server; by default without token and encryption."""

    token: str = ""
    """The bearer token, if the server needs one."""
    tls: bool = False
    """Whether to encrypt; a CA or a certificate implies it."""
    ca: Path | None = None
    """File of the certificates to trust, in PEM; None: those that gRPC brings with it."""
    cert: Path | None = None
    """File of the client's own certificate, in PEM, for servers that ask for one."""
    key: Path | None = None
    """File of the certificate's key, in PEM."""
    insecure: bool = False
    """Whether a token may travel unencrypted to another machine."""

    @property
    def encrypted(self) -> bool:
        """Whether the connection is by TLS."""
        return self.tls or not (self.ca is None and self.cert is None and self.key is None)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of every call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables by which a bot on this machine finds the same encryption; never a token or a key."""
        tls = {"HAPPYCITY_TLS": "1"} if self.encrypted else {}
        return tls if self.ca is None else {**tls, "HAPPYCITY_CA": str(self.ca.resolve())}

    def channel(self, address: str, options: Sequence[tuple[str, int | str]] = ()) -> grpc.aio.Channel:
        """Return a channel to a server.

        Raises:
            ConfigError: a file can't be used, or the token could be read on its way.
        """
        import grpc  # noqa: PLC0415

        if self.encrypted:
            return grpc.aio.secure_channel(address, self._credentials(), options=options)
        if self.token and not self.insecure and not is_loopback(address):
            raise ConfigError(
                f"token: it would travel unencrypted to {address}; use TLS (--tls or HAPPYCITY_TLS=1, "
                "--ca or HAPPYCITY_CA for a CA of your own), or allow it with HAPPYCITY_INSECURE=1"
            )
        return grpc.aio.insecure_channel(address, options=options)

    def check(self) -> None:
        """Read the files, if there are any.

        Raises:
            ConfigError: a file can't be used.
        """
        if self.encrypted:
            self._credentials()

    def _credentials(self) -> grpc.ChannelCredentials:
        import grpc  # noqa: PLC0415

        authorities = None if self.ca is None else read_authorities(self.ca, "ca")
        if self.cert is None and self.key is None:
            return grpc.ssl_channel_credentials(authorities)
        if self.cert is None or self.key is None:
            missing, other = ("key", "cert") if self.cert else ("cert", "key")
            raise ConfigError(f"{missing}: it is missing; {other} needs it too")
        cert, key = read_certificate(self.cert, self.key)
        return grpc.ssl_channel_credentials(authorities, private_key=key, certificate_chain=cert)


def read_certificate(cert: Path, key: Path) -> tuple[bytes, bytes]:
    """Return the contents of a certificate and its key, in PEM.

    Raises:
        ConfigError: a file can't be read, or they don't belong together.
    """
    pair = _read(cert, "cert"), _read(key, "key")
    try:
        # gRPC would accept anything here, and fail in each handshake. Nor can it ask for a password.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).replace("_", " ").lower()
        raise ConfigError(
            f"cert, key: {cert} and {key} are no certificate and its key in PEM: {reason}"
        ) from None
    return pair


def read_authorities(path: Path, setting: str) -> bytes:
    """Return the contents of a file of certificates to trust, in PEM; `setting` is named in errors.

    Raises:
        ConfigError: the file can't be read, or holds none.
    """
    content = _read(path, setting)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise ConfigError(f"{setting}: {path} holds no certificates in PEM") from None
    return content


def _read(path: Path, setting: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{setting}: {path} can't be read: {error.strerror}") from None
