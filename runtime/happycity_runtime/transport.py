"""How programs reach a server: addresses, tokens, certificates and channels.

What has another form, can't be read or doesn't belong together is a ConfigError that names its setting.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias
from urllib.parse import urlsplit

from happycity.errors import ConfigError, FieldError
from happycity.match import one_line
from happycity_runtime.environment import SERVER_VARIABLE

if TYPE_CHECKING:  # commands that only show their help do without gRPC
    import grpc

DEFAULT_ADDRESS = "127.0.0.1:50051"
TOKENS_VARIABLE = "HAPPYCITY_TOKENS"
"""The environment variable with the tokens of several bots, `NAME=TOKEN,NAME=TOKEN`."""
_OPTIONS = (
    # A new connection must not come back to an old one's dead socket.
    ("grpc.use_local_subchannel_pool", 1),
    # How long a connection may take, until the server speaks HTTP/2.
    ("grpc.min_reconnect_backoff_ms", 10_000),
    # A channel's own pauses grow to two minutes, longer than a server takes to start again.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # The server allows a ping every 10 s. These find a dead machine.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # As much as a server may send: any number of games can be in one batch, and 500 bots in a tournament.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
)
"""How all clients of a server connect to it."""


def is_unix(address: str) -> bool:
    """Return whether an address is a socket in the file system."""
    return address.startswith(("unix:", "unix-abstract:"))


def is_loopback(address: str) -> bool:
    """Return whether an address, as gRPC takes it, stays on this machine. Names are not looked up."""
    if is_unix(address):
        return True
    target = re.sub(r"^(dns:(///?)?|ipv[46]:)", "", address)
    host = target.partition("]")[0][1:] if target.startswith("[") else target.rpartition(":")[0] or target
    if host.casefold() == "localhost":
        return True
    try:
        ip = ip_address(host)
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return (mapped or ip).is_loopback


def split_host_port(address: str) -> tuple[str, int]:
    """Split host:port; the brackets of an IPv6 host are removed. ValueError if it is something else."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.%\w]+\]|[^:\[\]]+):(\d{1,5})", address)
    if match is None or int(match[2]) > 65535:
        raise ValueError(f"{address!r} is not host:port, such as 127.0.0.1:50051")
    return match[1].strip("[]"), int(match[2])


def join_host_port(host: str, port: int) -> str:
    """Return host:port; an IPv6 host gets its brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_tokens(text: str) -> dict[str, str]:
    """Return the tokens of several bots by name, from a text such as `ann=hc_1_x,bob=hc_2_y`."""
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


@dataclass(frozen=True, slots=True)
class Target:
    """Where a server is, and whether it is reached by TLS; `str` writes it as `parse` reads it."""

    address: str
    """As gRPC takes it: host:port, or unix:path."""
    tls: bool = False

    @classmethod
    def parse(cls, text: str, *, setting: str = SERVER_VARIABLE) -> Self:
        """Read `grpcs://host:port`, `grpc://host:port`, host:port, which means the latter, or unix:path."""
        match = _TARGET.fullmatch(text)
        if match is None or int(match["port"] or 1) >= 1 << 16:
            raise FieldError(
                setting,
                f"{one_line(text)[:80]!r} is not an address such as grpc://{DEFAULT_ADDRESS} or "
                "grpcs://arena.example:443",
            )
        return cls(match["socket"] or match["address"], match["scheme"] == "grpcs://")

    def __str__(self) -> str:
        """Return the address with its scheme; a socket has none."""
        if is_unix(self.address):
            return self.address
        return f"{'grpcs' if self.tls else 'grpc'}://{self.address}"


def uses_proxy(target: Target) -> bool:
    """Return whether a proxy of the environment may stand before a server.

    None does on this machine, nor where it could read tokens.
    """
    return target.tls and not is_loopback(target.address)


def proxy_for(url: str) -> str | None:
    """Return the HTTP proxy of the environment for a URL; None where `uses_proxy` would allow none."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - what plays asks for no proxy

    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or proxy_bypass(parts.hostname):
        return None
    if not uses_proxy(Target(join_host_port(parts.hostname, parts.port or 443), tls=True)):
        return None
    proxies = getproxies()
    proxy = proxies.get("https") or proxies.get("all", "")
    proxy = proxy if "://" in proxy or not proxy else f"http://{proxy}"
    return proxy if proxy.startswith(("http://", "https://")) else None


