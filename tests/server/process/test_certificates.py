"""Certificates that `happycity cert create` and `competition init` write, and what they refuse."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from tests.programs import run

from happycity import ConfigError
from happycity_ladder.ladder_config import LadderConfig
from happycity_server.config import load_settings
from happycity_server.process.certificates import make_certificates

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def test_a_certificate_is_for_all_hosts_and_this_machine() -> None:
    """Each name once; names are names, and addresses are addresses. It does not outlive its authority."""
    ca_text, cert_text, _ = make_certificates(["arena.example", "203.0.113.7", "localhost"], now=NOW, days=30)
    cert, ca = (x509.load_pem_x509_certificate(text.encode()) for text in (cert_text, ca_text))
    names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["arena.example", "localhost"]
    assert list(map(str, names.get_values_for_type(x509.IPAddress))) == ["203.0.113.7", "127.0.0.1", "::1"]
    assert cert.not_valid_after_utc == ca.not_valid_after_utc == NOW + timedelta(days=30)
    assert cert.not_valid_before_utc < NOW
    cert.verify_directly_issued_by(ca)
    assert not cert.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def handshake(folder: Path, made_for: str, *, host: str) -> None:
    """Let a client that trusts the authority meet a server with the certificate, without a socket."""
    ca, cert, key = make_certificates([made_for], now=datetime.now(UTC), days=1)
    client = ssl.create_default_context(cadata=ca)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    path = folder / "server.pem"
    path.write_text(cert + key)
    server.load_cert_chain(path)
    one, other = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(one, other, server_hostname=host),
        server.wrap_bio(other, one, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue


@pytest.mark.parametrize(
    ("made_for", "host"),
    [("arena.example", "arena.example"), ("203.0.113.7", "203.0.113.7"), ("arena.example", "localhost")],
)
def test_clients_accept_a_host_of_the_certificate(tmp_path: Path, made_for: str, host: str) -> None:
    handshake(tmp_path, made_for, host=host)


def test_clients_refuse_another_host(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(tmp_path, "arena.example", host="other.example")


@pytest.mark.parametrize(
    "host", ["", "grpcs://arena.example", "arena.example:443", "a b", "żółw.example", "x" * 64]
)
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match=r"^--host: .* is neither a name such as"):
        make_certificates([host], now=NOW, days=1)


@pytest.mark.level(2)
def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """The key and the organiser's token are for their owner alone."""
    init = ("competition", "init", "cup", "--host", "arena.example")
    assert run(*init, cwd=tmp_path).returncode == 0
    folder = tmp_path / "cup"
    secret = [path.name for path in folder.iterdir() if path.stat().st_mode & 0o077 == 0]
    assert sorted(secret) == [".tokens.json.lock", "happycity.env", "key.pem", "tokens.json"]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for arguments in (init, ("cert", "create", "--host", "arena.example", "--out", "cup")):
        refused = run(*arguments, cwd=tmp_path)
        assert refused.returncode == 2
        assert " is there already; remove it, or name another folder" in refused.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.level(2)
def test_ladder_of_a_competition_has_its_anchor(tmp_path: Path) -> None:
    """The two files that are written agree, or no rating would ever be on the scale."""
    init = ("competition", "init", "cup", "--host", "arena.example", "--ladder")
    assert run(*init, cwd=tmp_path).returncode == 0
    settings = load_settings({}, {}, tmp_path / "cup/server.toml")
    assert settings.ladder is not None
    assert LadderConfig.read(tmp_path / "cup" / settings.ladder).anchor in settings.house_bots
