"""gRPC's health service, with the method that its package lacks."""

from __future__ import annotations

from grpc_health.v1 import health, health_pb2


class HealthService(health.aio.HealthServicer):  # type: ignore[misc]  # the package has no types
    """Tells whether the server and each of its services serve."""

    async def List(
        self, request: health_pb2.HealthListRequest, context: object
    ) -> health_pb2.HealthListResponse:
        """Return the health of all services."""
        states = self._server_status.items()
        responses = {name: health_pb2.HealthCheckResponse(status=state) for name, state in states}
        return health_pb2.HealthListResponse(statuses=responses)
