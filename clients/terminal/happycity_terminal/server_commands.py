"""The commands about a server's bots: who is connected, and practice against them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from happycity import ConfigError, Mode
from happycity_runtime.commands import SERVER_HELP, AsJson, Server
from happycity_runtime.environment import SERVER_VARIABLE, SETTINGS_FILE, SETTINGS_VARIABLE
from happycity_runtime.transport import DEFAULT_ADDRESS
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.lineup import Lineup, bot_entries


def status(
    address: Annotated[
        str | None, typer.Argument(metavar="ADDRESS", help=f"{SERVER_HELP}  [default: that of --server]")
    ] = None,
    *,
    server: Server = None,
    health: Annotated[
        bool, typer.Option("--health", help="Ask only whether it serves, which needs no token.")
    ] = False,
    service: Annotated[
        str, typer.Option(help="Ask for one service by its full name, such as happycity.v1.PlayService.")
    ] = "",
    server_name: Annotated[
        str,
        typer.Option(
            envvar="HAPPYCITY_SERVER_NAME",
            help="Name in the server's certificate, if it is not that of the address.",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Say whether a server serves, and list its bots.

    The list has their owners, since when they are there, in how many games, and what they say of themselves.
    The exit status is 1 if the server doesn't serve, and 2 without an answer; with --health it is always 1.
    """
    from happycity_terminal.status import show_status

    if address and server not in (None, address, os.environ.get(SERVER_VARIABLE)):
        raise ConfigError("--server: the server is named by ADDRESS already")
    at = address or server or DEFAULT_ADDRESS
    show_status(at, health=health, service=service, server_name=server_name, as_json=as_json)


def join(
    link: Annotated[
        str, typer.Argument(metavar="LINK", help="The link of the invitation, in quotes.", show_default=False)
    ] = "",
    *,
    bot: Annotated[
        list[str] | None,
        typer.Option("--bot", metavar="NAME", help="What a bot of yours is to be called; may be repeated."),
    ] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="Replace the tokens of the file by new ones.")
    ] = False,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="End the tokens of the file, and remove it: the bots leave.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file of settings.", envvar=SETTINGS_VARIABLE)
    ] = Path(SETTINGS_FILE),
) -> None:
    """Join a server by an invitation; write the bots' settings.

    The guest names the bots. The file has the server's address and certificate, and a token for each bot. It
    is read in the folder where a bot or a command is started, or where HAPPYCITY_ENV says. Keep it secret.
    """
    from happycity_terminal.joining import join_server, renew_tokens, revoke_tokens

    if bool(link) + renew + revoke != 1:
        raise ConfigError("LINK, --renew, --revoke: give one of them")
    if link:
        join_server(link, bot or (), out)
    elif bot:
        raise ConfigError("--bot: it is for a LINK; the file of settings has the names")
    else:
        (renew_tokens if renew else revoke_tokens)(out)


def submit(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder of the bot, with its bot.toml.")
    ] = Path(),
    *,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Don't wait for the trial's result.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Show what became of it, and its log.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List all that you have submitted.")] = False,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Let the server play it no longer.")] = False,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Submit a bot to a server that hosts bots.

    The file bot.toml says what is submitted. The server tries the bot in its sandbox, and plays it if it
    passes. The token, in HAPPYCITY_TOKEN or HAPPYCITY_TOKENS, is the bot's. The exit status is 1 if the bot
    is rejected.
    """
    from happycity_terminal.submitting import SubmitAction, list_submissions, submit_bot

    if show + list_all + withdraw > 1:
        raise ConfigError("--show, --list, --withdraw: give one of them")
    if list_all:
        list_submissions(server, as_json=as_json)
        return
    act: SubmitAction = "show" if show else "withdraw" if withdraw else "submit"
    submit_bot(server, folder, act, wait=not no_wait, as_json=as_json)


def practice(
    *,
    bot: Annotated[
        str | None,
        typer.Option(metavar="NAME=COMMAND", help="Your bot: a program to start, in any language."),
    ] = None,
    join: Annotated[
        str | None, typer.Option(metavar="NAME", help="Your bot, if it connects by itself.")
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            metavar="BOT,...", help="The other seats: bots of the house, or your bot's own name, up to four."
        ),
    ],
    games: Annotated[int, typer.Option(min=1, max=10_000, help="How many games to play.")] = 10,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**32 - 1, help="Number of the first deal; counts up.  [default: random]"),
    ] = None,
    mode: Annotated[Mode, typer.Option(help="Rules and specials.")] = Mode.FAMILY,
    decision_seconds: Annotated[
        float | None,
        typer.Option(
            min=0.1, max=600, help="Seconds for each decision.  [default: the server's]", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Let a bot play unrated games against a server's own bots.

    It may also play against itself. Each deal is played in every rotation of the seats. `happycity status`
    lists the bots of the house. The token, in HAPPYCITY_TOKEN, is the bot's. Ctrl-C stops it.
    """
    from happycity_terminal.practice import PracticePlan, practise

    if (bot is None) == (join is None):
        raise ConfigError(
            "--bot, --join: give one of them: a program to start, or a bot that connects by itself"
        )
    lineup = Lineup(bots=bot_entries("", [bot] if bot else [], [join] if join else []))
    lineup.check()
    opponents = tuple(filter(None, map(str.strip, against.split(","))))
    if not 1 <= len(opponents) <= 4:
        raise ConfigError(f"--against: {len(opponents)} bots; name 1 to 4, separated by commas")
    plan = PracticePlan(
        server=RemoteServer.at(server, bot=lineup.names[0]),
        lineup=lineup,
        against=opponents,
        games=games,
        seed=seed,
        mode=mode,
        decision_seconds=decision_seconds,
    )
    sys.exit(practise(plan, as_json=as_json))
