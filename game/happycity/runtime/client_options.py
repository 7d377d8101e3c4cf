"""Options that the commands of bots have in common: where and as whom they play."""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[str | None, typer.Option(help="Name of the bot.")]
Server = Annotated[str | None, typer.Option(help="Address of the server, host:port.")]
Token = Annotated[str | None, typer.Option(help="Token for the server.")]
Tls = Annotated[bool, typer.Option("--tls", help="Encrypt; --ca and --cert imply it.")]
Ca = Annotated[
    str | None, typer.Option(metavar="FILE", help="Certificates to trust, in PEM; a public CA if absent.")
]
Cert = Annotated[str | None, typer.Option(metavar="FILE", help="The bot's own certificate, in PEM.")]
Key = Annotated[str | None, typer.Option(metavar="FILE", help="The certificate's key, in PEM.")]
