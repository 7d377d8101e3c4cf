"""Where and as whom a bot plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from happycity import ConfigError
from happycity.runtime.transport import Access
from happycity_client import Settings

VARIABLES = {
    "NAME": "anna",
    "SERVER": "example:1",
    "TOKEN": "secret",
    "GAMES": "3",
    "TLS": "1",
    "CA": "ca.pem",
    "CERT": "cert.pem",
    "KEY": "key.pem",
    "INSECURE": "1",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with none of the variables."""
    for variable in VARIABLES:
        monkeypatch.delenv(f"HAPPYCITY_{variable}", raising=False)


@pytest.fixture
def all_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set every variable."""
    for variable, value in VARIABLES.items():
        monkeypatch.setenv(f"HAPPYCITY_{variable}", value)


def settings(**code: Any) -> Settings:
    """Return the settings that code and environment make."""
    return Settings.from_env(default_name="FirstMove", **code)


def test_the_defaults() -> None:
    """Without any setting a bot plays on this machine, under its class's name."""
    assert settings() == Settings(name="FirstMove")
    assert settings().access == Access()


@pytest.mark.usefixtures("all_variables")
def test_the_environment_wins_over_the_defaults() -> None:
    """Every variable is read."""
    files = Access(
        token="secret",
        tls=True,
        ca=Path("ca.pem"),
        cert=Path("cert.pem"),
        key=Path("key.pem"),
        insecure=True,
    )
    assert settings() == Settings(name="anna", server="example:1", games=3, access=files)


@pytest.mark.usefixtures("all_variables")
def test_the_code_wins_over_the_environment() -> None:
    """Whatever is set in code stays as it is."""
    code = {"name": "ben", "server": "other:2", "token": "x", "ca": "a", "cert": "b", "key": "c"}
    assert settings(**code, games=0, tls=True, insecure=False) == Settings(
        name="ben",
        server="other:2",
        games=0,
        access=Access(token="x", tls=True, ca=Path("a"), cert=Path("b"), key=Path("c"), insecure=False),
    )


@pytest.mark.usefixtures("all_variables")
def test_no_tls_in_code_is_no_tls() -> None:
    """A file of the environment doesn't imply what the code has switched off."""
    assert settings(tls=False).access == Access(token="secret", insecure=True)
    assert not settings(tls=False).access.encrypted


@pytest.mark.usefixtures("all_variables")
def test_no_token_in_code_is_no_token() -> None:
    """An empty text is a setting too; None is none."""
    assert settings(token="").access.token == ""
    assert settings(ca="", cert="", key="").access.ca is None
    assert settings(token=None).access.token == "secret"


@pytest.mark.usefixtures("all_variables")
@pytest.mark.parametrize("insecure", [True, False])
async def test_insecure_in_code_decides(*, insecure: bool) -> None:
    """Whether a token may travel in the clear is not for the environment to say if the code does."""
    access = settings(tls=False, insecure=insecure, server="example.org:1").access
    if insecure:
        await access.channel("example.org:1").close()
    else:
        with pytest.raises(ConfigError, match="token: it would travel unencrypted"):
            access.channel("example.org:1")


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an unset one."""
    for variable in VARIABLES:
        monkeypatch.setenv(f"HAPPYCITY_{variable}", "")
    assert settings() == Settings(name="FirstMove")


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("GAMES", "many", "'many' is not a number of games"),
        ("GAMES", "-1", "'-1' is not a number of games"),
        ("GAMES", "9" * 20, "'99999999999999999999' is not a number of games"),
        ("TLS", "yes", "'yes' is neither 0 nor 1"),
        ("INSECURE", "true", "'true' is neither 0 nor 1"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, expected: str
) -> None:
    """A wrong value is an error, not the default."""
    monkeypatch.setenv(f"HAPPYCITY_{variable}", value)
    with pytest.raises(ConfigError, match=f"HAPPYCITY_{variable}: {expected}"):
        settings()


@pytest.mark.parametrize("games", [-1, 2**32])
def test_an_impossible_number_of_games_is_refused(games: int) -> None:
    """Any number of games is 0, and no other number stands for it."""
    with pytest.raises(ConfigError, match=f"games: {games} is not a number of games; 0 is any number"):
        settings(games=games)
