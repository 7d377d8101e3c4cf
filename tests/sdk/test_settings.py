"""Where and as whom a bot plays."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from happycity import ConfigError
from happycity_client import Settings
from happycity_client.settings import is_loopback


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with none of the variables."""
    for variable in ("NAME", "SERVER", "TOKEN", "GAMES", "TLS", "CA", "CERT", "KEY", "INSECURE"):
        monkeypatch.delenv(f"HAPPYCITY_{variable}", raising=False)


def gathered(**given: str | int | bool | None) -> Settings:
    return Settings.gather(default_name="FirstMove", **given)  # type: ignore[arg-type]  # a test's short cut


def test_settings_come_from_arguments_then_environment_then_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given wins over the environment, which wins over the defaults."""
    assert gathered() == Settings(name="FirstMove")
    for name, value in {
        "NAME": "anna", "SERVER": "example:1", "TOKEN": "secret", "GAMES": "3", "TLS": "1",
        "CA": "ca.pem", "CERT": "cert.pem", "KEY": "key.pem", "INSECURE": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"HAPPYCITY_{name}", value)
    assert gathered() == Settings(
        name="anna", server="example:1", token="secret", games=3, tls=True, ca="ca.pem", cert="cert.pem",
        key="key.pem", insecure=True,
    )  # fmt: skip
    given = {"name": "ben", "server": "other:2", "token": "x", "ca": "a", "cert": "b", "key": "c"}
    assert gathered(**given, games=0, tls=False) == Settings(**given, games=0, tls=False, insecure=True)  # type: ignore[arg-type]  # likewise


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [("GAMES", "many", "'many' is not a number of games"), ("TLS", "yes", "'yes' is neither 0 nor 1")],
)
def test_a_variable_that_makes_no_sense_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, expected: str
) -> None:
    """A wrong value is an error, not the default."""
    monkeypatch.setenv(f"HAPPYCITY_{variable}", value)
    with pytest.raises(ConfigError, match=f"HAPPYCITY_{variable}: {expected}"):
        gathered()


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("127.0.0.1:50051", True),
        ("127.8.8.8:1", True),
        ("localhost:50051", True),
        ("[::1]:50051", True),
        ("dns:///localhost:50051", True),
        ("ipv4:127.0.0.1:50051", True),
        ("unix:/run/happycity.sock", True),
        ("10.0.0.1:50051", False),
        ("[2001:db8::1]:50051", False),
        ("localhost.example.org:50051", False),
        ("example.org:50051", False),
        ("dns:///example.org:50051", False),
    ],
)
def test_loopback_is_told_from_the_rest(server: str, *, expected: bool) -> None:
    """Only what is surely this machine counts as loopback."""
    assert is_loopback(server) is expected


def test_a_token_travels_in_the_clear_only_on_loopback_or_if_that_is_wanted() -> None:
    """Elsewhere it is refused in one line, which says what to do."""
    with pytest.raises(ConfigError, match=r"unencrypted to example\.org:1.*HAPPYCITY_INSECURE=1") as caught:
        Settings(name="anna", server="example.org:1", token="secret").credentials()
    assert "secret" not in str(caught.value)
    assert Settings(name="anna", server="example.org:1").credentials() is None
    assert Settings(name="anna", token="secret").credentials() is None
    assert Settings(name="anna", server="example.org:1", token="x", insecure=True).credentials() is None
    assert Settings(name="anna", server="example.org:1", token="x", tls=True).credentials() is not None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"ca": "none.pem"}, "ca: .*none.pem' can't be read: No such file"),
        ({"cert": "cert.pem", "key": "none.pem"}, "key: .*none.pem' can't be read: No such file"),
        ({"cert": "cert.pem"}, "key: it is missing; cert needs it too"),
        ({"key": "cert.pem"}, "cert: it is missing; key needs it too"),
        ({"ca": "text.pem"}, "ca: .*text.pem' holds no certificates in PEM"),
        ({"cert": "cert.pem", "key": "text.pem"}, "cert: .* are no certificate and its key in PEM"),
    ],
)
def test_files_that_are_of_no_use_are_named(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    """Whatever is wrong with the files of TLS is one line."""
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "cert.pem"))
    (tmp_path / "text.pem").write_text("not a certificate\n")
    settings = Settings(name="anna", **{field: str(tmp_path / name) for field, name in files.items()})  # type: ignore[arg-type]  # only texts
    with pytest.raises(ConfigError, match=expected) as caught:
        settings.credentials()
    assert "\n" not in str(caught.value)
