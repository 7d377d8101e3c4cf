"""The tokens file of a server: read again whenever it changes, and changed by organisers, owners and guests.

Files that can't be used: TokenError. Functions that change a file take its path, or the `TokenFile` of a
server, which needn't read again what it knows.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TypeAlias, TypeVar

from happycity.errors import FieldError, HappyCityError
from happycity.match import name_key
from happycity_runtime.tokens import (
    ID_PATTERN,
    INVITATION_PREFIX,
    MAX_INVITED,
    PREFIX,
    AnsweredCall,
    Invitation,
    Role,
    StoredTokens,
    Token,
    TokenError,
    changed_tokens,
    digest,
    locked_tokens,
    new_secret,
    new_token,
    read_or_empty,
    read_tokens_file,
    write_tokens,
)
from happycity_runtime.transport import FileStamp, file_stamp
from happycity_server.access.spare_descriptors import SpareDescriptors

_TOKEN = re.compile(rf"({PREFIX}[a-z]?)_({ID_PATTERN})_[A-Za-z0-9_-]+")
REPEAT_TIME = timedelta(days=1)
"""For how long a call that was answered gets the same answer when it is repeated."""
REPEATS_OF_ONE, REPEATS = 64, 4096
"""Calls that made secrets and are remembered: of one token or invitation, and of all."""
_UNUSABLE = "the invitation is unknown, used or expired; ask the organiser for a new one"
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


@dataclass(frozen=True, slots=True)
class SecretCall:
    """What makes secrets for a caller: those of a call that is repeated are the same."""

    now: datetime
    shown: str = ""
    """The token or invitation that the caller shows."""
    request_id: str = ""
    """Chosen by the caller at random; "" for a call that can't be repeated."""

    @property
    def sha256(self) -> str:
        """The hash of what the caller shows."""
        return digest(self.shown).hex()

    def source(self, content: StoredTokens, *asked: object) -> tuple[Callable[[], bytes], bool]:
        """Return what makes the random bytes of each secret, and whether the call was answered before.

        The bytes of a call with a request id follow from what it shows, its id and a salt, and only the salt
        is kept, for `REPEAT_TIME`.
        """
        if not self.request_id:
            return lambda: secrets.token_bytes(64), False
        call = digest(json.dumps([self.shown, self.request_id, *asked])).hex()
        kept = [one for one in content.answered if self.now - one.at < REPEAT_TIME]
        known = next((one for one in kept if one.call == call), None)
        answered = known or AnsweredCall(
            sha256=self.sha256, call=call, salt=secrets.token_hex(32), at=self.now
        )
        if known is None:
            own = [one for one in kept if one.sha256 == self.sha256]
            extra = own[: max(0, len(own) - REPEATS_OF_ONE + 1)]
            kept = [*(one for one in kept if one not in extra), answered]
        content.answered = kept[-REPEATS:]
        key, numbers = json.dumps([self.shown, self.request_id, answered.salt]).encode(), count()
        return lambda: hmac.digest(key, b"%d" % next(numbers), "sha512"), known is not None


def new_invitation(
    owner: str,
    bots: int,
    *,
    created: datetime,
    expires: datetime | None = None,
    source: Callable[[], bytes] | None = None,
) -> tuple[str, Invitation]:
    """Make an invitation; return its text, which is stored nowhere, and what is stored of it.

    ConfigError if the owner is not a line of text, or it is for no bot or too many.
    """
    if not 1 <= bots <= MAX_INVITED:
        raise FieldError("bots", f"{bots} is not a number of bots from 1 to {MAX_INVITED}")
    clear, kept = new_secret(INVITATION_PREFIX, source)
    return clear, Invitation(**kept, owner=owner, bots=bots, created=created, expires=expires)


def add_invitation(
    file: File, owner: str, bots: int, *, seconds: int, call: SecretCall
) -> tuple[str, Invitation]:
    """Add a new invitation to a file, and remove expired ones; return its text, and what is stored of it.

    Errors are those of `new_invitation`, and an InvitationError if the call is repeated, and the invitation
    was used or revoked meanwhile.
    """
    with _changed(file) as content:
        source, is_repeated = call.source(content, "invite", owner, bots, seconds)
        until = call.now + timedelta(seconds=seconds)
        clear, made = new_invitation(owner, bots, created=call.now, expires=until, source=source)
        if is_repeated:
            problem = InvitationError("the invitation that this call made was used or revoked meanwhile")
            return clear, _of_id(content.invitations, made.id, problem)
        content.invitations = [*(one for one in content.invitations if one.is_valid(call.now)), made]
    return clear, made


def revoke_invitation(file: File, invitation_id: str) -> Invitation:
    """Remove an invitation from a file and return it; InvitationError if no invitation has this id."""
    with _changed(file) as content:
        text = f"there is no invitation {_shown(invitation_id, file)}; see: happycity invite list"
        return _taken(content.invitations, invitation_id, InvitationError(text))