_TARGET = re.compile(
    r"(?P<socket>unix(-abstract)?:.+)|(?P<scheme>grpcs?://)?"
    r"(?P<address>([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(%\w+)?\]):(?P<port>[0-9]{1,5}))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a client is let in by a server, and which servers with TLS it trusts."""

    token: str = ""
    """The bearer token, if the server needs one."""
    ca: Path | None = None
    """File of the certificates to trust, in PEM; None: those that gRPC brings with it."""
    cert: Path | None = None
    """File of the client's own certificate, in PEM, for servers that ask for one."""
    key: Path | None = None
    """File of the certificate's key, in PEM."""

    def __post_init__(self) -> None:
        """Refuse a token that could not travel in a header."""
        if not re.fullmatch("[!-~]*", self.token):
            raise ConfigError("HAPPYCITY_TOKEN: it has a character that no token has")

    @classmethod
    def from_env(cls, token: str | None = None) -> Self:
        """Return the access that the environment describes; a token that is given replaces the environment's.

        Its variables are HAPPYCITY_TOKEN, HAPPYCITY_CA, HAPPYCITY_CERT and HAPPYCITY_KEY; an empty one counts
        as absent.
        """
        ca, cert, key = (
            Path(value) if (value := os.environ.get(f"HAPPYCITY_{name}")) else None
            for name in ("CA", "CERT", "KEY")
        )
        chosen = os.environ.get("HAPPYCITY_TOKEN", "") if token is None else token
        return cls(token=chosen, ca=ca, cert=cert, key=key)

    @classmethod
    def of_bot(cls, name: str) -> Self:
        """Return the access of the environment, with the bot's own token if HAPPYCITY_TOKENS has one."""
        return cls.from_env(parse_tokens(os.environ.get(TOKENS_VARIABLE, "")).get(name))

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of every call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables by which a bot on this machine trusts the same servers; never a token or a key."""
        return {} if self.ca is None else {"HAPPYCITY_CA": str(self.ca.resolve())}

    def channel(self, server: str | Target, *, name: str = "") -> grpc.aio.Channel:
        """Return a channel to a server; ConfigError if the address or a file can't be used.

        `name` is that in the server's certificate, if it is not the address's. No other code makes a channel.
        """
        import grpc  # noqa: PLC0415

        target = Target.parse(server) if isinstance(server, str) else server
        options: list[tuple[str, int | str]] = [
            *_OPTIONS,
            ("grpc.enable_http_proxy", int(uses_proxy(target))),
        ]
        if name:
            options.append(("grpc.ssl_target_name_override", name))
        if target.tls:
            return grpc.aio.secure_channel(target.address, self._credentials(), options=options)
        return grpc.aio.insecure_channel(target.address, options=options)

    def check(self, server: str | Target) -> None:
        """Read the address, and the files if it needs them; ConfigError if one of them can't be used."""
        target = Target.parse(server) if isinstance(server, str) else server
        if target.tls:
            self._credentials()

    def _credentials(self) -> grpc.ChannelCredentials:
        import grpc  # noqa: PLC0415

        authorities = None if self.ca is None else read_authorities(self.ca, "HAPPYCITY_CA")
        if self.cert is None and self.key is None:
            return grpc.ssl_channel_credentials(authorities)
        if self.cert is None or self.key is None:
            missing, other = ("KEY", "CERT") if self.cert else ("CERT", "KEY")
            raise ConfigError(f"HAPPYCITY_{other}: HAPPYCITY_{missing} is needed too")
        cert, key = read_certificate(self.cert, self.key, settings=("HAPPYCITY_CERT", "HAPPYCITY_KEY"))
        return grpc.ssl_channel_credentials(authorities, private_key=key, certificate_chain=cert)


def read_certificate(cert: Path, key: Path, *, settings: tuple[str, str]) -> tuple[bytes, bytes]:
    """Return the contents of a certificate and its key, in PEM; `settings` are named in errors."""
    pair = _read(cert, settings[0]), _read(key, settings[1])
    try:
        # gRPC would accept anything here, and fail in each handshake. Nor can it ask for a password.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except ssl.SSLError as error:
        if b"ENCRYPTED" in pair[1]:
            raise ConfigError(
                f"{settings[1]}: {key} has a password; write the key without it: "
                f"openssl pkey -in {key} -out FILE"
            ) from None
        reason = (error.reason or str(error)).replace("_", " ").lower()
        raise ConfigError(
            f"{', '.join(settings)}: {cert} and {key} are not a certificate and its key in PEM: {reason}"
        ) from None
    return pair


def read_authorities(path: Path, setting: str) -> bytes:
    """Return the contents of a file of certificates to trust, in PEM; `setting` is named in errors."""
    content = _read(path, setting)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise FieldError(setting, f"{path} holds no certificates in PEM") from None
    return content


FileStamp: TypeAlias = tuple[int, int, int] | None
"""What changes with a file; None for one that can't be looked at."""


def file_stamp(path: Path) -> FileStamp:
    """Return what changes with a file; None if it can't be looked at."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _read(path: Path, setting: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FieldError(setting, f"{path} can't be read: {error.strerror}") from None
