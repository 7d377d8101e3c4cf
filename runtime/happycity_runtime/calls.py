"""Calls of a server's methods, which are repeated where the answer may be lost."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from happycity_runtime.unreachable import is_lost

if TYPE_CHECKING:
    from happycity_runtime.transport import Access

_T = TypeVar("_T")


def new_request_id() -> str:
    """Return what a call names itself by, so that it can be repeated."""
    return secrets.token_urlsafe(16)


async def call_method(
    method: Callable[..., Awaitable[_T]], request: Any, access: Access, **options: Any
) -> _T:
    """Return what a method of a stub returns, or raise gRPC's error.

    A call that changes something gets a request id, and is repeated once if the connection is lost, as the
    server may have done what was asked for.
    """
    import grpc  # noqa: PLC0415 - commands that only show their help do without

    fields = getattr(request, "DESCRIPTOR", None)
    can_repeat = fields is not None and "request_id" in fields.fields_by_name
    if can_repeat and not request.request_id:
        own, request = request, type(request)()
        request.CopyFrom(own)
        request.request_id = new_request_id()
    try:
        return await method(request, metadata=access.metadata, **options)
    except grpc.aio.AioRpcError as error:
        if not (can_repeat and is_lost(error)):
            raise
    return await method(request, metadata=access.metadata, **options)
