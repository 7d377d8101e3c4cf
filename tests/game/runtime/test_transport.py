"""How programs reach a server: its address, whether that is this machine, tokens and the files of TLS."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from happycity import ConfigError
from happycity.runtime.transport import Access, Target, is_loopback, is_unix

TLS = Target("example.org:1", tls=True)


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


@pytest.mark.parametrize(
    ("text", "target", "written"),
    [
        ("127.0.0.1:50051", Target("127.0.0.1:50051"), "grpc://127.0.0.1:50051"),
        ("grpc://127.0.0.1:50051", Target("127.0.0.1:50051"), "grpc://127.0.0.1:50051"),
        ("grpcs://arena.example:443", Target("arena.example:443", tls=True), "grpcs://arena.example:443"),
        ("arena.example:65535", Target("arena.example:65535"), "grpc://arena.example:65535"),
        ("[::1]:50051", Target("[::1]:50051"), "grpc://[::1]:50051"),
        ("grpcs://[2001:db8::1]:443", Target("[2001:db8::1]:443", tls=True), "grpcs://[2001:db8::1]:443"),
        ("[fe80::1%eth0]:1", Target("[fe80::1%eth0]:1"), "grpc://[fe80::1%eth0]:1"),
        ("unix:/run/a b.sock", Target("unix:/run/a b.sock"), "unix:/run/a b.sock"),
        ("unix-abstract:happycity", Target("unix-abstract:happycity"), "unix-abstract:happycity"),
        ("grpcs://unix:/run/arena", Target("unix:/run/arena", tls=True), "grpcs://unix:/run/arena"),
    ],
)
def test_an_address_of_a_server_says_whether_it_encrypts(text: str, target: Target, written: str) -> None:
    """The scheme decides on TLS, and without one there is none; what is written reads as the same."""
    assert Target.parse(text) == target
    assert str(target) == written
    assert Target.parse(written) == target


@pytest.mark.parametrize(
    "text",
    [
        "",
        "arena.example",
        "grpcs://arena.example",
        "arena.example:",
        ":50051",
        "arena.example:65536",
        "arena.example:port",
        "arena.example:1/path",
        "http://arena.example:80",
        "https://arena.example:443",
        "GRPC://arena.example:1",
        "grpc:arena.example:1",
        "::1:50051",
        "[arena.example]:1",
        "two words:1",
        " 127.0.0.1:1",
        "127.0.0.1:1\n",
        "unix:",
    ],
)
def test_what_is_not_an_address_of_a_server_is_refused(text: str) -> None:
    """One line says where it stands, what it is, and what it could be."""
    with pytest.raises(ConfigError, match=r"^--server: '.*' is not an address such as grpc://") as caught:
        Target.parse(text, setting="--server")
    assert "\n" not in str(caught.value)


def test_an_address_that_is_not_one_is_the_environments_unless_another_setting_is_named() -> None:
    """The variable by which bots find the server is named, and a long text is shortened."""
    with pytest.raises(ConfigError, match=r"^HAPPYCITY_SERVER: 'x{80}' is not an address"):
        Target.parse("x" * 1000)


async def test_files_of_tls_count_where_the_address_says_so() -> None:
    """A server without TLS needs none of them, so they are not even read."""
    access = Access(token="secret", ca=Path("none.pem"), cert=Path("none.pem"), key=Path("none.pem"))
    for server in ("example.org:1", "grpc://example.org:1", Target("127.0.0.1:1"), "unix:/none"):
        access.check(server)
        await access.channel(server).close()
    with pytest.raises(ConfigError, match=r"^HAPPYCITY_CA: none\.pem can't be read"):
        access.check("grpcs://example.org:1")
    with pytest.raises(ConfigError, match=r"^HAPPYCITY_CA: none\.pem can't be read"):
        access.channel("grpcs://example.org:1")
    await Access().channel("grpcs://example.org:1").close()


@pytest.mark.parametrize("server", ["example.org", "https://example.org:1"])
def test_a_channel_needs_an_address(server: str) -> None:
    """What is not one is refused before gRPC would look it up."""
    with pytest.raises(ConfigError, match="is not an address"):
        Access().channel(server)
    with pytest.raises(ConfigError, match="is not an address"):
        Access().check(server)


def test_the_token_is_a_bearer_token() -> None:
    """It is in the metadata of every call; without a token there is none."""
    assert Access(token="secret").metadata == (("authorization", "Bearer secret"),)
    assert Access().metadata == ()


def test_the_environment_says_how_a_server_lets_a_client_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that is given replaces that of the environment; an empty file counts as absent."""
    for name, value in (("TOKEN", "secret"), ("CA", "ca.pem"), ("CERT", "cert.pem"), ("KEY", "key.pem")):
        monkeypatch.setenv(f"HAPPYCITY_{name}", value)
    expected = Access(token="secret", ca=Path("ca.pem"), cert=Path("cert.pem"), key=Path("key.pem"))
    assert Access.from_env() == expected
    assert Access.from_env("other") == replace(expected, token="other")
    assert Access.from_env("") == replace(expected, token="")
    for name in ("CA", "CERT", "KEY"):
        monkeypatch.setenv(f"HAPPYCITY_{name}", "")
    monkeypatch.delenv("HAPPYCITY_TOKEN")
    assert Access.from_env() == Access()


def test_a_child_trusts_the_same_servers() -> None:
    """But never gets the token, the certificate or its key."""
    assert Access(token="secret").environment == {}
    assert Access(token="secret", cert=Path("cert.pem"), key=Path("key.pem")).environment == {}
    assert Access(ca=Path("ca.pem")).environment == {"HAPPYCITY_CA": str(Path("ca.pem").resolve())}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"ca": "none.pem"}, "^HAPPYCITY_CA: .*none.pem can't be read: No such file"),
        ({"cert": "cert.pem", "key": "none.pem"}, "^HAPPYCITY_KEY: .*none.pem can't be read: No such file"),
        ({"cert": "cert.pem"}, "^HAPPYCITY_CERT: HAPPYCITY_KEY is needed too"),
        ({"key": "cert.pem"}, "^HAPPYCITY_KEY: HAPPYCITY_CERT is needed too"),
        ({"ca": "text.pem"}, "^HAPPYCITY_CA: .*text.pem holds no certificates in PEM"),
        (
            {"cert": "cert.pem", "key": "text.pem"},
            "^HAPPYCITY_CERT, HAPPYCITY_KEY: .*cert.pem and .*text.pem are not a certificate and its key",
        ),
    ],
)
def test_files_that_are_of_no_use_are_named(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    """Whatever is wrong with the files of TLS is one line, which begins with the variable."""
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "cert.pem"))
    (tmp_path / "text.pem").write_text("not a certificate\n")
    access = Access(**{setting: tmp_path / name for setting, name in files.items()})  # type: ignore[arg-type]
    for use in (access.channel, access.check):
        with pytest.raises(ConfigError, match=expected) as caught:
            use(TLS)
        assert "\n" not in str(caught.value)
