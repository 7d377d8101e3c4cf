"""How programs reach a server: its address, whether that is this machine, tokens and the files of TLS."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from tests.tables import Table

from happycity import ConfigError
from happycity_runtime.transport import Access, Target, is_loopback, is_unix

TLS = Target("example.org:1", tls=True)


def meaning(address: str) -> Iterator[str]:
    """Yield what is read, written and known of an address."""
    here = ("here, " if is_loopback(address) else "") + ("a socket of Unix, " if is_unix(address) else "")
    try:
        target = Target.parse(address, setting="--server")
        assert Target.parse(str(target)) == target
        yield f"{here}{target!r}, {target}"
    except ConfigError as error:
        yield f"{here}{error}"


TABLE = Table(Path(__file__).with_name("addresses.txt"), meaning)


def test_addresses_are_read_as_is_kept() -> None:
    TABLE.check(least=40)
    assert not is_loopback("")


def test_what_is_not_an_address_of_a_server_is_refused() -> None:
    # One line says where it stands, what it is, and what it could be.
    for text in ("", " 127.0.0.1:1", "127.0.0.1:1\n"):
        with pytest.raises(ConfigError, match=r"^--server: '.*' is not an address such as grpc://") as caught:
            Target.parse(text, setting="--server")
        assert "\n" not in str(caught.value)

    # The variable by which bots find the server is named, and a long text is shortened.
    with pytest.raises(ConfigError, match=r"^HAPPYCITY_SERVER: 'x{80}' is not an address"):
        Target.parse("x" * 1000)

    # What is not one is refused before gRPC would look it up.
    for use in (Access().channel, Access().check):
        with pytest.raises(ConfigError, match="is not an address"):
            use("example.org")


async def test_files_of_tls_count_where_the_address_says_so() -> None:
    access = Access(token="secret", ca=Path("none.pem"), cert=Path("none.pem"), key=Path("none.pem"))
    for server in ("example.org:1", "grpc://example.org:1", Target("127.0.0.1:1"), "unix:/none"):
        access.check(server)
        await access.channel(server).close()
    for use in (access.check, access.channel):
        with pytest.raises(ConfigError, match=r"^HAPPYCITY_CA: none\.pem can't be read"):
            use("grpcs://example.org:1")
    await Access().channel("grpcs://example.org:1").close()


def test_access_of_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Access(token="secret").metadata == (("authorization", "Bearer secret"),)
    assert Access().metadata == ()

    # A token that is given replaces that of the environment; an empty file counts as absent.
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

    # But never gets the token, the certificate or its key.
    assert Access(token="secret").environment == {}
    assert Access(token="secret", cert=Path("cert.pem"), key=Path("key.pem")).environment == {}
    assert Access(ca=Path("ca.pem")).environment == {"HAPPYCITY_CA": str(Path("ca.pem").resolve())}


def test_files_that_are_of_no_use_are_named(tmp_path: Path) -> None:
    """Whatever is wrong with the files of TLS is one line, which begins with the variable."""
    for files, expected in [
        ({"ca": "none.pem"}, "^HAPPYCITY_CA: .*none.pem can't be read: No such file"),
        ({"cert": "cert.pem", "key": "none.pem"}, "^HAPPYCITY_KEY: .*none.pem can't be read: No such file"),
        ({"cert": "cert.pem"}, "^HAPPYCITY_CERT: HAPPYCITY_KEY is needed too"),
        ({"key": "cert.pem"}, "^HAPPYCITY_KEY: HAPPYCITY_CERT is needed too"),
        ({"ca": "text.pem"}, "^HAPPYCITY_CA: .*text.pem holds no certificates in PEM"),
        (
            {"cert": "cert.pem", "key": "text.pem"},
            "^HAPPYCITY_CERT, HAPPYCITY_KEY: .*cert.pem and .*text.pem are not a certificate and its key",
        ),
    ]:
        trustme.CA().cert_pem.write_to_path(str(tmp_path / "cert.pem"))
        (tmp_path / "text.pem").write_text("not a certificate\n")
        access = Access(**{setting: tmp_path / name for setting, name in files.items()})  # type: ignore[arg-type]
        for use in (access.channel, access.check):
            with pytest.raises(ConfigError, match=expected) as caught:
                use(TLS)
            assert "\n" not in str(caught.value)


if __name__ == "__main__":
    TABLE.write()
