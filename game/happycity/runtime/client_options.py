"""Options that the commands of bots have in common: where and as whom they play.

The environment has the rest: HAPPYCITY_CA, HAPPYCITY_CERT and HAPPYCITY_KEY for servers with TLS.
"""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[str | None, typer.Option(help="Name of the bot.", envvar="HAPPYCITY_NAME")]
Server = Annotated[
    str | None,
    typer.Option(
        help="Address of the server: host:port, or grpcs://host:port for TLS.", envvar="HAPPYCITY_SERVER"
    ),
]
Token = Annotated[str | None, typer.Option(help="Token for the server.", envvar="HAPPYCITY_TOKEN")]
