"""Where and as whom a bot plays. The environment is read here and nowhere else."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from happycity import BotInfo, ConfigError
from happycity.runtime.transport import DEFAULT_ADDRESS, Access

DEFAULT_GAMES = 8
"""Few, so that a bot that takes a second for a move answers all of them in time."""
RECONNECT_SECONDS = 60.0
"""A bot that lost its server tries for so long to find it again."""
LANGUAGE = f"Python {sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where and as whom a bot plays. All times are seconds."""

    name: str
    server: str = DEFAULT_ADDRESS
    games: int = DEFAULT_GAMES
    """Maximum number of games at once; 0 leaves it to the server."""
    access: Access = field(default_factory=Access)
    """Token and encryption."""
    wait_seconds: float = 0.0
    """How long to wait for a server that isn't there yet; 0 fails at once."""
    reconnect_seconds: float = RECONNECT_SECONDS
    """How long to try after a connection was lost; 0 never tries again."""
    info: BotInfo = field(default_factory=lambda: BotInfo(language=LANGUAGE))
    """What the bot says of itself, for lists, standings and reports."""

    def __post_init__(self) -> None:
        """Refuse an impossible number of games."""
        if not 0 <= self.games < 1 << 32:
            raise ConfigError(f"games: {self.games} is not a number of games; 0 is any number")

    @classmethod
    def from_env(
        cls,
        *,
        default_name: str,
        name: str | None = None,
        server: str | None = None,
        token: str | None = None,
        games: int | None = None,
        tls: bool | None = None,
        ca: str | None = None,
        cert: str | None = None,
        key: str | None = None,
        insecure: bool | None = None,
        wait_seconds: float = 0.0,
        reconnect_seconds: float = RECONNECT_SECONDS,
        info: BotInfo | None = None,
    ) -> Settings:
        """Fill in what is None: from the environment, else by default. So is the language of `info`.

        The environment's HAPPYCITY_NAME, HAPPYCITY_SERVER, HAPPYCITY_TOKEN, HAPPYCITY_GAMES, HAPPYCITY_TLS,
        HAPPYCITY_CA, HAPPYCITY_CERT, HAPPYCITY_KEY and HAPPYCITY_INSECURE are read. With `tls=False` its
        files of TLS are ignored.

        Raises:
            ConfigError: a value can't be used.
        """
        environ = os.environ

        def path(value: str | None, variable: str) -> Path | None:
            if value is None and tls is not False:
                value = environ.get(variable)
            return Path(value) if value else None

        return cls(
            name=name or environ.get("HAPPYCITY_NAME") or default_name,
            server=server or environ.get("HAPPYCITY_SERVER") or DEFAULT_ADDRESS,
            games=games if games is not None else _games(environ.get("HAPPYCITY_GAMES")),
            access=Access(
                token=token if token is not None else environ.get("HAPPYCITY_TOKEN", ""),
                tls=tls if tls is not None else _switch("HAPPYCITY_TLS"),
                ca=path(ca, "HAPPYCITY_CA"),
                cert=path(cert, "HAPPYCITY_CERT"),
                key=path(key, "HAPPYCITY_KEY"),
                insecure=insecure if insecure is not None else _switch("HAPPYCITY_INSECURE"),
            ),
            wait_seconds=wait_seconds,
            reconnect_seconds=reconnect_seconds,
            info=replace(info, language=info.language or LANGUAGE) if info else BotInfo(language=LANGUAGE),
        )


def _games(text: str | None) -> int:
    if not text:
        return DEFAULT_GAMES
    if not text.isdecimal() or len(text) > 9:
        raise ConfigError(f"HAPPYCITY_GAMES: {text[:40]!r} is not a number of games")
    return int(text)


def _switch(variable: str) -> bool:
    text = os.environ.get(variable, "")
    if text not in ("", "0", "1"):
        raise ConfigError(f"{variable}: {text!r} is neither 0 nor 1")
    return text == "1"
