"""The tokens that the bots of a run show to its server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from happycity_runtime.tokens import Role, add_tokens, new_token
from happycity_runtime.transport import TOKENS_VARIABLE, parse_tokens


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """New tokens, whose hashes are written to the token file of a run's own server."""

    path: Path
    _of_bots: dict[str, str] = field(default_factory=dict)

    def of(self, names: Sequence[str]) -> dict[str, str]:
        """Return a token for each bot, which is issued when it is asked for first."""
        self._of_bots.update(self._issued([name for name in names if name not in self._of_bots], Role.BOT))
        return {name: self._of_bots[name] for name in names}

    def for_role(self, role: Role) -> str:
        """Issue a token of a role, whose name is the role's."""
        return self._issued([role.value], role)[role.value]

    def _issued(self, names: Sequence[str], role: Role) -> dict[str, str]:
        now = datetime.now(UTC)
        made = {name: new_token(role, name, created=now) for name in names}
        if made:
            add_tokens(self.path, [token for _, token in made.values()])
        return {name: clear for name, (clear, _) in made.items()}


BotTokens = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the tokens of bots by their names; bots that need none are left out."""


def tokens_of_environment(names: Sequence[str]) -> dict[str, str]:
    """Return those that another server's organiser has put into the environment, as `HAPPYCITY_TOKENS`.

    ConfigError if the variable has another form.
    """
    tokens = parse_tokens(os.environ.get(TOKENS_VARIABLE, ""))
    return {name: tokens[name] for name in names if name in tokens}
