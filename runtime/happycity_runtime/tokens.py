"""Bearer tokens and invitations: who may call, stored as hashes in a file.

A token is `hc_`, an id that may be seen, and a secret that may not; an invitation is the same with `hci_`.
Other secrets have other letters and the same form, by which the log leaves them out.
Files that can't be used: TokenError.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from filelock import FileLock
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from happycity.errors import ConfigError, HappyCityError
from happycity.match import check_bot_spelling, one_line
from happycity_runtime.files import read_text, replacing
from happycity_runtime.transport import FileStamp, file_stamp

PREFIX = "hc"
"""What every token begins with, so that scanners for secrets can find them."""
INVITATION_PREFIX = "hci"
"""What every invitation begins with."""
MAX_OWNER = 64
"""Characters of an owner's name."""
MAX_INVITED = 64
"""Bots of one invitation."""
SECRET_BYTES = 32
ID_BYTES = 4
ID_PATTERN = f"[0-9a-f]{{{2 * ID_BYTES}}}"


class TokenError(HappyCityError):
    """A tokens file can't be used, or a token can't be made or revoked."""


def check_owner(owner: str) -> str:
    """Return the name of an owner, which people read; ConfigError if it can't be one."""
    if not 1 <= len(owner) <= MAX_OWNER or owner != one_line(owner):
        raise ConfigError(f"owner {owner[:80]!r}: use 1-{MAX_OWNER} printable characters, such as 'Team 7'")
    return owner


class Role(Enum):
    """What a caller may do."""

    BOT = "bot"
    """Play under its own name, and look at what is public for bots."""
    OBSERVER = "observer"
    """Look at everything, also at matches while they run."""
    ORGANISER = "organiser"
    """Set up and stop matches and tournaments, and look at everything."""
    WORKER = "worker"
    """Play games for the server; see `happycity worker`."""
    GATEWAY = "gateway"
    """Carry what bots and server say, and name the bots' addresses; see `happycity gateway`."""


class _Secret(BaseModel):
    """What is kept of a token or an invitation: all but its secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str = Field(pattern=f"^{ID_PATTERN}$")
    """The only part that may be logged."""
    created: AwareDatetime
    expires: AwareDatetime | None = None
    """When it ceases to be valid; None: never."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Hash of the whole text."""

    def is_valid(self, now: datetime) -> bool:
        """Return whether it has not expired."""
        return self.expires is None or now < self.expires

    def is_of(self, clear: str) -> bool:
        """Return whether a caller shows the text of which the hash is kept."""
        return hmac.compare_digest(digest(clear), bytes.fromhex(self.sha256))


class Token(_Secret):
    """A token as it is kept."""

    role: Role
    name: Annotated[str, AfterValidator(check_bot_spelling)]
    """Name of the bot, which may play under no other; for other roles, of the token's owner."""
    owner: Annotated[str, AfterValidator(check_owner)] = Field(default_factory=lambda read: read["name"])
    """Who answers for the bot: a ladder's limits and its pairing go by owner. By default the token's name,
    also in files of versions without owners."""
    replaces: str = ""
    """The id of the older token that ends when this one is shown first; "" once it was."""


class Invitation(_Secret):
    """An invitation that is not used yet, as it is kept."""

    owner: Annotated[str, AfterValidator(check_owner)]
    """Who will answer for the bots of the guest."""
    bots: int = Field(ge=1, le=MAX_INVITED)
    """How many bots the guest may name."""


class AnsweredCall(BaseModel):
    """A call that made secrets: its caller can repeat it, and from this alone the secrets don't follow."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    sha256: str
    """Hash of the secret that the caller showed."""
    call: str
    """Hash of that with the call's request id, and with what it asked for."""
    salt: str
    at: AwareDatetime


class StoredTokens(BaseModel):
    """The content of a tokens file."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    format: Literal["happycity-tokens/1"] = "happycity-tokens/1"
    tokens: list[Token] = []
    invitations: list[Invitation] = []
    answered: list[AnsweredCall] = []

    @model_validator(mode="after")
    def _ids_are_unique(self) -> StoredTokens:
        ids = [token.id for token in self.tokens]
        if len(set(ids)) < len(ids):
            raise ValueError("two tokens have the same id")
        return self


def new_token(
    role: Role,
    name: str,
    *,
    created: datetime,
    expires: datetime | None = None,
    owner: str = "",
    source: Callable[[], bytes] | None = None,
) -> tuple[str, Token]:
    """Make a token; return its text, which is stored nowhere, and what is stored of it.

    Without an owner, it belongs to its name. ConfigError if the name is not one that a bot may have, or the
    owner is not a line of text.
    """
    clear, kept = new_secret(PREFIX, source)
    return clear, Token(**kept, role=role, name=name, owner=owner or name, created=created, expires=expires)


def new_secret(prefix: str, source: Callable[[], bytes] | None = None) -> tuple[str, dict[str, Any]]:
    """Return a text, and the fields of what is kept of it; `source` returns 64 random bytes."""
    drawn = secrets.token_bytes(64) if source is None else source()
    own_id, secret = drawn[:ID_BYTES].hex(), urlsafe_b64encode(drawn[ID_BYTES:][:SECRET_BYTES])
    clear = f"{prefix}_{own_id}_{secret.decode().rstrip('=')}"
    return clear, {"id": own_id, "sha256": digest(clear).hex()}


def read_tokens_file(path: Path) -> StoredTokens:
    """Read a tokens file.

    FileNotFoundError if there is none; TokenError if it can't be read, or is not a tokens file.
    """
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise TokenError(f"--tokens: {path} can't be read: {error}") from None
    try:
        return StoredTokens.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, problem["loc"])) or "file"
        raise TokenError(f"--tokens: {path} is not a tokens file: {where}: {problem['msg']}") from None


def add_tokens(path: Path, tokens: Iterable[Token]) -> None:
    """Add tokens to a file, which is created if it does not exist."""
    with changed_tokens(path) as content:
        content.tokens += tokens


def digest(clear: str) -> bytes:
    """Return the hash of a secret."""
    # A slow hash protects secrets that can be guessed. These have 256 random bits: no attacker
    # can guess one, at any cost of a try; and SHA-256 costs a call a microsecond.
    return hashlib.sha256(clear.encode()).digest()


def read_or_empty(path: Path) -> StoredTokens:
    """Read a tokens file; without one, there are no tokens. Other errors are those of `read_tokens_file`."""
    try:
        return read_tokens_file(path)
    except FileNotFoundError:
        return StoredTokens()


@contextmanager
def changed_tokens(path: Path) -> Iterator[StoredTokens]:
    """Yield what a tokens file holds, to be changed while nothing else may; an error keeps it."""
    with locked_tokens(path):
        content = read_or_empty(path)
        yield content
        write_tokens(path, content)


def locked_tokens(path: Path) -> FileLock:
    """Return what keeps other commands and servers from changing a file."""
    resolved = path.resolve()
    resolved.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return FileLock(resolved.with_name(f".{resolved.name}.lock"), mode=0o600)


def write_tokens(path: Path, content: StoredTokens) -> FileStamp:
    """Replace a file in one step, also behind a symbolic link; only its owner may read it.

    Returns the stamp of what was written.
    """
    with replacing(path, private=True) as partial:
        partial.write_text(f"{content.model_dump_json(indent=2)}\n", encoding="utf-8")
        return file_stamp(partial)
