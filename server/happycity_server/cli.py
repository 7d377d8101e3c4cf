"""The commands `happycity serve`, `worker`, `gateway`, `token` and `backup`."""

from __future__ import annotations

import json
import os
import platform

# ruff: noqa: PLC0415 - the help of a command must not wait for what only the command needs
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from happycity.errors import ConfigError
from happycity.match import check_bot_name
from happycity.text.words import plural
from happycity_runtime.commands import AsJson, Commands, duration, remark, validity
from happycity_runtime.environment import SERVER_VARIABLE
from happycity_runtime.settings import CommandSettings, flags_of, load, setting
from happycity_runtime.tokens import Role, Token, add_tokens, new_token, read_tokens_file
from happycity_runtime.transport import Access
from happycity_server.__main__ import start
from happycity_server.access.token_file import revoke_token
from happycity_server.config import DEFAULT_STORE, DEFAULT_TOKENS, LogFormat, ServerSettings, load_settings
from happycity_server.process.logs import configure


@flags_of(ServerSettings)
def serve(
    *,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file with settings. Flags and the environment (HAPPYCITY_SERVE_...) win."),
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the settings in force as TOML, and don't serve.")
    ] = False,
    **flags: object,
) -> None:
    """Run the game server. Stop it with Ctrl-C or SIGTERM; a second one voids the matches that still run.

    On loopback, every caller may do everything unless there is a file of tokens. To listen to other machines,
    it needs tokens and TLS.
    """
    settings = load_settings(flags, os.environ, config)
    if print_config:
        typer.echo(settings.toml(), nl=False)
        return
    start(settings)


class JoinOptions(CommandSettings):
    """How a worker or gateway joins a server."""

    join: str = setting("", env="HAPPYCITY_SERVER", metavar="ADDRESS")
    """Address of the server: grpc://HOST:PORT, or grpcs://HOST:PORT for TLS."""
    token: str = setting("", env="HAPPYCITY_TOKEN", secret=True)
    """Token of the role that is named like the command."""
    name: str = setting("", absent="the name of this machine")
    """What the server's log calls this process."""
    stop_with_stdin: bool = False
    """Also stop when the standard input ends, as when a parent process dies."""
    log: LogFormat = LogFormat.AUTO
    """Format of the log."""

    def stay_joined(self, join: Callable[..., Awaitable[None]]) -> None:
        """Join again and again; `join` gets access, name and channel. ConfigError without a server."""
        from happycity_server.workers.joining import stay_joined

        if not self.join:
            raise ConfigError("--join: give the address of a server, or set HAPPYCITY_SERVER")
        name, access = self.name or platform.node(), Access.from_env(self.token)
        configure(self.log, worker=name)
        stay_joined(self.join, access, partial(join, access, name), stop_with_stdin=self.stop_with_stdin)


@flags_of(JoinOptions)
def worker(**flags: object) -> None:
    """Join a server and play games for it.

    The bots of its house or of its run are started beside this process, so join only servers that you trust.
    SIGINT or SIGTERM ends it.
    """
    options = load(JoinOptions, flags)
    # Imported here, or every other command would wait for it.
    from happycity_server.workers.worker import join

    options.stay_joined(join)


_METRICS = {"metrics", "insecure_metrics"}
_LISTENING = {"listen", "tls_cert", "tls_key", "client_ca", "trusted_proxy", "insecure"} | _METRICS


class GatewayOptions(JoinOptions, ServerSettings):
    """How a gateway joins a server, and listens to bots as a server does."""


@flags_of(GatewayOptions, without=ServerSettings.model_fields.keys() - JoinOptions.model_fields - _LISTENING)
def gateway(**flags: object) -> None:
    """Join a server, and let bots connect here in its place.

    One connection carries what they and the server say, which costs the server a fraction. SIGINT or SIGTERM
    ends the gateway; its bots connect again, perhaps to another one, and go on with their games.
    """
    options = load(GatewayOptions, flags)
    # As for a worker.
    from happycity_server.workers.gateway import join

    options.stay_joined(partial(join, options.model_dump(include=_LISTENING & options.model_fields_set)))


token = Commands("Create, list and revoke the tokens of a server.")

Tokens = Annotated[
    Path | None,
    typer.Option(
        "--tokens",
        metavar="FILE",
        help=f"File of the tokens, on the server's machine.  [default: {DEFAULT_TOKENS}]",
        envvar="HAPPYCITY_SERVE_TOKENS",
    ),
]


