"""How programs reach a server: which addresses are this machine, and when a token may travel."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from happycity import ConfigError
from happycity.runtime.transport import Access, is_loopback, is_unix


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:50051", True),
        ("127.8.8.8:1", True),
        ("localhost:50051", True),
        ("localhost", True),
        ("[::1]:50051", True),
        ("dns:///localhost:50051", True),
        ("dns:127.0.0.1:50051", True),
        ("ipv4:127.0.0.1:50051", True),
        ("ipv6:[::1]:50051", True),
        ("unix:/run/happycity.sock", True),
        ("unix-abstract:happycity", True),
        ("10.0.0.1:50051", False),
        ("0.0.0.0:50051", False),
        ("[2001:db8::1]:50051", False),
        ("localhost.example.org:50051", False),
        ("127.0.0.1.example.org:50051", False),
        ("example.org:50051", False),
        ("dns:///example.org:50051", False),
        ("", False),
    ],
)
def test_loopback_is_told_from_the_rest(address: str, *, expected: bool) -> None:
    """Only what is surely this machine counts as loopback; names are not looked up."""
    assert is_loopback(address) is expected


def test_sockets_in_the_file_system() -> None:
    """Both kinds of Unix sockets are recognised."""
    assert [is_unix(address) for address in ("unix:/a", "unix-abstract:a", "unix.example.org:1")] == [
        True,
        True,
        False,
    ]


async def test_a_token_travels_in_the_clear_only_on_loopback_or_if_that_is_wanted() -> None:
    """Elsewhere it is refused in one line, which says what to do and not the token."""
    with pytest.raises(ConfigError, match=r"unencrypted to example\.org:1.*HAPPYCITY_INSECURE=1") as caught:
        Access(token="secret").channel("example.org:1")
    assert "secret" not in str(caught.value)
    for access, address in (
        (Access(), "example.org:1"),
        (Access(token="secret"), "127.0.0.1:1"),
        (Access(token="secret", insecure=True), "example.org:1"),
        (Access(token="secret", tls=True), "example.org:1"),
    ):
        await access.channel(address).close()


def test_the_token_is_a_bearer_token() -> None:
    """It is in the metadata of every call; without a token there is none."""
    assert Access(token="secret").metadata == (("authorization", "Bearer secret"),)
    assert Access().metadata == ()


@pytest.mark.parametrize(
    ("access", "encrypted"),
    [
        (Access(), False),
        (Access(insecure=True), False),
        (Access(tls=True), True),
        (Access(ca=Path("ca.pem")), True),
        (Access(cert=Path("cert.pem"), key=Path("key.pem")), True),
    ],
)
def test_a_certificate_implies_encryption(access: Access, *, encrypted: bool) -> None:
    """TLS is asked for by itself or by any of its files."""
    assert access.encrypted is encrypted


def test_a_child_finds_the_same_encryption() -> None:
    """But never the token, the certificate or its key."""
    assert Access(token="secret").environment == {}
    mutual = Access(token="secret", tls=True, cert=Path("cert.pem"), key=Path("key.pem"))
    assert mutual.environment == {"HAPPYCITY_TLS": "1"}
    assert Access(ca=Path("ca.pem")).environment == {
        "HAPPYCITY_TLS": "1",
        "HAPPYCITY_CA": str(Path("ca.pem").resolve()),
    }


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"ca": "none.pem"}, "ca: .*none.pem can't be read: No such file"),
        ({"cert": "cert.pem", "key": "none.pem"}, "key: .*none.pem can't be read: No such file"),
        ({"cert": "cert.pem"}, "key: it is missing; cert needs it too"),
        ({"key": "cert.pem"}, "cert: it is missing; key needs it too"),
        ({"ca": "text.pem"}, "ca: .*text.pem holds no certificates in PEM"),
        ({"cert": "cert.pem", "key": "text.pem"}, "cert.pem and .*text.pem are no certificate and its key"),
    ],
)
def test_files_that_are_of_no_use_are_named(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    """Whatever is wrong with the files of TLS is one line."""
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "cert.pem"))
    (tmp_path / "text.pem").write_text("not a certificate\n")
    access = Access(**{setting: tmp_path / name for setting, name in files.items()})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=expected) as caught:
        access.channel("example.org:1")
    assert "\n" not in str(caught.value)
