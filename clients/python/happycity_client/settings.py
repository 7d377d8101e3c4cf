"""Where and as whom a bot plays. The environment is read here and nowhere else."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field, replace
from typing import Self

from happycity import BotInfo, ConfigError
from happycity_runtime.environment import SERVER_VARIABLE, read_settings_file
from happycity_runtime.transport import DEFAULT_ADDRESS, Access, Target

DEFAULT_GAMES = 8
"""Few, so that a bot that takes a second for a move answers all of them in time."""
RECONNECT_SECONDS = 60.0
"""How long a bot that lost its server tries to find it again."""
LANGUAGE = f"Python {sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where and as whom a bot plays. All times are seconds."""

    name: str = ""
    """The bot's name; "": that of the token."""
    server: str = DEFAULT_ADDRESS
    """`grpc://host:port`, or `grpcs://host:port` for TLS; without a scheme it is the former."""
    games: int = DEFAULT_GAMES
    """Maximum number of games at once; 0 leaves it to the server."""
    access: Access = field(default_factory=Access)
    """The token, and the certificates for TLS."""
    reconnect: float = RECONNECT_SECONDS
    """How long to try after a connection was lost; 0 never tries again."""
    info: BotInfo = field(default_factory=lambda: BotInfo(language=LANGUAGE))
    """What the bot says of itself, for lists, standings and reports."""

    @property
    def target(self) -> Target:
        """The server's address, and whether it uses TLS."""
        return Target.parse(self.server)

    @classmethod
    def from_env(
        cls,
        default_name: str,
        *,
        name: str | None = None,
        server: str | None = None,
        token: str | None = None,
        games: int | None = None,
        reconnect: float = RECONNECT_SECONDS,
        info: BotInfo | None = None,
    ) -> Self:
        """Fill in what is absent: from the environment, else by default; so too in `info`.

        The variables are HAPPYCITY_NAME, HAPPYCITY_SERVER, HAPPYCITY_TOKEN, HAPPYCITY_TOKENS, HAPPYCITY_CA,
        HAPPYCITY_CERT, HAPPYCITY_KEY, HAPPYCITY_GAMES and HAPPYCITY_VERSION; an empty one counts as absent.
        The file of HAPPYCITY_ENV has what the environment lacks. The default name is for a bot without a
        token.

        Raises:
            ConfigError: a value can't be used.
        """
        read_settings_file(os.environ)
        name = name or os.environ.get("HAPPYCITY_NAME")
        access = Access.of_bot(name or "") if token is None else Access.from_env(token)
        info = info or BotInfo()
        version = info.version or os.environ.get("HAPPYCITY_VERSION", "")
        return cls(
            name=name or ("" if access.token else default_name),
            server=server or os.environ.get(SERVER_VARIABLE) or DEFAULT_ADDRESS,
            games=_games(str(games) if games is not None else os.environ.get("HAPPYCITY_GAMES")),
            access=access,
            reconnect=reconnect,
            info=replace(info, version=version, language=info.language or LANGUAGE),
        )


def _games(text: str | None) -> int:
    if not text:
        return DEFAULT_GAMES
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ConfigError(f"HAPPYCITY_GAMES: {text[:40]!r} is not a number of games; 0 is any number")
    return int(text)
