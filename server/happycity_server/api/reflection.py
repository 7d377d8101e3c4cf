"""Reflection: describes the services to tools such as grpcurl. It is imported when one of them asks."""

# ruff: noqa: PLC0415 - few servers are asked, and each would start later

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc

SERVICE = "grpc.reflection.v1alpha.ServerReflection"


class Reflection(grpc.GenericRpcHandler):
    """Answers for the service of reflection, in the name of all `services` and of itself."""

    def __init__(self, services: Iterable[str]) -> None:
        self._services = (*services, SERVICE)
        self._handler: grpc.RpcMethodHandler[Any, Any] | None = None

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the handler of the service's only method; None for other methods."""
        if handler_call_details.method != f"/{SERVICE}/ServerReflectionInfo":
            return None
        if self._handler is None:
            from grpc_reflection.v1alpha import reflection, reflection_pb2

            self._handler = grpc.stream_stream_rpc_method_handler(
                reflection.aio.ReflectionServicer(self._services).ServerReflectionInfo,
                request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
                response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
            )
        return self._handler
