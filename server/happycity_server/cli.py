"""The command `happycity serve`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from happycity_server.logs import LogFormat, configure


def serve(
    *,
    listen: Annotated[
        str, typer.Option(help="Address to listen on, host:port; port 0 takes a free one and prints it.")
    ] = "127.0.0.1:50051",
    store: Annotated[
        str, typer.Option(help="Database URL where finished games are kept.")
    ] = "sqlite:///runs/happycity.sqlite",
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds that running matches may go on when the server is stopped.")
    ] = 5.0,
    stop_with_stdin: Annotated[
        bool,
        typer.Option(
            "--stop-with-stdin", help="Also stop when the standard input ends, as when a parent dies."
        ),
    ] = False,
    log: Annotated[LogFormat, typer.Option(help="How log lines look.")] = LogFormat.AUTO,
) -> None:
    """Run the game server. Stop it with Ctrl-C or SIGTERM.

    There is no access control in this version: listen on loopback unless the network is trusted.
    """
    # gRPC's core would write lines of its own beside ours, in particular when a port is taken.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Imported here, or every other command would wait for gRPC.
    from happycity_server.app import ServerConfig, serve_until_stopped  # noqa: PLC0415

    configure(log)
    serve_until_stopped(
        ServerConfig(listen=listen, store=store, grace_seconds=grace, stop_with_stdin=stop_with_stdin)
    )


def health(
    address: Annotated[str, typer.Argument(help="Address of a server, host:port.")] = "127.0.0.1:50051",
) -> None:
    """Ask a server whether it serves; exit status 1 if it doesn't."""
    # Imported here, or every other command would wait for gRPC.
    import grpc  # noqa: PLC0415
    from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: PLC0415

    with grpc.insecure_channel(address) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=2.0)
        except grpc.RpcError:
            typer.echo(f"{address}: no answer", err=True)
            raise typer.Exit(1) from None
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    typer.echo(f"{address}: {status.lower()}")
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise typer.Exit(1)
