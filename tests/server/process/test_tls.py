"""TLS and client certificates, good ones and bad ones."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from tests.server.harness import called, connected, settings
from tests.waiting import LIMIT

from happycity import ConfigError
from happycity_runtime.transport import Access, Target
from happycity_server.app import run_server
from happycity_server.process.listening import CertificateFiles

HEALTH = "/grpc.health.v1.Health/Check"


@dataclass(frozen=True)
class Files:
    """A CA, and a certificate that it signed."""

    ca: Path
    cert: Path
    key: Path


def issue(folder: Path, name: str) -> Files:
    folder = folder / name
    folder.mkdir()
    authority = trustme.CA()
    leaf = authority.issue_cert("127.0.0.1", "localhost")
    files = Files(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    authority.cert_pem.write_to_path(files.ca)
    leaf.private_key_pem.write_to_path(files.key)
    for blob in leaf.cert_chain_pems:
        blob.write_to_path(files.cert, append=True)
    return files


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return issue(tmp_path_factory.mktemp("tls"), "ours")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return issue(tmp_path_factory.mktemp("tls"), "others")


async def status_by(address: str, access: Access, *, tls: bool = True) -> grpc.StatusCode:
    """Ask a server for its health over a connection of its own."""
    async with access.channel(Target(address, tls=tls)) as channel:
        return (await called(channel, HEALTH)).status


@pytest.mark.level(2)
async def test_calls_are_encrypted(tmp_path: Path, ours: Files, others: Files) -> None:
    """Clients that trust the CA are served; others, and unencrypted ones, disturb nobody."""
    async with run_server(settings(tmp_path, tls_cert=ours.cert, tls_key=ours.key)) as server:
        good = Access(ca=ours.ca)
        async with good.channel(f"grpcs://{server.address}") as channel:
            call = await connected(channel, "one")
            assert await status_by(server.address, good, tls=False) is grpc.StatusCode.UNAVAILABLE
            for distrusting in (Access(), Access(ca=others.ca)):
                assert await status_by(server.address, distrusting) is grpc.StatusCode.UNAVAILABLE
            assert await status_by(server.address, good) is grpc.StatusCode.OK
            call.cancel()


async def test_clients_may_have_to_show_a_certificate(tmp_path: Path, ours: Files, others: Files) -> None:
    """With a client CA, only clients with a certificate of it are served."""
    values = {"tls_cert": ours.cert, "tls_key": ours.key, "client_ca": ours.ca}
    async with run_server(settings(tmp_path, **values)) as server:
        known = Access(ca=ours.ca, cert=ours.cert, key=ours.key)
        unknown = Access(ca=ours.ca, cert=others.cert, key=others.key)
        assert await status_by(server.address, known) is grpc.StatusCode.OK
        for access in (unknown, Access(ca=ours.ca)):
            assert await status_by(server.address, access) is grpc.StatusCode.UNAVAILABLE


def put(files: Files, source: Files) -> None:
    """Write the contents of other files into the files of a server, as a renewal does."""
    for path, content in (
        (files.cert, source.cert),
        (files.key, source.key),
        (files.ca, source.ca),
    ):
        path.write_bytes(content.read_bytes())


@pytest.fixture
def renewable(tmp_path: Path, ours: Files) -> Files:
    """Return files that a test may change, which are at first a copy of `ours`."""
    files = Files(tmp_path / "ca.pem", tmp_path / "cert.pem", tmp_path / "key.pem")
    put(files, ours)
    return files


async def test_a_renewed_certificate_is_used_without_a_restart(
    tmp_path: Path, ours: Files, others: Files, renewable: Files
) -> None:
    """New connections see the new certificate and are checked by the new CA; a stream that stands goes on."""
    values = {"tls_cert": renewable.cert, "tls_key": renewable.key, "client_ca": renewable.ca}
    old = Access(ca=ours.ca, cert=ours.cert, key=ours.key)
    new = Access(ca=others.ca, cert=others.cert, key=others.key)
    async with (
        run_server(settings(tmp_path, **values)) as server,
        old.channel(f"grpcs://{server.address}") as channel,
    ):
        call = await connected(channel, "one")
        assert await status_by(server.address, new) is grpc.StatusCode.UNAVAILABLE
        put(renewable, others)
        assert await status_by(server.address, new) is grpc.StatusCode.OK
        assert await status_by(server.address, old) is grpc.StatusCode.UNAVAILABLE
        assert (await called(channel, HEALTH)).status is grpc.StatusCode.OK
        assert not call.done()
        call.cancel()


async def test_files_that_do_not_fit_leave_the_old_certificate(
    tmp_path: Path, ours: Files, others: Files, renewable: Files, capfd: pytest.CaptureFixture[str]
) -> None:
    """A certificate without its key is logged once; as soon as the key is there too, both are used."""
    values = {"tls_cert": renewable.cert, "tls_key": renewable.key}
    async with run_server(settings(tmp_path, **values)) as server:
        renewable.cert.write_bytes(others.cert.read_bytes())
        for _ in range(2):
            assert await status_by(server.address, Access(ca=ours.ca)) is grpc.StatusCode.OK
        assert capfd.readouterr().err.count("key values mismatch; the certificate read before stays") == 1
        renewable.key.unlink()
        assert await status_by(server.address, Access(ca=ours.ca)) is grpc.StatusCode.OK
        renewable.key.write_bytes(others.key.read_bytes())
        assert await status_by(server.address, Access(ca=others.ca)) is grpc.StatusCode.OK


async def test_pages_use_a_renewed_certificate_too(
    tmp_path: Path, ours: Files, others: Files, renewable: Files
) -> None:
    """A browser that connects after the renewal sees the new certificate; one that is connected stays so."""

    def browser(files: Files) -> httpx.AsyncClient:
        return httpx.AsyncClient(timeout=LIMIT, verify=ssl.create_default_context(cafile=str(files.ca)))

    values = {"tls_cert": renewable.cert, "tls_key": renewable.key, "web": "0.0.0.0:0", "insecure": True}
    async with run_server(settings(tmp_path, **values)) as server:
        assert server.web is not None
        address = server.web.replace("0.0.0.0", "127.0.0.1")
        async with browser(ours) as early, browser(others) as late, browser(ours) as old:
            assert (await early.get(address)).status_code < 400
            put(renewable, others)
            assert (await late.get(address)).status_code < 400
            assert (await early.get(address)).status_code < 400
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await old.get(address)


def test_files_of_no_use_are_refused(tmp_path: Path, ours: Files, others: Files) -> None:
    """GRPC itself would fail only when a client connects; nobody can be asked for the password of a key."""
    noise, locked = tmp_path / "noise.pem", tmp_path / "locked.pem"
    noise.write_text("noise")
    key = load_pem_private_key(ours.key.read_bytes(), password=None)
    password = BestAvailableEncryption(b"geheim")
    for cert, key_file in ((noise, ours.key), (ours.cert, others.key)):
        with pytest.raises(ConfigError, match="are not a certificate and its key"):
            CertificateFiles(cert, key_file)
    for form in (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL):
        locked.write_bytes(key.private_bytes(Encoding.PEM, form, password))
        with pytest.raises(ConfigError, match=r"^--tls-key: .*locked\.pem has a password; write "):
            CertificateFiles(ours.cert, locked)
    with pytest.raises(ConfigError, match="holds no certificates"):
        CertificateFiles(ours.cert, ours.key, noise)
    missing = tmp_path / "missing.pem"
    for files in ((missing, ours.key), (ours.cert, missing), (ours.cert, ours.key, missing)):
        with pytest.raises(ConfigError, match=r"missing\.pem can't be read: No such file"):
            CertificateFiles(*files)
