"""Bearer tokens and invitations: who may call, kept as hashes in a file that is read again when it changes.

A token is `hc_`, an id that may be seen, and a secret that may not; an invitation is the same with `hci_`.
Other secrets have other letters and the same form, by which the log leaves them out.
Files that can't be used: TokenError.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

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
from happycity.match import check_bot_spelling, name_key, one_line
from happycity.runtime.files import SpareDescriptors, read_text, replacing
from happycity.runtime.transport import file_stamp

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


_TOKEN = re.compile(rf"({PREFIX}[a-z]?)_({ID_PATTERN})_[A-Za-z0-9_-]+")


class TokenError(HappyCityError):
    """A tokens file can't be used, or a token can't be made or revoked."""


class InvitationError(TokenError):
    """An invitation is unknown, used or expired."""


class NameTakenError(HappyCityError):
    """A guest's bot would have the name of another owner's bot."""


def check_owner(owner: str) -> str:
    """Return the name of an owner, which people read; ConfigError if it can't be one."""
    if not 1 <= len(owner) <= MAX_OWNER or owner != one_line(owner):
        raise ConfigError(f"owner {owner[:80]!r}: use 1-{MAX_OWNER} printable characters, such as 'Team 7'")
    return owner


def token_id(clear: str) -> str | None:
    """Return the part of a token or invitation that may be logged; None if it is malformed."""
    match = _TOKEN.fullmatch(clear)
    return match[2] if match else None


def redacted(text: str) -> str:
    """Return a text without what `new_secret` has made in it, but for the ids."""
    return _TOKEN.sub(r"\1_\2_***", text)


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


class _Secret(BaseModel):
    """What is kept of a token or an invitation: all but its secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
        return hmac.compare_digest(_digest(clear), bytes.fromhex(self.sha256))


_Kept = TypeVar("_Kept", bound=_Secret)
_T = TypeVar("_T")


class Token(_Secret):
    """A token as it is kept."""

    role: Role
    name: Annotated[str, AfterValidator(check_bot_spelling)]
    """Name of the bot, which may play under no other; for other roles, of the token's owner."""
    owner: Annotated[str, AfterValidator(check_owner)] = Field(default_factory=lambda read: read["name"])
    """Who answers for the bot: a ladder's limits and its pairing go by owner. By default the token's name,
    also in files of versions without owners."""


class Invitation(_Secret):
    """An invitation that is not used yet, as it is kept."""

    owner: Annotated[str, AfterValidator(check_owner)]
    """Who will answer for the bots of the guest."""
    bots: int = Field(ge=1, le=MAX_INVITED)
    """How many bots the guest may name."""


class StoredTokens(BaseModel):
    """The content of a tokens file."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["happycity-tokens/1"] = "happycity-tokens/1"
    tokens: list[Token] = []
    invitations: list[Invitation] = []

    @model_validator(mode="after")
    def _ids_are_unique(self) -> StoredTokens:
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
        ConfigError: the name is not one that a bot may have, or the owner is not a line of text.
    """
    clear, kept = _new_secret(PREFIX)
    return clear, Token(**kept, role=role, name=name, owner=owner or name, created=created, expires=expires)


def new_invitation(
    owner: str, bots: int, *, created: datetime, expires: datetime | None = None
) -> tuple[str, Invitation]:
    """Make an invitation; return its text, which is stored nowhere, and what is stored of it.

    Raises:
        ConfigError: the owner is not a line of text, or it is for no bot or too many.
    """
    if not 1 <= bots <= MAX_INVITED:
        raise ConfigError(f"bots: {bots} is not a number of bots from 1 to {MAX_INVITED}")
    clear, kept = _new_secret(INVITATION_PREFIX)
    return clear, Invitation(**kept, owner=owner, bots=bots, created=created, expires=expires)


def new_secret(prefix: str = PREFIX) -> str:
    """Return a text that proves something; `redacted` knows it by its form."""
    return f"{prefix}_{secrets.token_hex(ID_BYTES)}_{secrets.token_urlsafe(SECRET_BYTES)}"


