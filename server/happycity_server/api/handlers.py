"""How gRPC calls a service: its methods take the caller and the request, and know nothing of gRPC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from happycity_server.access.roles import FULL_NAMES, principal


def add_service(server: grpc.aio.Server, service: object) -> None:
    """Have a gRPC server serve all methods that the contract has of a service."""
    full_name = FULL_NAMES[type(service).__name__]
    methods = descriptor_pool.Default().FindServiceByName(full_name).methods
    add_handlers(
        server, full_name, {each.name: _handler(getattr(service, each.name), each) for each in methods}
    )


def add_handlers(
    server: grpc.aio.Server, full_name: str, handlers: dict[str, grpc.RpcMethodHandler[Any, Any]]
) -> None:
    """Have a gRPC server serve methods by their names, as generated code does.

    Calls of methods that aren't registered wait in one queue, where a flood of one would hold up all others.
    """
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(full_name, handlers),))
    server.add_registered_method_handlers(full_name, handlers)


def _handler(call: Any, method: MethodDescriptor) -> grpc.RpcMethodHandler[Any, Any]:
    """Have gRPC call a method with the caller that was admitted, in place of gRPC's context."""

    def answer(request: object, _context: object) -> Any:
        return call(principal(), request)

    make: Callable[..., grpc.RpcMethodHandler[Any, Any]] = grpc.unary_unary_rpc_method_handler
    if method.client_streaming:
        make = grpc.stream_unary_rpc_method_handler
    elif method.server_streaming:
        make = grpc.unary_stream_rpc_method_handler
    read, write = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
    return make(answer, read.FromString, write.SerializeToString)
