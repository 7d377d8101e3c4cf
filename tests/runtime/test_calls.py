"""Calls that are repeated where the answer was lost."""

from typing import Any

import grpc
import pytest

from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.wire.status import STATUS_METADATA, StatusDetails, encode_status
from happycity_runtime.calls import call_method
from happycity_runtime.transport import Access


@pytest.mark.parametrize(
    ("code", "reason", "calls"),
    [
        (grpc.StatusCode.UNAVAILABLE, "", 2),
        (grpc.StatusCode.CANCELLED, "", 2),
        (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN", 1),
        (grpc.StatusCode.CANCELLED, "REPLACED", 1),
        (grpc.StatusCode.INTERNAL, "", 1),
    ],
)
@pytest.mark.parametrize("asked", [pb.StopTournamentRequest(tournament_id=1), pb.GetTournamentRequest()])
async def test_a_change_is_repeated_once(code: grpc.StatusCode, reason: str, calls: int, asked: Any) -> None:
    """With the same request id, and only if the server has said nothing."""
    requests: list[Any] = []

    async def method(request: Any, *, metadata: object) -> str:
        assert metadata is not None
        requests.append(request)
        if len(requests) > 1:
            return "done"
        trailing = [(STATUS_METADATA, encode_status(code.value[0], "", StatusDetails(reason=reason)))]
        raise grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailing[: bool(reason)]))

    changes = "request_id" in asked.DESCRIPTOR.fields_by_name
    if changes and calls == 2:
        assert await call_method(method, asked, Access()) == "done"
        assert requests[0] == requests[1]
        assert requests[0].request_id
    else:
        with pytest.raises(grpc.aio.AioRpcError):
            await call_method(method, asked, Access())
        assert len(requests) == 1
