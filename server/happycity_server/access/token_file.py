"""The tokens file of a server: read again whenever it changes, and changed by organisers, owners and guests.

Files that can't be used: TokenError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from happycity.errors import ConfigError, HappyCityError
from happycity.match import name_key
from happycity.runtime.files import SpareDescriptors
from happycity.runtime.tokens import (
    ID_PATTERN,
    INVITATION_PREFIX,
    MAX_INVITED,
    PREFIX,
    Invitation,
    Role,
    Token,
    TokenError,
    changed_tokens,
    new_secret,
    new_token,
    read_or_empty,
    read_tokens_file,
)
from happycity.runtime.transport import file_stamp

_TOKEN = re.compile(rf"({PREFIX}[a-z]?)_({ID_PATTERN})_[A-Za-z0-9_-]+")
_T = TypeVar("_T")
_Kept = TypeVar("_Kept", Token, Invitation)


class InvitationError(TokenError):
    """An invitation is unknown, used or expired."""


class NameTakenError(HappyCityError):
    """A guest's bot would have the name of another owner's bot."""


def token_id(clear: str) -> str | None:
    """Return the part of a token or invitation that may be logged; None if it is malformed."""
    match = _TOKEN.fullmatch(clear)
    return match[2] if match else None


def redacted(text: str) -> str:
    """Return a text without what `new_secret` has made in it, but for the ids."""
    return _TOKEN.sub(r"\1_\2_***", text)


def new_invitation(
    owner: str, bots: int, *, created: datetime, expires: datetime | None = None
) -> tuple[str, Invitation]:
    """Make an invitation; return its text, which is stored nowhere, and what is stored of it.

    Raises:
        ConfigError: the owner is not a line of text, or it is for no bot or too many.
    """
    if not 1 <= bots <= MAX_INVITED:
        raise ConfigError(f"bots: {bots} is not a number of bots from 1 to {MAX_INVITED}")
    clear, kept = new_secret(INVITATION_PREFIX)
    return clear, Invitation(**kept, owner=owner, bots=bots, created=created, expires=expires)


def add_invitation(path: Path, invitation: Invitation) -> None:
    """Add an invitation to a file, which is created if it does not exist; expired ones are removed."""
    with changed_tokens(path) as content:
        kept = [one for one in content.invitations if one.is_valid(invitation.created)]
        content.invitations = [*kept, invitation]


def revoke_invitation(path: Path, invitation_id: str) -> Invitation:
    """Remove an invitation from a file; return what it was.

    Raises:
        InvitationError: there is no such invitation.
        TokenError: the file can't be used.
    """
    with changed_tokens(path) as content:
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
    with changed_tokens(path) as content:
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
    with changed_tokens(path) as content:
        if old not in content.tokens:
            raise TokenError(f"the token {old.id} was revoked")
        content.tokens[content.tokens.index(old)] = made[1]
    return made


def revoke_token(path: Path, token_id: str) -> Token:
    """Remove a token from a file; return what it was.

    Raises:
        TokenError: there is no such token, or the file can't be used.
    """
    with changed_tokens(path) as content:
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

    with changed_tokens(path) as content:
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
            tokens = self.call(read_or_empty).tokens
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
