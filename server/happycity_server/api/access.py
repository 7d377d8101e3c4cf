"""AccessService: invitations become tokens of bots, which their owner looks after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

from happycity.access.v1beta1 import access_service_pb2 as pb
from happycity.match import check_bot_name
from happycity.wire.moments import timestamp
from happycity_runtime.guests import Link
from happycity_runtime.tokens import MAX_INVITED, Invitation, Token, TokenError
from happycity_server.access.gate import FILE_CALLS
from happycity_server.access.roles import Principal, check_free_of_house, check_request_id
from happycity_server.access.token_file import (
    InvitationError,
    NameTakenError,
    SecretCall,
    TokenFile,
    accept_invitation,
    add_invitation,
    renew_token,
    revoke_invitation,
    revoke_token,
)
from happycity_server.api.paging import ListRequest
from happycity_server.errors import ApiError, Reason, invalid, within

MIN_REQUEST_ID = 16
"""Characters of a request id from which secrets follow, so that it can't be guessed."""
LIFETIME_SECONDS = 7 * 86400
"""How long an invitation is valid by default."""
_T = TypeVar("_T")
_MOST_SECONDS = 3650 * 86400


@dataclass(eq=False, repr=False)
class AccessService:
    """Changes the file of the tokens for organisers and guests, in threads, as it is locked and synced."""

    tokens: TokenFile | None
    """None on an open server."""
    house: Collection[str]
    """Names that no bot of a guest gets."""
    now: Callable[[], datetime]
    charge: Callable[[Principal, float], None]
    """Counts calls of a caller, or refuses them."""
    address: str = ""
    """The server's in links; "" if it is not known."""
    ca: Path | None = None
    """The certificate to trust in links."""
    _changing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def Join(self, caller: Principal, request: pb.JoinRequest) -> pb.JoinResponse:
        """Exchange an invitation for a token of each bot."""
        if len(request.bots) > MAX_INVITED:
            raise invalid("bots", f"{len(request.bots)} are more than the {MAX_INVITED} of any invitation")
        for name in request.bots:
            with within("bots"):
                check_bot_name(name)
            check_free_of_house(name, self.house)
        call = self._call(caller, request.request_id, request.invitation)
        tokens = self._file()
        if not tokens.has_changed:  # else the call says why it can't be read
            with token_refusals():
                tokens.check_invitation(call)
        owner, made = await self._change(accept_invitation, list(request.bots), call)
        return pb.JoinResponse(owner=owner, tokens=[_message(token, clear) for clear, token in made])

    async def ListTokens(self, caller: Principal, request: pb.ListTokensRequest) -> pb.ListTokensResponse:
        """List the tokens of the caller's owner, but for those that newer ones are to replace."""
        own = self._own_tokens(caller)
        replaced = {token.replaces for token in own}
        lasting = (token for token in own if token.id not in replaced)
        tokens, token = ListRequest(request).sorted_by(_by_age, lasting)
        return pb.ListTokensResponse(tokens=map(_message, tokens), next_page_token=token)

    async def RenewToken(self, caller: Principal, request: pb.RenewTokenRequest) -> pb.BotToken:
        """Replace a token of the caller's owner."""
        call = self._call(caller, request.request_id)
        old = self._own_token(caller, request.id or (caller.token.id if caller.token else ""))
        clear, token = await self._change(renew_token, old, call)
        return _message(token, clear)

    async def RevokeToken(self, caller: Principal, request: pb.RevokeTokenRequest) -> pb.RevokeTokenResponse:
        """End a token of the caller's owner."""
        token = self._own_token(caller, request.id)
        self.charge(caller, FILE_CALLS)
        await self._change(revoke_token, token.id)
        return pb.RevokeTokenResponse()

    async def CreateInvitation(
        self, caller: Principal, request: pb.CreateInvitationRequest
    ) -> pb.CreateInvitationResponse:
        """Create an invitation; return its link, which is stored nowhere."""
        call = self._call(caller, request.request_id)
        seconds = request.lifetime.seconds or LIFETIME_SECONDS
        if not 0 < seconds <= _MOST_SECONDS:
            raise invalid("lifetime", f"it is not from a second to {_MOST_SECONDS // 86400} days")
        if self.link() is None and self.tokens is not None:
            raise invalid("link", "the server doesn't know its address for guests; set --guest-address")
        clear, made = await self._change(
            add_invitation, request.owner, request.bots, seconds=seconds, call=call
        )
        return pb.CreateInvitationResponse(invitation=_invitation_message(made), link=str(self.link(clear)))

    async def ListInvitations(
        self, caller: Principal, request: pb.ListInvitationsRequest
    ) -> pb.ListInvitationsResponse:
        """List the invitations that no guest has used."""
        invitations, token = ListRequest(request).sorted_by(_by_age, self._file().invitations)
        messages = map(_invitation_message, invitations)
        return pb.ListInvitationsResponse(invitations=messages, next_page_token=token)

    async def RevokeInvitation(
        self, caller: Principal, request: pb.RevokeInvitationRequest
    ) -> pb.RevokeInvitationResponse:
        """End an invitation that no guest has used."""
        self.charge(caller, FILE_CALLS)
        await self._change(revoke_invitation, request.id)
        return pb.RevokeInvitationResponse()

    def link(self, secret: str = "") -> Link | None:
        """Return the link to this server of an invitation; None if the server's address is not known.

        ConfigError if the address or the certificate can't be used.
        """
        if not self.address:
            return None
        return Link.to(self.address, secret, ca=self.ca, setting="--guest-address")

    def _call(self, caller: Principal, request_id: str, shown: str = "") -> SecretCall:
        """Charge a call that makes secrets; return what they follow from if it has a request id."""
        if 0 < len(request_id) < MIN_REQUEST_ID:
            raise invalid("request_id", f"use at least {MIN_REQUEST_ID} random characters, such as a UUID")
        check_request_id(request_id)
        self.charge(caller, FILE_CALLS)
        return SecretCall(self.now(), shown or caller.shown, request_id)

    def _file(self) -> TokenFile:
        """Return the file of the tokens; an open server, which has none, refuses."""
        if self.tokens is None:
            text = "this server is open to everybody: connect without an invitation"
            raise ApiError(Reason.INVITATION_CLOSED, text)
        return self.tokens

    async def _change(self, function: Callable[..., _T], *arguments: object, **named: object) -> _T:
        """Change the file of the tokens by a function, in a thread, one at a time."""
        tokens = self._file()
        async with self._changing:
            with token_refusals():
                return await asyncio.to_thread(function, tokens, *arguments, **named)

    def _own_tokens(self, caller: Principal) -> Sequence[Token]:
        """Return the tokens of the caller's owner; none for a caller without a token, as the house's bots."""
        if self.tokens is None or caller.token is None:
            return []
        return self.tokens.of_owner(caller.token.owner)

    def _own_token(self, caller: Principal, token_id: str) -> Token:
        """Return a token of the caller's owner by its id."""
        for token in self._own_tokens(caller):
            if token.id == token_id:
                return token
        raise ApiError(Reason.UNKNOWN_TOKEN, f"the owner of the call's token has no token {token_id[:40]!r}")


