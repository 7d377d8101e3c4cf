"""The server's side of TLS: certificates that can be renewed while it runs."""

from __future__ import annotations

import os
import ssl
import threading
from pathlib import Path

import grpc
import structlog

from happycity import ConfigError
from happycity.runtime.transport import read_authorities, read_certificate

_log = structlog.get_logger()

_Stamp = tuple[tuple[int, int, int] | None, ...]


class CertificateFiles:
    """A server's certificate, its key and perhaps the CA of its clients, as their files are at the moment.

    Each new connection looks whether the files changed; connections that stand go on. Threads
    may share it.
    """

    def __init__(self, cert: Path, key: Path, client_ca: Path | None = None) -> None:
        """Read the files, in PEM; with `client_ca`, clients must show a certificate that one of these signed.

        Raises:
            ConfigError: a file can't be read, or holds something else.
        """
        self._cert, self._key, self._client_ca = cert, key, client_ca
        self._lock = threading.Lock()
        self._stamp = self._now()
        self._configuration, self._context = self._read()

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """Return what a gRPC server encrypts with, which takes up renewed files by itself."""
        used = self._configuration

        def renewed() -> grpc.ServerCertificateConfiguration | None:
            """Return what a connection that begins is to use; None if that didn't change."""
            nonlocal used
            self._refresh()
            if used is self._configuration:
                return None
            used = self._configuration
            return used

        return grpc.dynamic_ssl_server_credentials(
            used,
            renewed,  # type: ignore[arg-type]  # the stubs don't know that it may return None
            require_client_authentication=self._client_ca is not None,
        )

    def context(self) -> ssl.SSLContext:
        """Return a context with the current certificate, for other servers; it demands none of clients."""
        self._refresh()
        return self._context

    def _refresh(self) -> None:
        """Read the files if they changed. Files that can't be used are logged once, and change nothing."""
        with self._lock:
            stamp = self._now()
            if stamp == self._stamp:
                return
            try:
                renewed = self._read()
            except ConfigError as error:
                problem = str(error)
            else:
                if self._now() != stamp:  # they were written meanwhile: the next connection reads them
                    return
                self._stamp = stamp
                self._configuration, self._context = renewed
                _log.info("certificate_read", path=str(self._cert))
                return
            self._stamp = stamp
            _log.error("certificate_unusable", text=f"{problem}; the certificate read before stays in use")

    def _read(self) -> tuple[grpc.ServerCertificateConfiguration, ssl.SSLContext]:
        chain, key = read_certificate(self._cert, self._key, settings=("--tls-cert", "--tls-key"))
        authorities = None if self._client_ca is None else read_authorities(self._client_ca, "--client-ca")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self._cert, self._key)
        except (OSError, ssl.SSLError):  # replaced since it was checked
            raise ConfigError(
                f"--tls-cert, --tls-key: {self._cert} and {self._key} are being written"
            ) from None
        return grpc.ssl_server_certificate_configuration([(key, chain)], authorities), context

    def _now(self) -> _Stamp:
        paths = (self._cert, self._key, *([] if self._client_ca is None else [self._client_ca]))
        return tuple(map(_file_stamp, paths))


def _file_stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with a file; None if it can't be looked at."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
