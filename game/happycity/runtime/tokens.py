"""Bearer tokens: who may call, kept as hashes in a file that is read again when it changes.

A token is `hc_`, an id that may be seen, and a secret that may not. Files that can't be used: TokenError.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

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

from happycity.errors import HappyCityError
from happycity.match import check_bot_name
from happycity.runtime.files import replacing
from happycity.runtime.transport import file_stamp

PREFIX = "hc"
"""What every token begins with, so that scanners for secrets can find them."""
SECRET_BYTES = 32
ID_BYTES = 4
ID_PATTERN = f"[0-9a-f]{{{2 * ID_BYTES}}}"

FORMAT: Literal["happycity-tokens/1"] = "happycity-tokens/1"

_TOKEN = re.compile(rf"{PREFIX}_({ID_PATTERN})_[A-Za-z0-9_-]+")


class TokenError(HappyCityError):
    """A tokens file can't be used, or a token can't be made or revoked."""


def token_id(clear: str) -> str | None:
    """Return the part of a token that may be logged; None if it is malformed."""
    match = _TOKEN.fullmatch(clear)
    return match[1] if match else None


def redacted(text: str) -> str:
    """Return a text without the secrets of tokens in it."""
    return _TOKEN.sub(rf"{PREFIX}_\1_***", text)


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


class Token(BaseModel):
    """A token as it is kept: all but its secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=f"^{ID_PATTERN}$")
    """Part of the token; the only part that may be logged."""
    role: Role
    name: Annotated[str, AfterValidator(check_bot_name)]
    """Name of the bot, which may play under no other; for other roles, of the token's owner."""
    owner: Annotated[str, AfterValidator(check_bot_name)] = Field(default_factory=lambda read: read["name"])
    """Who answers for the bot: a ladder's limits and its pairing go by owner. By default the token's name,
    also in files of versions without owners."""
    created: AwareDatetime
    expires: AwareDatetime | None = None
    """When it ceases to be valid; None: never."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Hash of the whole token."""

    def is_valid(self, now: datetime) -> bool:
        """Return whether the token has not expired."""
        return self.expires is None or now < self.expires


class _Content(BaseModel):
    """A tokens file."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["happycity-tokens/1"] = FORMAT
    tokens: list[Token] = []

    @model_validator(mode="after")
    def _ids_are_unique(self) -> _Content:
        ids = [token.id for token in self.tokens]
        if len(set(ids)) < len(ids):
            raise ValueError("two tokens have the same id")
        return self


def new_token(
    role: Role, name: str, *, created: datetime, expires: datetime | None = None, owner: str = ""
) -> tuple[str, Token]:
    """Make a token; return its text, which is stored nowhere, and what is stored of it.

    Without an owner, it belongs to its name.

    Raises:
        ConfigError: the name or the owner is not one that a bot may have.
    """
    own_id = secrets.token_hex(ID_BYTES)
    clear = f"{PREFIX}_{own_id}_{secrets.token_urlsafe(SECRET_BYTES)}"
    return clear, Token(
        id=own_id,
        role=role,
        name=name,
        owner=owner or name,
        created=created,
        expires=expires,
        sha256=_digest(clear).hex(),
    )


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Read a tokens file.

    Raises:
        FileNotFoundError: there is none.
        TokenError: it can't be read, or is not a tokens file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise TokenError(f"--tokens: {path} can't be read: {error}") from None
    try:
        return tuple(_Content.model_validate_json(text).tokens)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, problem["loc"])) or "file"
        raise TokenError(f"--tokens: {path} is not a tokens file: {where}: {problem['msg']}") from None


def add_tokens(path: Path, tokens: Iterable[Token]) -> None:
    """Add tokens to a file, which is created if it does not exist."""
    with _locked(path):
        _write(path, (*_read_or_none(path), *tokens))


def revoke_token(path: Path, token_id: str) -> Token:
    """Remove a token from a file; return what it was.

    Raises:
        TokenError: there is no such token, or the file can't be used.
    """
    with _locked(path):
        tokens = _read_or_none(path)
        for token in tokens:
            if token.id == token_id:
                _write(path, [other for other in tokens if other is not token])
                return token
    raise TokenError(f"there is no token {redacted(token_id)[:40]!r} in {path}; see: happycity token list")


class TokenFile:
    """The tokens of a file as they are at the moment: it is read again whenever it changed."""

    def __init__(self, path: Path) -> None:
        """Read the file; errors are those of `read_tokens`."""
        self.path = path
        self._stamp = file_stamp(path)
        self._problem = ""
        self._tokens = {token.id: token for token in read_tokens(path)}

    def refresh(self) -> bool:
        """Read the file if it changed; return whether it did.

        A missing file holds no tokens. A malformed one changes nothing, as a slip of an editor should not
        end a tournament. It is tried again at the next call, like one that can't be read now.

        Raises:
            TokenError: the file is malformed or can't be read; each problem is raised once.
        """
        stamp = file_stamp(self.path)
        if stamp == self._stamp:
            return False
        try:
            tokens = _read_or_none(self.path)
        except TokenError as error:
            if str(error) == self._problem:
                return False
            self._problem = str(error)
            raise
        self._stamp, self._problem = stamp, ""
        self._tokens = {token.id: token for token in tokens}
        return True

    def __len__(self) -> int:
        return len(self._tokens)

    def find(self, clear: str, now: datetime) -> Token | None:
        """Return the token that a caller shows; None if it is unknown or has expired."""
        claimed = token_id(clear)
        kept = self._tokens.get(claimed) if claimed else None
        # The id is no secret, so only the rest has to be compared in constant time.
        if kept is None or not hmac.compare_digest(_digest(clear), bytes.fromhex(kept.sha256)):
            return None
        return kept if kept.is_valid(now) else None

    def owner_of(self, bot: str) -> str:
        """Return who owns a bot, by the newest of its tokens; the bot's own name if it has none."""
        own = [token for token in self._tokens.values() if token.role is Role.BOT and token.name == bot]
        return max(own, key=lambda token: token.created).owner if own else bot

    def still_holds(self, token: Token, now: datetime) -> bool:
        """Return whether a token that was found earlier would be found again."""
        return self._tokens.get(token.id) == token and token.is_valid(now)


def _digest(clear: str) -> bytes:
    # A slow hash protects secrets that can be guessed. These have 256 random bits: no attacker
    # can guess one, at any cost of a try; and SHA-256 costs a call a microsecond.
    return hashlib.sha256(clear.encode()).digest()


def _read_or_none(path: Path) -> tuple[Token, ...]:
    try:
        return read_tokens(path)
    except FileNotFoundError:
        return ()


def _write(path: Path, tokens: Iterable[Token]) -> None:
    """Replace a tokens file in one step, also behind a symbolic link; only its owner may read it."""
    content = _Content(tokens=list(tokens)).model_dump(mode="json")
    with replacing(path, private=True) as partial:
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _locked(path: Path) -> FileLock:
    """Return a lock that keeps other commands from changing the file at the same time."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path.with_name(f".{path.name}.lock"))