def accept_invitation(
    file: File, bots: Sequence[str], call: SecretCall
) -> tuple[str, list[tuple[str, Token]]]:
    """Replace the invitation that a call shows by a token for each of some bots.

    Returns the owner, and the tokens in clear. Older tokens that the same owner has for these bots are
    removed. After an error the file is as it was.

    Raises:
        InvitationError: it is unknown, used or expired, or the call's tokens were revoked since.
        ConfigError: there is no bot, one is named twice, or there are more than the invitation is for.
        NameTakenError: a name is that of another owner's bot.
        TokenError: the file can't be used.
    """
    now, unusable = call.now, InvitationError(_UNUSABLE)
    with _changed(file) as content:
        source, is_repeated = call.source(content, "join", *bots)
        if is_repeated:
            texts = [new_secret(PREFIX, source) for _ in bots]
            made = [(clear, _of_id(content.tokens, kept["id"], unusable)) for clear, kept in texts]
            return made[0][1].owner, made
        invitation = next((one for one in content.invitations if one.is_of(call.shown)), None)
        if invitation is None or not invitation.is_valid(now):
            raise unusable
        taken = set(map(name_key, bots))
        if not 1 <= len(bots) <= invitation.bots or len(taken) < len(bots):
            raise FieldError("bots", f"name 1 to {invitation.bots} different bots, not {len(bots)}")
        owner, others = invitation.owner, []
        for one in content.tokens:
            if one.role is not Role.BOT or name_key(one.name) not in taken:
                others.append(one)
            elif one.owner != owner:
                raise NameTakenError(f"the name {one.name!r} belongs to another owner's bot; choose another")
        made = [new_token(Role.BOT, name, created=now, owner=owner, source=source) for name in bots]
        content.tokens = [*others, *(token for _, token in made)]
        content.invitations.remove(invitation)
    return owner, made


def renew_token(file: File, old: Token, call: SecretCall) -> tuple[str, Token]:
    """Add a token with the role, name, owner and end of an old one, which ends at the new one's first use.

    Returns it in clear and as stored. Another that was to replace the same one and was not used is removed.
    TokenError if one of the two is not there any more.
    """
    with _changed(file) as content:
        gone = TokenError(f"the token {old.id} was revoked")
        source, is_repeated = call.source(content, "renew", old.id)
        known = _of_id(content.tokens, old.id, gone)
        replaced = known.replaces or known.id
        clear, made = new_token(
            old.role, old.name, created=call.now, expires=old.expires, owner=old.owner, source=source
        )
        if is_repeated:
            return clear, _of_id(content.tokens, made.id, gone)
        unused = {one.id for one in content.tokens if one.replaces == replaced}
        content.tokens = [one for one in content.tokens if one.id not in unused]
        made = made.model_copy(update={"replaces": replaced})
        content.tokens.append(made)
    return clear, made


def confirm_token(file: File, token: Token) -> None:
    """Remove the token that one replaces which was shown; TokenError if the file can't be used."""
    with _changed(file) as content:
        content.tokens = [
            one.model_copy(update={"replaces": ""}) if one.id == token.id else one
            for one in content.tokens
            if one.id != token.replaces
        ]


def revoke_token(file: File, token_id: str) -> Token:
    """Remove a token, and the one that it was to replace; return what it was, TokenError if there is none."""
    with _changed(file) as content:
        text = f"there is no token {_shown(token_id, file)}; see: happycity token list"
        revoked = _taken(content.tokens, token_id, TokenError(text))
        content.tokens = [one for one in content.tokens if one.id != revoked.replaces]
        return revoked


def _shown(own_id: str, file: File) -> str:
    """Return an id for an error, and the file to which a command belongs; a server tells no paths."""
    return f"{redacted(own_id)[:40]!r}" + (f" in {file}" if isinstance(file, Path) else "")


def _of_id(stored: list[_Kept], own_id: str, problem: TokenError) -> _Kept:
    """Return what has an id of a list; raise the problem if nothing has."""
    for one in stored:
        if one.id == own_id:
            return one
    raise problem


def _taken(stored: list[_Kept], own_id: str, problem: TokenError) -> _Kept:
    """Remove what has an id from a list, and return it; raise the problem if nothing has."""
    one = _of_id(stored, own_id, problem)
    stored.remove(one)
    return one


def rename_owner(file: File, owner: str, new_owner: str | None) -> int:
    """Give an owner's invitations and tokens of bots to another name; return how many there are.

    Without a new name they are removed. ConfigError if another owner has that name already.
    """

    def changed(kept: list[_Kept], own: list[_Kept]) -> list[_Kept]:
        renamed = [] if new_owner is None else [one.model_copy(update={"owner": new_owner}) for one in own]
        return [one for one in kept if one not in own] + renamed

    with _changed(file) as content:
        tokens = [one for one in content.tokens if (one.role, one.owner) == (Role.BOT, owner)]
        invitations = [one for one in content.invitations if one.owner == owner]
        others = {token.owner for token in content.tokens} | {one.owner for one in content.invitations}
        if new_owner in others and (tokens or invitations):
            raise FieldError("new_owner", f"{new_owner!r} is another participant; choose another name")
        content.tokens = changed(content.tokens, tokens)
        content.invitations = changed(content.invitations, invitations)
    return len(tokens) + len(invitations)