def _new_secret(prefix: str) -> tuple[str, dict[str, Any]]:
    """Return a text, and the fields of what is kept of it."""
    clear = new_secret(prefix)
    return clear, {"id": token_id(clear), "sha256": _digest(clear).hex()}


def read_tokens_file(path: Path) -> StoredTokens:
    """Read a tokens file.

    Raises:
        FileNotFoundError: there is none.
        TokenError: it can't be read, or is not a tokens file.
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
    with _changed(path) as content:
        content.tokens += tokens


def add_invitation(path: Path, invitation: Invitation) -> None:
    """Add an invitation to a file, which is created if it does not exist; expired ones are removed."""
    with _changed(path) as content:
        kept = [one for one in content.invitations if one.is_valid(invitation.created)]
        content.invitations = [*kept, invitation]


def revoke_invitation(path: Path, invitation_id: str) -> Invitation:
    """Remove an invitation from a file; return what it was.

    Raises:
        InvitationError: there is no such invitation.
        TokenError: the file can't be used.
    """
    with _changed(path) as content:
        text = (
            f"there is no invitation {redacted(invitation_id)[:40]!r} in {path}; see: happycity invite list"
        )
        return _taken(content.invitations, invitation_id, InvitationError(text))


def accept_invitation(
    path: Path, clear: str, bots: Sequence[str], *, now: datetime
) -> tuple[str, list[tuple[str, Token]]]:
    """Replace an invitation by a token for each of some bots; return the owner, and the tokens in clear.

    Older tokens that the same owner has for these bots are removed. After an error the file is as it was.

    Raises:
        InvitationError: it is unknown, used or expired.
        ConfigError: there is no bot, one is named twice, or there are more than the invitation is for.
        NameTakenError: a name is that of another owner's bot.
        TokenError: the file can't be used.
    """
    with _changed(path) as content:
        invitation = next((one for one in content.invitations if one.is_of(clear)), None)
        if invitation is None or not invitation.is_valid(now):
            raise InvitationError(
                "the invitation is unknown, used or expired; ask the organiser for a new one"
            )
        taken = set(map(name_key, bots))
        if not 1 <= len(bots) <= invitation.bots or len(taken) < len(bots):
            raise ConfigError(f"bots: name 1 to {invitation.bots} different bots, not {len(bots)}")
        owner, others = invitation.owner, []
        for one in content.tokens:
            if one.role is not Role.BOT or name_key(one.name) not in taken:
                others.append(one)
            elif one.owner != owner:
                raise NameTakenError(f"the name {one.name!r} belongs to another owner's bot; choose another")
        made = [new_token(Role.BOT, name, created=now, owner=owner) for name in bots]
        content.tokens = [*others, *(token for _, token in made)]
        content.invitations.remove(invitation)
    return owner, made


def renew_token(path: Path, old: Token, *, now: datetime) -> tuple[str, Token]:
    """Replace a token by a new one with the same role, name, owner and end; return it in clear and as stored.

    Raises:
        TokenError: the token is not there any more, or the file can't be used.
    """
    made = new_token(old.role, old.name, created=now, expires=old.expires, owner=old.owner)
    with _changed(path) as content:
        if old not in content.tokens:
            raise TokenError(f"the token {old.id} was revoked")
        content.tokens[content.tokens.index(old)] = made[1]
    return made


def revoke_token(path: Path, token_id: str) -> Token:
    """Remove a token from a file; return what it was.

    Raises:
        TokenError: there is no such token, or the file can't be used.
    """
    with _changed(path) as content:
        text = f"there is no token {redacted(token_id)[:40]!r} in {path}; see: happycity token list"
        return _taken(content.tokens, token_id, TokenError(text))


def _taken(stored: list[_Kept], own_id: str, problem: TokenError) -> _Kept:
    """Remove what has an id from a list, and return it; raise the problem if nothing has."""
    for one in stored:
        if one.id == own_id:
            stored.remove(one)
            return one
    raise problem


def rename_owner(path: Path, owner: str, new_owner: str | None) -> int:
    """Give an owner's invitations and tokens of bots to another name; return how many there are.

    Without a new name they are removed.

    Raises:
        ConfigError: another owner has that name already.
    """

    def changed(kept: list[_Kept], own: list[_Kept]) -> list[_Kept]:
        renamed = [] if new_owner is None else [one.model_copy(update={"owner": new_owner}) for one in own]
        return [one for one in kept if one not in own] + renamed

    with _changed(path) as content:
        tokens = [one for one in content.tokens if (one.role, one.owner) == (Role.BOT, owner)]
        invitations = [one for one in content.invitations if one.owner == owner]
        others = {token.owner for token in content.tokens} | {one.owner for one in content.invitations}
        if new_owner in others and (tokens or invitations):
            raise ConfigError(f"new_owner: {new_owner!r} is another participant; choose another name")
        content.tokens = changed(content.tokens, tokens)
        content.invitations = changed(content.invitations, invitations)
    return len(tokens) + len(invitations)


class TokenFile:
    """The tokens of a file as they are at the moment: it is read again whenever it changed."""

    def __init__(self, path: Path) -> None:
        """Read the file; errors are those of `read_tokens_file`."""
        self.path = path
        self._spare = SpareDescriptors()
        self._stamp = file_stamp(path)
        self._problem = ""
        self._tokens = {token.id: token for token in read_tokens_file(path).tokens}

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
            tokens = self.call(_read_or_empty).tokens
        except TokenError as error:
            if str(error) == self._problem:
                return False
            self._problem = str(error)
            raise
        self._stamp, self._problem = stamp, ""
        self._tokens = {token.id: token for token in tokens}
        return True

    def call(self, function: Callable[..., _T], *arguments: object, **named: object) -> _T:
        """Return what a function of the file returns, also where the process has no descriptors left."""
        with self._spare.used():
            return function(self.path, *arguments, **named)

    def __len__(self) -> int:
        return len(self._tokens)

    def find(self, clear: str, now: datetime) -> Token | None:
        """Return the token that a caller shows; None if it is unknown or has expired."""
        claimed = token_id(clear)
        kept = self._tokens.get(claimed) if claimed else None
        # The id is no secret, so only the rest has to be compared in constant time.
        if kept is None or not kept.is_of(clear):
            return None
        return kept if kept.is_valid(now) else None

    def of_owner(self, owner: str) -> list[Token]:
        """Return the tokens of an owner's bots, oldest first."""
        own = [token for token in self._tokens.values() if (token.role, token.owner) == (Role.BOT, owner)]
        return sorted(own, key=lambda token: token.created)

    def owner_of(self, bot: str) -> str | None:
        """Return who owns a bot, by the newest of its tokens; None if it has none."""
        own = [token for token in self._tokens.values() if token.role is Role.BOT and token.name == bot]
        return max(own, key=lambda token: token.created).owner if own else None

    def bots(self, now: datetime) -> set[str]:
        """Return the names of the bots that have a valid token."""
        return {one.name for one in self._tokens.values() if one.role is Role.BOT and one.is_valid(now)}

    def still_holds(self, token: Token, now: datetime) -> bool:
        """Return whether a token that was found earlier would be found again."""
        kept = self._tokens.get(token.id)
        is_same = kept is not None and kept.model_copy(update={"owner": token.owner}) == token
        return is_same and token.is_valid(now)


def _digest(clear: str) -> bytes:
    # A slow hash protects secrets that can be guessed. These have 256 random bits: no attacker
    # can guess one, at any cost of a try; and SHA-256 costs a call a microsecond.
    return hashlib.sha256(clear.encode()).digest()


def _read_or_empty(path: Path) -> StoredTokens:
    try:
        return read_tokens_file(path)
    except FileNotFoundError:
        return StoredTokens()


@contextmanager
def _changed(path: Path) -> Iterator[StoredTokens]:
    """Yield what a tokens file holds, to be changed while no other command or server may; an error keeps it.

    The file is replaced in one step, also behind a symbolic link; only its owner may read it.
    """
    resolved = path.resolve()
    resolved.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(resolved.with_name(f".{resolved.name}.lock"), mode=0o600):
        content = _read_or_empty(path)
        yield content
        text = json.dumps(content.model_dump(mode="json"), indent=2)
        with replacing(path, private=True) as partial:
            partial.write_text(f"{text}\n", encoding="utf-8")
