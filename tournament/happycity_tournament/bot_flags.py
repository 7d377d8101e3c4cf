"""How a command is told bots: `--bots` for reference bots, `--bot` for commands, `--join` for all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from happycity import ConfigError


def bots_told(
    bots: str | None, bot: Sequence[str] | None, join: Sequence[str] | None
) -> list[Mapping[str, object]]:
    """Return the bots of the three flags as the file's `[[bots]]` have them.

    Raises:
        ConfigError: a flag has another form.
    """
    return [
        *map(_builtin, (entry.strip() for entry in (bots or "").split(",") if entry.strip())),
        *map(_command, bot or ()),
        *({"name": name, "join": True} for name in join or ()),
    ]


def _builtin(text: str) -> Mapping[str, object]:
    name, separator, bot = text.partition("=")
    return {"name": name, "builtin": bot if separator else name}


def _command(text: str) -> Mapping[str, object]:
    name, separator, command = text.partition("=")
    if not separator or not name:
        raise ConfigError(f"bot: {text!r} is not NAME=COMMAND")
    return {"name": name, "command": command}
