"""TLS: certificates from files, checked before they are used."""

from __future__ import annotations

import ssl
from pathlib import Path

import grpc

from happycity.errors import HappyCityError


class TlsError(HappyCityError):
    """A file of a certificate or key can't be used."""


def server_credentials(cert: Path, key: Path, client_ca: Path | None = None) -> grpc.ServerCredentials:
    """Read a server's certificate and key, in PEM.

    With `client_ca`, clients must show a certificate that one of these authorities has signed.

    Raises:
        TlsError: a file can't be read, or is not what it should be.
    """
    pair, authorities = _pair(cert, key), _authorities(client_ca, "client_ca")
    return grpc.ssl_server_credentials(
        [(pair[1], pair[0])], root_certificates=authorities, require_client_auth=client_ca is not None
    )


def channel_credentials(
    *, ca: Path | None = None, cert: Path | None = None, key: Path | None = None
) -> grpc.ChannelCredentials:
    """Read what a client needs, in PEM; without `ca`, the authorities that gRPC brings with it are trusted.

    Raises:
        TlsError: a file can't be read, or is not what it should be, or one of `cert` and `key` is missing.
    """
    authorities = _authorities(ca, "ca")
    if cert is None and key is None:
        return grpc.ssl_channel_credentials(authorities)
    if cert is None or key is None:
        raise TlsError("cert, key: one needs the other; give both")
    pair = _pair(cert, key)
    return grpc.ssl_channel_credentials(authorities, private_key=pair[1], certificate_chain=pair[0])


def _pair(cert: Path, key: Path) -> tuple[bytes, bytes]:
    pair = _read(cert, "certificate"), _read(key, "key")
    try:
        # gRPC would accept anything here, and fail in each handshake. Nor can it ask for a password.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).replace("_", " ").lower()
        raise TlsError(f"{cert} and {key} are no certificate and its key in PEM: {reason}") from None
    return pair


def _authorities(path: Path | None, what: str) -> bytes | None:
    if path is None:
        return None
    content = _read(path, what)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise TlsError(f"{what}: {path} holds no certificates in PEM") from None
    return content


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsError(f"{what}: {path} can't be read: {error.strerror}") from None
