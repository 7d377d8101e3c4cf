"""The command `happycity bridge`: a program of any language plays by reading and writing lines."""

from __future__ import annotations

import logging
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from happycity import BotInfo
from happycity.errors import FieldError
from happycity_bridge.errors import ProgramError
from happycity_runtime.child import missing_program
from happycity_runtime.commands import Name, Server, Token

if TYPE_CHECKING:  # the help of all commands does without gRPC
    from happycity_client import Settings


def bridge(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND [ARGS]...", help="The program, and its arguments.", show_default=False
        ),
    ],
    *,
    name: Name = None,
    server: Server = None,
    token: Token = None,
    games: Annotated[int | None, typer.Option(min=0, help="Games at once; 0: any number.")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="One process for all games.")] = False,
    author: Annotated[str, typer.Option(help="Who wrote the bot, for lists and reports.")] = "",
    version: Annotated[str, typer.Option(help="The bot's own version.")] = "",
    language: Annotated[str, typer.Option(help="Programming language of the bot.")] = "",
    description: Annotated[str, typer.Option(help="A line about the bot.")] = "",
) -> None:
    """Play with a program that reads and writes lines of JSON.

    It reads decisions and writes its moves. Stop with Ctrl-C.
    """
    from happycity_client import Settings, run_until_stopped  # noqa: PLC0415

    logging.getLogger("happycity_client").addFilter(_in_one_line)
    if shutil.which(command[0]) is None:
        raise FieldError("command", f"{command[0]!r}: {missing_program(command[0], Path())}")
    info = BotInfo(author=author, version=version, language=language, description=description)
    settings = Settings.from_env("bridge", name=name, server=server, token=token, games=games, info=info)
    settings = replace(settings, info=replace(settings.info, language=language))  # not that of the bridge
    run_until_stopped(_play(settings, command, shared=shared))


async def _play(settings: Settings, command: list[str], *, shared: bool) -> None:
    from happycity_bridge.bot import BridgedBot  # noqa: PLC0415
    from happycity_bridge.pool import ProgramPool  # noqa: PLC0415
    from happycity_client import play  # noqa: PLC0415

    pool = ProgramPool(command, name=settings.name or "bridge", share=shared)
    try:
        await play(partial(BridgedBot, pool=pool), settings)
    finally:
        await pool.close()


def _in_one_line(record: logging.LogRecord) -> bool:
    """Log what is wrong with a program without the bridge's own traceback, which doesn't help."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ProgramError):
        record.exc_info = None
    return True