@token.command()
def create(
    *,
    role: Annotated[Role, typer.Option(help="What the token allows.")],
    name: Annotated[str, typer.Option(help="The bot's name, or the owner's.")],
    owner: Annotated[
        str, typer.Option(help="Whose bot it is, where one author has several in a ladder.  [default: NAME]")
    ] = "",
    expires: Annotated[
        str, typer.Option(help="How long the token is valid, such as 30d, 12h or 90m; for ever if absent.")
    ] = "",
    tokens: Tokens = None,
) -> None:
    """Create a token and print it, this once: only its hash is stored.

    A file that isn't there is made if --tokens names it, or for an organiser where no server is set.
    """
    now = datetime.now(UTC)
    until = now + duration(expires) if expires else None
    clear, created = new_token(role, check_bot_name(name), created=now, expires=until, owner=owner)
    is_first = role is Role.ORGANISER and not os.environ.get(SERVER_VARIABLE)
    tokens = _tokens_file(tokens, new=tokens is not None or is_first)
    stored = read_tokens_file(tokens).tokens if tokens.exists() else []
    earlier = [one.id for one in stored if (one.role, one.name) == (role, name) and one.is_valid(now)]
    add_tokens(tokens, [created])
    if earlier:
        remark(f"{name} has other tokens that stay valid: {', '.join(earlier)}")
    valid = validity(created.expires, now)
    typer.echo(f"{role.value} token {created.id} of {_named(created)}, {valid}; in {tokens}", err=True)
    typer.echo(clear)


def _tokens_file(given: Path | None, *, new: bool = False) -> Path:
    """Return the file of a server's tokens, by default the usual one; ConfigError if it isn't there.

    `new` says that it may be missing, as it is to be made.
    """
    file = given or DEFAULT_TOKENS
    if not new and not file.exists():
        remedy = "go to the folder in which the server is started, or name its file"
        raise ConfigError(f"--tokens: there is no file {file}; {remedy}")
    return file


@token.command("list")
def list_tokens(*, as_json: AsJson = False, tokens: Tokens = None) -> None:
    """List the tokens of a file, without their secrets."""
    stored, now = read_tokens_file(_tokens_file(tokens)).tokens, datetime.now(UTC)
    if as_json:
        rows = [
            {**one.model_dump(mode="json", exclude={"sha256", "replaces"}), "expired": not one.is_valid(now)}
            for one in stored
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    table = [("id", "role", "valid", "name")]
    table += [(one.id, one.role.value, validity(one.expires, now), _named(one)) for one in stored]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        typer.echo("  ".join(map(str.ljust, row, widths)).rstrip())


@token.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as token list shows it.")],
    *,
    tokens: Tokens = None,
) -> None:
    """Revoke a token: a running server refuses it at once, and ends the streams that use it."""
    revoked = revoke_token(_tokens_file(tokens), token_id)
    typer.echo(f"revoked: {revoked.role.value} token {revoked.id} of {_named(revoked)}")


def _named(one: Token) -> str:
    """Return a token's name, and its owner where that is another one."""
    return one.name if one.owner == one.name else f"{one.name} (owner: {one.owner})"


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The SQLite file of the backup.")],
    *,
    restore: Annotated[
        bool, typer.Option("--restore", help="Copy the backup, or another SQLite store, into a new store.")
    ] = False,
    store: Annotated[
        str,
        typer.Option(
            "--store", help="Database URL of the store.", envvar="HAPPYCITY_SERVE_STORE", show_envvar=True
        ),
    ] = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Copy a server's store into a new file, or back.

    The server may run meanwhile. The copy is the store as it was at one moment, and is checked. It holds what
    servers keep secret, such as deals in play. The file of the tokens is not part of it. With --restore the
    store is a SQLite file which doesn't exist; all of the backup is copied and checked, or nothing. Stores in
    PostgreSQL are copied by pg_dump.
    """
    from rich.console import Console

    from happycity_tournament.storage.backup import back_up, backup_mark
    from happycity_tournament.storage.sources import path_of

    url, copy = (f"sqlite:///{file.as_posix()}", path_of(store)) if restore else (store, file)
    if copy is None:
        raise ConfigError("--store: it is not a SQLite file; use pg_restore for PostgreSQL")

    with Console(stderr=True).status("copying; Ctrl-C stops it") as status:

        def progress(done: int, total: int) -> None:
            status.update(f"copied {done / max(1, total):.0%}; Ctrl-C stops it")

        copied = back_up(url, copy, progress=progress)
    source = path_of(store)
    if not restore and source is not None:
        with suppress(OSError):  # a store on a read-only file system
            backup_mark(source).touch(mode=0o600)
    size, games = file.stat().st_size, plural(copied.rows.get("games", 0), "game")
    remark(f"{file}: {games}, {size / 1e6:,.1f} MB, checked, in {copied.seconds:.1f} s")
    if as_json:
        content = {
            "file": str(file),
            "bytes": size,
            "schema_version": copied.schema_version,
            "rows": dict(copied.rows),
            "seconds": round(copied.seconds, 3),
        }
        typer.echo(json.dumps(content, indent=2))
