"""The server's side of TLS."""

from __future__ import annotations

from pathlib import Path

import grpc

from happycity.runtime.transport import read_authorities, read_certificate


def server_credentials(cert: Path, key: Path, client_ca: Path | None = None) -> grpc.ServerCredentials:
    """Read a server's certificate and key, in PEM.

    With `client_ca`, clients must show a certificate that one of these authorities has signed.

    Raises:
        ConfigError: a file can't be read, or holds something else.
    """
    chain, private_key = read_certificate(cert, key)
    authorities = None if client_ca is None else read_authorities(client_ca, "client_ca")
    return grpc.ssl_server_credentials(
        [(private_key, chain)], root_certificates=authorities, require_client_auth=client_ca is not None
    )
