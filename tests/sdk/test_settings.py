"""Where and as whom a bot plays: the cases of all SDKs, and what an argument of Python alone does."""

import json
from pathlib import Path
from typing import Any

import pytest
from tools import ROOT

from happycity.errors import ConfigError
from happycity_client import BotInfo, Settings
from happycity_runtime.transport import uses_proxy

CASES = [
    json.loads(line) for line in (ROOT / "clients/conformance/settings.jsonl").read_text("utf-8").splitlines()
]


def found(given: dict[str, Any]) -> dict[str, Any]:
    """Return what a case may say of the settings; their files are read."""
    info = BotInfo(version=given["version"]) if "version" in given else None
    code = {name: value for name, value in given.items() if name != "version"}
    settings = Settings.from_env("Program", info=info, **code)
    settings.access.check(settings.target)
    return {
        "server": settings.target.address,
        "tls": settings.target.tls,
        "proxy": uses_proxy(settings.target),
        "name": settings.name,
        "token": settings.access.token,
        "games": settings.games,
        "version": settings.info.version,
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case_of_all_sdks(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name * is the program's."""
    for name, content in case.get("files", {}).items():
        (tmp_path / name).write_bytes(content.encode("latin-1"))
    here = str(tmp_path)
    environment = {name: value.replace("{folder}", here) for name, value in case["environment"].items()}
    monkeypatch.setattr("os.environ", environment)
    if "error" in case:
        with pytest.raises(ConfigError) as refused:
            found(case.get("given", {}))
        assert str(refused.value).startswith(case["error"].replace("{folder}", here))
        return
    settings, expected = found(case.get("given", {})), case["settings"]
    if expected.get("name") == "*":
        expected = expected | {"name": "Program"}
    assert settings | expected == settings


def test_code_says_what_no_variable_does() -> None:
    """The language is filled in; an empty token is none."""
    settings = Settings.from_env("Program", token="", reconnect=1.0, info=BotInfo(author="Ann"))
    assert (settings.name, settings.access.token, settings.reconnect) == ("Program", "", 1.0)
    assert settings.info.author == "Ann"
    assert settings.info.language.startswith("Python 3.")