@contextmanager
def token_refusals() -> Iterator[None]:
    """Turn errors of the file into refusals."""
    try:
        yield
    except InvitationError as error:
        raise ApiError(Reason.INVITATION_CLOSED, str(error)) from None
    except NameTakenError as error:
        raise ApiError(Reason.WRONG_NAME, str(error)) from None
    except (TokenError, OSError) as error:
        raise ApiError(Reason.STORE_UNAVAILABLE, f"the tokens can't be changed: {error}") from None


def _by_age(one: Token | Invitation) -> tuple[float, str, str]:
    """Return where a token or an invitation stands in lists, as a key to sort by: the oldest first."""
    name = one.name if isinstance(one, Token) else one.owner
    return one.created.timestamp(), name, one.id


def _message(token: Token, clear: str = "") -> pb.BotToken:
    return pb.BotToken(id=token.id, name=token.name, token=clear or None, **_times(token))


def _invitation_message(one: Invitation) -> pb.Invitation:
    return pb.Invitation(id=one.id, owner=one.owner, bots=one.bots, **_times(one))


def _times(one: Token | Invitation) -> dict[str, Timestamp | None]:
    known = {"create_time": one.created} | ({"expire_time": one.expires} if one.expires else {})
    return {name: timestamp(moment.timestamp()) for name, moment in known.items()}
