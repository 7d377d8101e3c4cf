"""Where and as whom a bot plays."""

from pathlib import Path
from typing import Any

import pytest

from happycity.runtime.transport import Access
from happycity_client import BotInfo, Settings

VARIABLES = {
    "NAME": "anna",
    "SERVER": "grpcs://example:1",
    "TOKEN": "secret",
    "GAMES": "3",
    "CA": "ca.pem",
    "CERT": "cert.pem",
    "KEY": "key.pem",
}
FILES = {"ca": Path("ca.pem"), "cert": Path("cert.pem"), "key": Path("key.pem")}


def settings(**code: Any) -> Settings:
    return Settings.from_env("FirstMove", **code)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Set every variable."""
    for variable, value in VARIABLES.items():
        monkeypatch.setenv(f"HAPPYCITY_{variable}", value)
    return monkeypatch


def test_the_environment_wins_over_the_defaults(environment: pytest.MonkeyPatch) -> None:
    """Every variable is read, and an empty one counts as absent."""
    access = Access(token="secret", **FILES)
    assert settings() == Settings(name="anna", server="grpcs://example:1", games=3, access=access)
    assert settings().target.tls
    for variable in VARIABLES:
        environment.setenv(f"HAPPYCITY_{variable}", "")
    assert settings() == Settings(name="FirstMove")


@pytest.mark.usefixtures("environment")
def test_the_code_wins_over_the_environment() -> None:
    """Whatever is set in code stays as it is; only files have no argument."""
    info = BotInfo(author="Ann")
    found = settings(name="ben", server="other:2", token="x", games=0, reconnect=1.0, info=info)
    assert (found.name, found.server, found.games, found.reconnect) == ("ben", "other:2", 0, 1.0)
    assert found.access == Access(token="x", **FILES)
    assert found.info.author == "Ann"
    assert found.info.language.startswith("Python 3.")
    assert settings(token="").access.token == ""


def test_a_token_has_a_name(environment: pytest.MonkeyPatch) -> None:
    """A bot with a token and without a name has none but the token's."""
    environment.delenv("HAPPYCITY_NAME")
    assert settings().name == ""
    assert settings(token="").name == "FirstMove"
