"""The kinds of games that every environment is tested with."""

from typing import Any

import pytest

from happycity import Config, Mode

CONFIGS = [Config(players=players, mode=mode) for players in range(2, 6) for mode in Mode]
each_table = pytest.mark.parametrize(
    "config", CONFIGS, ids=lambda config: f"{config.players} players, {config.mode.value}"
)


def options_of(config: Config) -> dict[str, Any]:
    """Return a kind of game as the environments take it."""
    return {"players": config.players, "mode": config.mode.value, "scoring": config.scoring.value}
