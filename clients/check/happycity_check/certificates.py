"""Certificates that are made when they are needed, by the program openssl."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import grpc

from happycity_check.errors import SkippedError

_SECONDS = 30.0
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key, in files in PEM."""

    cert: Path
    key: Path

    def credentials(self, clients: Certificate | None = None) -> grpc.ServerCredentials:
        """Return what a server with this certificate listens with; it may ask for certificates of a CA."""
        pair = self.key.read_bytes(), self.cert.read_bytes()
        return grpc.ssl_server_credentials(
            [pair], clients.cert.read_bytes() if clients else None, require_client_auth=clients is not None
        )


def new_ca(folder: Path) -> Certificate:
    """Make a certificate authority.

    Raises:
        SkippedError: there is no openssl.
    """
    return _certificate(folder, "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign", None)


def issue(ca: Certificate, name: str) -> Certificate:
    """Issue a certificate for a name such as `IP:127.0.0.1` or `DNS:arena.example`."""
    extensions = f"basicConstraints=critical,CA:FALSE\nsubjectAltName={name}"
    return _certificate(ca.cert.parent, extensions, ca)


def _certificate(folder: Path, extensions: str, ca: Certificate | None) -> Certificate:
    number = next(_numbers)
    cert, key, request, file = (folder / f"{number}.{kind}" for kind in ("pem", "key", "csr", "cnf"))
    file.write_text(f"[req]\ndistinguished_name=dn\n[dn]\n[ext]\n{extensions}\n", encoding="utf-8")
    _openssl(
        *("req", "-config", file, "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
        *("-subj", f"/CN=happycity-check-{number}", "-keyout", key, "-out", request),
    )
    signer = ("-CA", ca.cert, "-CAkey", ca.key) if ca else ("-signkey", key)
    _openssl(
        *("x509", "-req", "-in", request, *signer, "-set_serial", number, "-sha256", "-days", 2),
        *("-extfile", file, "-extensions", "ext", "-out", cert),
    )
    return Certificate(cert, key)


def _openssl(*arguments: object) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise SkippedError("certificates are made by the program openssl, which is not installed")
    command = [program, *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)  # noqa: S603 - as named above
