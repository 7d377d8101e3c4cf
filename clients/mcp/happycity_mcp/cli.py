"""The command `happycity mcp`: agents play by the tools of an MCP server."""

from __future__ import annotations

import logging
import os
from typing import Annotated

import typer

from happycity import BotInfo
from happycity.errors import FieldError
from happycity_runtime.commands import Server, Token
from happycity_runtime.installation import check_installed

DEFAULT_NAME = "agent"


def mcp(
    *,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve many agents by HTTP, at /mcp, instead of one by the standard streams.",
            show_default=False,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A further name of this machine, such as a proxy's; may be repeated."
        ),
    ] = None,
    trusted_proxy: Annotated[
        str,
        typer.Option(
            metavar="NETWORKS", help="Reverse proxies that say for whom they ask, CIDR, separated by commas."
        ),
    ] = "",
    name: Annotated[str | None, typer.Option(help="Name of the bot, if the agent gives none.")] = None,
    server: Server = None,
    token: Token = None,
    games: Annotated[int, typer.Option(min=1, help="Games of an agent at once.")] = 1,
) -> None:
    """Let an agent play, by an MCP server.

    An MCP client starts this and speaks with it by the standard streams. With --http it serves many agents,
    who need the token in HAPPYCITY_MCP_TOKEN if there is one. Stop with Ctrl-C.
    """
    check_installed("mcp")
    # Imported here, or every other command would wait for gRPC and MCP.
    from happycity.match import check_bot_name  # noqa: PLC0415
    from happycity_client import Settings, run_until_stopped  # noqa: PLC0415
    from happycity_mcp.server import TOKEN_VARIABLE, HttpSettings, serve_http, serve_stdio  # noqa: PLC0415

    for library in ("mcp", "uvicorn"):
        logging.getLogger(library).setLevel(logging.WARNING)  # only the agent needs to know of refused calls

    def settings_of(chosen: str) -> Settings:
        bot = check_bot_name(chosen or name or os.environ.get("HAPPYCITY_NAME") or DEFAULT_NAME)
        return Settings.from_env(
            bot,
            name=bot,
            server=server,
            token=token,
            games=games,
            info=BotInfo(language="MCP", description="an agent that plays by MCP"),
        )

    settings = settings_of("")  # what is wrong is said at the start
    settings.access.check(settings.target)
    if http is None:
        for flag, value in (("--allow-host", allow_host), ("--trusted-proxy", trusted_proxy)):
            if value:
                raise FieldError(flag, "it has no effect without --http")
        run_until_stopped(serve_stdio(settings_of))
        return
    address = HttpSettings(
        address=http,
        token=os.environ.get(TOKEN_VARIABLE, ""),
        allowed_hosts=tuple(allow_host or ()),
        trusted_proxies=trusted_proxy,
    )
    run_until_stopped(serve_http(settings_of, address))
