"""The commands `happycity serve`, `happycity health` and `happycity token`."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from happycity.errors import HappyCityError
from happycity_server.addresses import is_loopback
from happycity_server.logs import LogFormat, configure

if TYPE_CHECKING:  # every other command would wait for pydantic
    from happycity_server.tokens import Token

DEFAULT_TOKENS = "runs/tokens.json"
_HEALTH_SECONDS = 10.0  # a server on a busy machine may well take one or two
_DAYS = {"d": 1.0, "h": 1 / 24, "m": 1 / 1440}


class UsageError(HappyCityError):
    """An option's value makes no sense."""


def serve(
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with settings. Flags and environment (HAPPYCITY_SERVE_...) win over it."
        ),
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Write the settings in force as TOML, and don't serve.")
    ] = False,
    listen: Annotated[
        str | None,
        typer.Option(
            help="Address to listen on, host:port or unix:path; port 0 takes a free one and prints it.",
            show_default="127.0.0.1:50051",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Database URL where finished games are kept.", show_default="sqlite:///runs/happycity.sqlite"
        ),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(
            help="Seconds that running matches may go on when the server is stopped.", show_default="5"
        ),
    ] = None,
    stop_with_stdin: Annotated[
        bool | None,
        typer.Option(
            "--stop-with-stdin", help="Also stop when the standard input ends, as when a parent dies."
        ),
    ] = None,
    log: Annotated[LogFormat | None, typer.Option(help="How log lines look.", show_default="auto")] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(help="File of the tokens; see happycity token.", show_default=DEFAULT_TOKENS),
    ] = None,
    is_open: Annotated[
        bool | None, typer.Option("--open", help="Let everybody do everything, even if there are tokens.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="The server's certificate, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The key of the certificate, PEM.")] = None,
    client_ca: Annotated[
        Path | None, typer.Option(help="Authorities, PEM, that must have signed a client's certificate.")
    ] = None,
    insecure: Annotated[
        bool | None,
        typer.Option("--insecure", help="Listen to other machines without tokens or without TLS."),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Address for Prometheus, host:port; port 0 takes a free one.")
    ] = None,
    insecure_metrics: Annotated[
        bool | None, typer.Option("--insecure-metrics", help="Let other machines read the metrics.")
    ] = None,
    no_clock: Annotated[
        bool | None, typer.Option("--no-clock", help="Play all matches without clocks, for debugging.")
    ] = None,
) -> None:
    """Run the game server. Stop it with Ctrl-C or SIGTERM; a second one voids what still runs.

    On loopback, everybody may do everything unless there is a file of tokens. To listen to other machines,
    it needs tokens and TLS.
    """
    # gRPC's core would write lines of its own beside ours, in particular when a port is taken.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Imported here, or every other command would wait for gRPC.
    from happycity_server.app import serve_until_stopped  # noqa: PLC0415
    from happycity_server.config import SettingsError, load_settings  # noqa: PLC0415

    given = {
        "listen": listen,
        "store": store,
        "grace_seconds": grace,
        "stop_with_stdin": stop_with_stdin,
        "log": log,
        "tokens": tokens,
        "open": is_open,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "client_ca": client_ca,
        "insecure": insecure,
        "metrics": metrics,
        "insecure_metrics": insecure_metrics,
        "no_clock": no_clock,
    }
    flags = {key: value for key, value in given.items() if value is not None}
    try:
        settings = load_settings(flags, os.environ, config)
    except SettingsError as error:
        for problem in error.problems:
            typer.echo(f"error: {problem}", err=True)
        raise typer.Exit(2) from None
    if print_config:
        typer.echo(settings.toml(), nl=False)
        return
    configure(settings.log)
    serve_until_stopped(settings)


def health(
    address: Annotated[
        str, typer.Argument(help="Address of a server, host:port.", envvar="HAPPYCITY_SERVER")
    ] = "127.0.0.1:50051",
    *,
    service: Annotated[
        str, typer.Option(help="Ask for one service by its full name, such as happycity.v1.PlayService.")
    ] = "",
    tls: Annotated[
        bool, typer.Option("--tls", help="Encrypt; --ca and --cert imply it.", envvar="HAPPYCITY_TLS")
    ] = False,
    ca: Annotated[
        Path | None,
        typer.Option(help="Authorities to trust, PEM; else gRPC's own.", envvar="HAPPYCITY_CA"),
    ] = None,
    cert: Annotated[
        Path | None,
        typer.Option(help="Own certificate, PEM, if the server asks for one.", envvar="HAPPYCITY_CERT"),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The key of the certificate, PEM.", envvar="HAPPYCITY_KEY")
    ] = None,
    server_name: Annotated[
        str,
        typer.Option(
            help="Name in the server's certificate, if it is not that of the address.",
            envvar="HAPPYCITY_SERVER_NAME",
        ),
    ] = "",
    token: Annotated[
        str,
        typer.Option(
            help="Bearer token, for what stands before the server; sent by TLS or on this machine only.",
            envvar="HAPPYCITY_TOKEN",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Ask a server whether it serves; exit status 1 if it doesn't."""
    # Imported here, or every other command would wait for gRPC.
    import grpc  # noqa: PLC0415
    from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: PLC0415

    from happycity_server.tls import channel_credentials  # noqa: PLC0415

    encrypted = bool(tls or ca or cert or key)
    options = [("grpc.ssl_target_name_override", server_name)] if server_name else []
    if encrypted:
        credentials = channel_credentials(ca=ca, cert=cert, key=key)
        channel = grpc.secure_channel(address, credentials, options)
    else:
        channel = grpc.insecure_channel(address, options)
    may_send = encrypted or is_loopback(address)
    metadata = (("authorization", f"Bearer {token}"),) if token and may_send else ()
    with channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(service=service), timeout=_HEALTH_SECONDS, metadata=metadata
            )
        except grpc.RpcError as error:
            told = "no such service" if error.code() is grpc.StatusCode.NOT_FOUND else "no answer"
            typer.echo(f"{address}: {told}", err=True)
            raise typer.Exit(1) from None
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    typer.echo(f"{address}: {status.lower()}")
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise typer.Exit(1)


token = typer.Typer(no_args_is_help=True, help="Make, list and revoke the tokens of a server.")

_TOKENS = typer.Option("--tokens", help="File of the tokens.", envvar="HAPPYCITY_SERVE_TOKENS")


@token.command()
def create(
    *,
    role: Annotated[str, typer.Option(help="bot, observer or organiser.")],
    name: Annotated[str, typer.Option(help="The bot's name, or whose token it is.")],
    expires: Annotated[
        str, typer.Option(help="How long the token holds, such as 30d, 12h or 90m; for ever if absent.")
    ] = "",
    tokens: Annotated[Path, _TOKENS] = Path(DEFAULT_TOKENS),
) -> None:
    """Make a token and print it, this once: only its hash is kept."""
    from happycity_server.tokens import Role, create_token  # noqa: PLC0415

    try:
        chosen = Role(role)
    except ValueError:
        raise UsageError(f"role: {role!r} is none of bot, observer and organiser") from None
    now = datetime.now(UTC)
    clear, made = create_token(
        tokens, chosen, name, created=now, expires=now + _duration(expires) if expires else None
    )
    typer.echo(f"{made.role.value} token {made.id} of {made.name}, {_until(made)}; in {tokens}", err=True)
    typer.echo(clear)


@token.command("list")
def list_tokens(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Write a JSON array.")] = False,
    tokens: Annotated[Path, _TOKENS] = Path(DEFAULT_TOKENS),
) -> None:
    """List the tokens of a file, without their secrets."""
    from happycity_server.tokens import read_tokens  # noqa: PLC0415

    try:
        kept = read_tokens(tokens)
    except FileNotFoundError:
        raise UsageError(f"tokens: there is no file {tokens}") from None
    now = datetime.now(UTC)
    if as_json:
        told = [
            {**one.model_dump(mode="json", exclude={"sha256"}), "expired": not one.is_valid(now)}
            for one in kept
        ]
        typer.echo(json.dumps(told, indent=2))
        return
    for one in kept:
        typer.echo(f"{one.id}  {one.role.value:9}  {_until(one, now):24}  {one.name}")


@token.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as token list shows it.")],
    *,
    tokens: Annotated[Path, _TOKENS] = Path(DEFAULT_TOKENS),
) -> None:
    """Revoke a token: a running server refuses it at once, and ends the streams that use it."""
    from happycity_server.tokens import revoke_token  # noqa: PLC0415

    revoked = revoke_token(tokens, token_id)
    typer.echo(f"revoked: {revoked.role.value} token {revoked.id} of {revoked.name}")


def _duration(text: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,5})([dhm])", text)
    if match is None or not int(match[1]):
        raise UsageError(f"expires: {text!r} is no time such as 30d, 12h or 90m")
    return timedelta(days=int(match[1]) * _DAYS[match[2]])


def _until(one: Token, now: datetime | None = None) -> str:
    if one.expires is None:
        return "for ever"
    when = one.expires.strftime("%Y-%m-%d %H:%M UTC")
    return f"expired {when}" if now is not None and not one.is_valid(now) else f"until {when}"
