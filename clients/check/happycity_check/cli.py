"""The command `happycity check`: does a bot speak the protocol?"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Annotated

import typer

from happycity.errors import ConfigError
from happycity_runtime import event_loop
from happycity_runtime.child import ChildError
from happycity_runtime.commands import AsJson


def check(
    *,
    bot: Annotated[str, typer.Option(metavar="COMMAND", help="Starts the bot, in any language.")] = "",
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Listen here, by default for a bot that connects by itself; unix:PATH is a socket.",
        ),
    ] = "",
    token: Annotated[str, typer.Option(help="Token that the bot must send.")] = "",
    sdk: Annotated[
        bool, typer.Option("--sdk", help="The bot is the scenario example of an SDK: check the SDK too.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for each thing that the bot has to do.")
    ] = 10.0,
    json_wanted: AsJson = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="STEP", help="Only this step and those that it needs.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=1_000_000_000, help="Deals of the games.")] = 1,
) -> None:
    """Check whether a bot speaks the protocol, step by step. Stop with Ctrl-C.

    The exit status is 0 if all steps passed, 1 if one failed, 2 on bad input.
    """
    from happycity_check.report import as_json, passed, summary  # noqa: PLC0415
    from happycity_check.runner import check as check_bot  # noqa: PLC0415
    from happycity_check.runner import steps_named  # noqa: PLC0415
    from happycity_check.trial_bot import Options  # noqa: PLC0415

    if not (bot or listen):
        raise ConfigError("give --bot COMMAND, --listen HOST:PORT, or both")
    options = Options(command=bot, token=token, timeout=timeout, seed=seed, sdk=sdk)
    steps = steps_named(only or (), sdk=sdk)
    print_line = partial(typer.echo, err=json_wanted)
    print_line(f"checking {bot or 'the bot that connects to ' + listen}; stop with Ctrl-C")
    checking = check_bot(options, steps, listen=listen or "127.0.0.1:0", print_line=print_line)
    try:
        findings, measurements = event_loop.run_until_stopped(checking)
    except asyncio.CancelledError:
        print_line("stopped")
        raise typer.Exit(event_loop.EXIT_STOPPED) from None
    except ChildError as error:
        raise ChildError(f"--bot: {error}") from None
    print_line(summary(findings))
    if json_wanted:
        typer.echo(json.dumps(as_json(options, findings, measurements), indent=2))
    raise typer.Exit(0 if passed(findings) else 1)
