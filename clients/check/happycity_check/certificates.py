"""Certificates that are made when they are needed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from happycity_check.errors import SkippedError
from happycity_runtime.installation import install_command

if TYPE_CHECKING:
    from trustme import CA, Blob, LeafCert

_numbers = itertools.count(1)


def new_ca() -> CA:
    """Make a certificate authority; SkippedError if the library for it is not installed."""
    try:
        import trustme  # noqa: PLC0415 - only some extras bring it
    except ModuleNotFoundError:
        raise SkippedError(f"certificates need trustme; {install_command('arena')} brings it") from None
    return trustme.CA()


def credentials(leaf: LeafCert, clients: CA | None = None) -> grpc.ServerCredentials:
    """Return what a server with a certificate listens with; it may ask for certificates of a CA."""
    pair = leaf.private_key_pem.bytes(), leaf.cert_chain_pems[0].bytes()
    trusted = clients.cert_pem.bytes() if clients else None
    return grpc.ssl_server_credentials([pair], trusted, require_client_auth=clients is not None)


def in_pkcs_8(key: Blob) -> Blob:
    """Return a private key in PKCS #8, the only form that Java reads; trustme makes OpenSSL's own."""
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415 - as trustme
    from trustme import Blob  # noqa: PLC0415

    loaded = form.load_pem_private_key(key.bytes(), None)
    return Blob(loaded.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))


def write_pem(pem: Blob, folder: Path) -> Path:
    """Write a certificate or a key to a new file."""
    path = folder / f"{next(_numbers)}.pem"
    pem.write_to_path(path)
    return path
