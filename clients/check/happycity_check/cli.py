"""The command `happycity check`: does a bot speak the protocol?"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from happycity import ConfigError
from happycity_check.bench import Options
from happycity_check.process import words_of
from happycity_check.report import as_json, passed, summary, told
from happycity_check.runner import check as check_bot
from happycity_check.runner import chosen
from happycity_check.step import Finding

if sys.platform == "win32":
    _new_event_loop = None
else:
    import uvloop

    _new_event_loop = uvloop.new_event_loop

_STOPPED = 130


def check(
    *,
    bot: Annotated[str, typer.Option(metavar="COMMAND", help="Starts the bot, in any language.")] = "",
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Wait here for a bot that dials in by itself.")
    ] = "",
    token: Annotated[str, typer.Option(help="Token that the bot must send.")] = "",
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for each thing that the bot has to do.")
    ] = 10.0,
    result: Annotated[
        str, typer.Option("--json", metavar="FILE", help="File for the result as JSON; - is standard output.")
    ] = "",
    only: Annotated[
        list[str] | None, typer.Option(metavar="STEP", help="Only this step and those that it needs.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=1_000_000_000, help="Deals of the games.")] = 1,
) -> None:
    """Check whether a bot speaks the protocol, step by step. Stop with Ctrl-C.

    The exit status is 0 if all steps passed, 1 if one failed, 2 on bad input.
    """
    if bool(bot) == bool(listen):
        raise ConfigError("give either --bot COMMAND or --listen HOST:PORT")
    if bot:
        words_of(bot)
    chosen(only or ())
    options = Options(command=bot, token=token, timeout=timeout, seed=seed)
    if result not in ("", "-"):
        Path(result).touch()  # an impossible path is refused before the bot is tried
    say = partial(typer.echo, err=result == "-")
    say(f"checking {bot or 'the bot that dials in at ' + listen}; stop with Ctrl-C")
    findings, facts = _run(options, listen=listen or "127.0.0.1:0", only=only or [], say=say)
    say(summary(findings))
    if result:
        text = json.dumps(as_json(options, findings, facts), indent=2)
        typer.echo(text) if result == "-" else Path(result).write_text(text + "\n", encoding="utf-8")
    raise typer.Exit(0 if passed(findings) else 1)


def _run(
    options: Options, *, listen: str, only: list[str], say: partial[None]
) -> tuple[list[Finding], dict[str, object]]:
    async def main() -> tuple[list[Finding], dict[str, object]]:
        task = asyncio.ensure_future(
            check_bot(options, listen=listen, only=only, tell=lambda finding: say(told(finding)), say=say)
        )
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await task

    try:
        with asyncio.Runner(loop_factory=_new_event_loop) as runner:
            return runner.run(main())
    except asyncio.CancelledError:
        say("stopped")
        raise typer.Exit(_STOPPED) from None
