"""AccessService: guests exchange invitations for tokens of their bots, and look after those tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from happycity import ConfigError
from happycity.access.v1beta1 import access_service_pb2 as pb
from happycity.access.v1beta1.access_service_pb2_grpc import AccessServiceServicer
from happycity.match import check_bot_name
from happycity.runtime.tokens import (
    InvitationError,
    NameTakenError,
    Token,
    TokenError,
    TokenFile,
    accept_invitation,
    renew_token,
    revoke_token,
)
from happycity_server.access.roles import check_free_of_house, principal
from happycity_server.errors import ApiError, Reason, invalid
from happycity_tournament.wire import timestamp


class AccessService(AccessServiceServicer):
    """Changes the file of the tokens for guests, in threads, as it is locked and synced."""

    def __init__(
        self, tokens: TokenFile | None, *, house: Collection[str], now: Callable[[], datetime]
    ) -> None:
        """Serve the guests of a file, None on an open server; their bots get no name of the house."""
        self._tokens = tokens
        self._house = house
        self._now = now

    async def Join(self, request: pb.JoinRequest, context: object) -> pb.JoinResponse:
        """Exchange an invitation for a token of each bot."""
        for name in request.bots:
            try:
                check_bot_name(name)
            except ConfigError as error:
                raise invalid(f"bots: {error}") from None
            check_free_of_house(name, self._house)
        if self._tokens is None:
            text = "this server is open to everybody: connect without an invitation"
            raise ApiError(Reason.INVITATION_CLOSED, text)
        path, now = self._tokens.path, self._now()
        with token_refusals():
            owner, made = await asyncio.to_thread(
                accept_invitation, path, request.invitation, list(request.bots), now=now
            )
        return pb.JoinResponse(owner=owner, tokens=[_message(token, clear) for clear, token in made])

    async def ListTokens(self, request: pb.ListTokensRequest, context: object) -> pb.ListTokensResponse:
        """List the tokens of the caller's owner."""
        return pb.ListTokensResponse(tokens=[_message(token) for token in self._own_tokens()])

    async def RenewToken(self, request: pb.RenewTokenRequest, context: object) -> pb.BotToken:
        """Replace the token of the call."""
        old = principal().token
        if old is None or self._tokens is None:
            text = "the call shows no token of this server's file, which could be renewed"
            raise ApiError(Reason.UNKNOWN_TOKEN, text)
        with token_refusals():
            clear, token = await asyncio.to_thread(renew_token, self._tokens.path, old, now=self._now())
        return _message(token, clear)

    async def RevokeToken(self, request: pb.RevokeTokenRequest, context: object) -> pb.RevokeTokenResponse:
        """End a token of the caller's owner."""
        if self._tokens is None or request.id not in [token.id for token in self._own_tokens()]:
            text = f"the owner of the call's token has no token {request.id[:40]!r}"
            raise ApiError(Reason.UNKNOWN_TOKEN, text)
        with token_refusals():
            await asyncio.to_thread(revoke_token, self._tokens.path, request.id)
        return pb.RevokeTokenResponse()

    def _own_tokens(self) -> Sequence[Token]:
        """Return the tokens of the caller's owner; none for a caller without a token, as the house's bots."""
        caller = principal().token
        return [] if self._tokens is None or caller is None else self._tokens.of_owner(caller.owner)


@contextmanager
def token_refusals() -> Iterator[None]:
    """Turn errors of the file into refusals."""
    try:
        yield
    except InvitationError as error:
        raise ApiError(Reason.INVITATION_CLOSED, str(error)) from None
    except NameTakenError as error:
        raise ApiError(Reason.WRONG_NAME, str(error)) from None
    except ConfigError as error:
        raise invalid(str(error)) from None
    except (TokenError, OSError) as error:
        raise ApiError(Reason.STORE_UNAVAILABLE, f"the tokens can't be changed: {error}") from None


def _message(token: Token, clear: str = "") -> pb.BotToken:
    return pb.BotToken(
        id=token.id,
        name=token.name,
        token=clear or None,
        create_time=timestamp(token.created.timestamp()),
        expire_time=None if token.expires is None else timestamp(token.expires.timestamp()),
    )
