"""The command `happycity new-bot`: a project for a new bot."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from happycity.errors import ConfigError
from happycity_new_bot.languages import LANGUAGES
from happycity_new_bot.project import write_project
from happycity_runtime.installation import own_checkout

Language = StrEnum("Language", {name: name for name in LANGUAGES})  # type: ignore[misc] # typer wants an enum


def new_bot(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to be made, or an empty one.", show_default=False)
    ],
    *,
    language: Annotated[Language, typer.Option(help="Programming language; bridge: any, by lines of JSON.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the bot; the folder's by default.", show_default=False)
    ] = None,
    checkout: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Checkout with the SDK; by default the one of this installation, else the SDK's release.",
            show_default=False,
        ),
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="A bot that searches with the native engine.")
    ] = False,
) -> None:
    """Make a project for a new bot, in a language of your choice.

    It has a first bot, commands to build, test, check and play it, a Dockerfile, and a workflow for GitHub.
    """
    if checkout is not None and not (checkout / "clients").is_dir():
        raise ConfigError(f"--checkout: {checkout} is not a checkout of the arena: it has no folder clients")
    root = checkout.resolve() if checkout is not None else own_checkout()
    folder = folder.resolve()
    write_project(folder, language.value, name=name or folder.name, checkout=root, search=search)
    typer.echo(
        f"made {folder}: continue with its README.md, or\n  cd {shlex.quote(str(folder))} && make play"
    )