class TokenFile:
    """The tokens of a file as they are at the moment: it is read again whenever it changed."""

    def __init__(self, path: Path) -> None:
        """Read the file; errors are those of `read_tokens_file`."""
        self.path = path
        self._spare = SpareDescriptors()
        self._problem = ""
        stamp = file_stamp(path)
        self._take(read_tokens_file(path), stamp)

    @property
    def has_changed(self) -> bool:
        """Whether the file is not the one that was read."""
        return file_stamp(self.path) != self._stamp

    def refresh(self) -> bool:
        """Read the file if it changed; return whether it did. Any thread may call it.

        A missing file holds no tokens. A malformed one changes nothing, as a slip of an editor should not
        end a tournament. It is tried again at the next call, like one that can't be read now; each problem
        is raised once, as a TokenError.
        """
        stamp = file_stamp(self.path)
        if stamp == self._stamp:
            return False
        try:
            with self._spare.used():
                content = read_or_empty(self.path)
        except TokenError as error:
            if str(error) == self._problem:
                return False
            self._problem = str(error)
            raise
        self._problem = ""
        self._take(content, stamp)
        return True

    def _take(self, content: StoredTokens, stamp: FileStamp) -> None:
        """Know the content of the file that has a stamp."""
        self._content, self._stamp = content, stamp
        self._tokens = {token.id: token for token in content.tokens}
        self._invitations = {one.id: one for one in content.invitations}
        self._repeatable = {one.sha256 for one in content.answered}
        self._of_owner: dict[str, list[Token]] = {}
        self._newest: dict[str, Token] = {}
        for token in sorted(content.tokens, key=lambda token: token.created):
            if token.role is Role.BOT:
                self._of_owner.setdefault(token.owner, []).append(token)
                self._newest[token.name] = token

    @contextmanager
    def changed(self) -> Iterator[StoredTokens]:
        """Yield the file's content to be changed; what it is then is known without reading it."""
        with self._spare.used(), locked_tokens(self.path):
            self.refresh()
            if self.has_changed:
                raise TokenError(self._problem)
            lists = {name: [*getattr(self._content, name)] for name in ("tokens", "invitations", "answered")}
            content = self._content.model_copy(update=lists)
            yield content
            self._take(content, write_tokens(self.path, content))

    def __len__(self) -> int:
        return len(self._tokens)

    def check_invitation(self, call: SecretCall) -> None:
        """Require that a call shows an invitation that is valid, or that it could be a repeated one.

        InvitationError if it shows nothing that the file knows; that costs no look at the file.
        """
        invitation = self._invitations.get(token_id(call.shown) or "")
        is_valid = invitation is not None and invitation.is_of(call.shown) and invitation.is_valid(call.now)
        if not is_valid and not (call.request_id and call.sha256 in self._repeatable):
            raise InvitationError(_UNUSABLE)

    @property
    def invitations(self) -> Sequence[Invitation]:
        """The invitations that no guest has used, oldest first."""
        return self._content.invitations

    def find(self, clear: str, now: datetime) -> Token | None:
        """Return the token that a caller shows; None if it is unknown or has expired."""
        claimed = token_id(clear)
        kept = self._tokens.get(claimed) if claimed else None
        # The id is no secret, so only the rest has to be compared in constant time.
        if kept is None or not kept.is_of(clear):
            return None
        return kept if kept.is_valid(now) else None

    def end_replaced(self, token: Token) -> bool:
        """End the token that one replaces which is shown; return whether `confirm_token` is to store that."""
        return self._tokens.pop(token.replaces, None) is not None

    def of_owner(self, owner: str) -> Sequence[Token]:
        """Return the tokens of an owner's bots, oldest first."""
        return [token for token in self._of_owner.get(owner, ()) if token.id in self._tokens]

    def owner_of(self, bot: str) -> str | None:
        """Return who owns a bot, by the newest of its tokens; None if it has none."""
        newest = self._newest.get(bot)
        return None if newest is None else newest.owner

    def bots(self, now: datetime) -> set[str]:
        """Return the names of the bots that have a valid token."""
        return {one.name for one in self._tokens.values() if one.role is Role.BOT and one.is_valid(now)}

    def is_unchanged(self, token: Token, now: datetime) -> bool:
        """Return whether a token that was found earlier would be found again."""
        kept, others = self._tokens.get(token.id), {"owner": token.owner, "replaces": token.replaces}
        is_same = kept is not None and kept.model_copy(update=others) == token
        return is_same and token.is_valid(now)


File: TypeAlias = Path | TokenFile
"""A tokens file that is to be changed."""


def _changed(file: File) -> AbstractContextManager[StoredTokens]:
    """Return what a tokens file holds, to be changed while nothing else may; an error keeps it."""
    return file.changed() if isinstance(file, TokenFile) else changed_tokens(file)
