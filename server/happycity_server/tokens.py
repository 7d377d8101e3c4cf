"""Bearer tokens: who may call, kept as hashes in a file that is read again when it changes."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from happycity.errors import HappyCityError
from happycity.terms import BOT_NAME
from happycity_server.bearer import ID_PATTERN, new_clear, redacted, token_id

FORMAT: Literal["happycity-tokens/1"] = "happycity-tokens/1"


class TokenError(HappyCityError):
    """A tokens file can't be used, or a token can't be made or revoked."""


class Role(Enum):
    """What a caller may do."""

    BOT = "bot"
    """Play under its own name, and look at what is public for bots."""
    OBSERVER = "observer"
    """Look at everything, also at matches while they run."""
    ORGANISER = "organiser"
    """Set up and stop matches and tournaments, and look at everything."""


class Token(BaseModel):
    """A token as it is kept: all but its secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=f"^{ID_PATTERN}$")
    """Part of the token; the only part that may be logged."""
    role: Role
    name: str = Field(pattern=f"^{BOT_NAME.pattern}$")
    """Of the bot, which may play under no other; for other roles, whose token it is."""
    created: AwareDatetime
    expires: AwareDatetime | None = None
    """From when on it is void; None is never."""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Of the whole token."""

    def is_valid(self, now: datetime) -> bool:
        """Tell whether the token has not expired."""
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
            raise ValueError("an id comes twice")
        return self


def new_token(role: Role, name: str, *, created: datetime, expires: datetime | None) -> tuple[str, Token]:
    """Make a token; return it in clear, which is kept nowhere, and as it is kept."""
    own_id, clear = new_clear()
    kept = Token(
        id=own_id, role=role, name=name, created=created, expires=expires, sha256=_digest(clear).hex()
    )
    return clear, kept


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Read a tokens file.

    Raises:
        FileNotFoundError: there is none.
        TokenError: it can't be read, or is none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise TokenError(f"tokens: {path} can't be read: {error}") from None
    try:
        return tuple(_Content.model_validate_json(text).tokens)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, problem["loc"])) or "file"
        raise TokenError(f"tokens: {path} is no tokens file: {where}: {problem['msg']}") from None


def create_token(
    path: Path, role: Role, name: str, *, created: datetime, expires: datetime | None = None
) -> tuple[str, Token]:
    """Add a token to a file, which is made if it isn't there; return it in clear and as it is kept.

    Raises:
        TokenError: the name is none, or the file can't be used.
    """
    try:
        clear, kept = new_token(role, name, created=created, expires=expires)
    except ValidationError:
        raise TokenError(f"name: {name[:80]!r} is not 1 to 64 letters, digits or any of . _ - +") from None
    with _locked(path):
        _write(path, (*_read_or_none(path), kept))
    return clear, kept


def revoke_token(path: Path, wanted: str) -> Token:
    """Take the token of an id out of a file; return what it was.

    Raises:
        TokenError: there is none of this id, or the file can't be used.
    """
    with _locked(path):
        tokens = _read_or_none(path)
        for token in tokens:
            if token.id == wanted:
                _write(path, [other for other in tokens if other is not token])
                return token
    raise TokenError(f"there is no token {redacted(wanted)[:40]!r} in {path}; see: happycity token list")


class TokenFile:
    """The tokens of a file as they are at the moment: it is read again whenever it changed."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            FileNotFoundError: there is none.
            TokenError: it can't be used.
        """
        self.path = path
        self._stamp = _stamp(path)
        self._tokens = {token.id: token for token in read_tokens(path)}

    def refresh(self) -> bool:
        """Read the file if it changed; tell whether it did.

        A file that is gone holds no tokens. From one that makes no sense nothing is taken over, as a slip of
        an editor should not end a tournament.

        Raises:
            TokenError: the file makes no sense now; this is told once for each change.
        """
        stamp = _stamp(self.path)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self._tokens = {token.id: token for token in _read_or_none(self.path)}
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

    def still_holds(self, token: Token, now: datetime) -> bool:
        """Tell whether a token that was found earlier would be found again."""
        return self._tokens.get(token.id) == token and token.is_valid(now)


def _digest(clear: str) -> bytes:
    # A slow hash protects secrets that can be guessed. This one has 256 bits of chance: nobody finds it by
    # trying, whatever a try costs; and SHA-256 costs a call a microsecond.
    return hashlib.sha256(clear.encode()).digest()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with a file; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _read_or_none(path: Path) -> tuple[Token, ...]:
    try:
        return read_tokens(path)
    except FileNotFoundError:
        return ()


def _write(path: Path, tokens: Iterator[Token] | list[Token] | tuple[Token, ...]) -> None:
    """Replace a tokens file in one step, behind a link to it too; only its owner may read it."""
    path = path.resolve()
    content = _Content(tokens=list(tokens)).model_dump(mode="json")
    # mkstemp makes files of mode 0600.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other commands from changing the file at the same time."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":  # has no such lock; two commands at once are the user's to avoid there
        yield
        return
    import fcntl  # noqa: PLC0415 - not everywhere

    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
