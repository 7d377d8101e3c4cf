"""What `happycity play --web` does: run a server with bots and pages, at whose tables people play."""

from __future__ import annotations

import asyncio
import webbrowser
from contextlib import suppress
from urllib.parse import urlencode

import typer

from happycity.errors import ConfigError
from happycity.match import check_person_name
from happycity_runtime import event_loop
from happycity_runtime.commands import remark
from happycity_runtime.installation import install_command, missing_packages
from happycity_runtime.tokens import Role
from happycity_terminal.play import GamePlan, keep_played
from happycity_tournament.client.processes import ProcessError, start_server
from happycity_tournament.client.run_folder import TOKENS_FILE, OwnServer, new_folder, own_store
from happycity_tournament.client.tokens import IssuedTokens
from happycity_tournament.lineup import Lineup, bot_entries

_HOST = "me"  # what the form calls the seat of the person who sets a table up


def play_in_browser(plan: GamePlan, address: str | None, *, is_seeded: bool, opens: bool) -> None:
    """Serve tables until Ctrl-C; open the browser at the form of the planned game if it `opens`.

    ConfigError if a flag has no effect in the browser, or the pages are not installed.
    """
    if address is not None:
        raise ConfigError("--web: starts a server of its own; to play on another one, open its pages")
    if plan.commands:
        raise ConfigError("--bot: has no effect with --web, where the reference bots of --against play")
    if is_seeded:
        raise ConfigError("--seed: has no effect with --web")
    check_person_name(plan.name)
    if missing := missing_packages("web"):
        raise ConfigError(
            f"--web: the pages are not installed ({', '.join(missing)} missing); "
            f"install them by: {install_command('web')}"
        )
    lineup = Lineup(bots=bot_entries(plan.against, (), (), flag="--against"))
    fields = form_fields(plan, lineup.names)
    with suppress(asyncio.CancelledError):
        event_loop.run_until_stopped(_serve(lineup, fields, opens=opens))


def form_fields(plan: GamePlan, bots: tuple[str, ...]) -> dict[str, str]:
    """Return the form of a planned game, as its page takes it."""
    seats = [_HOST if seat == plan.name else seat for seat in plan.table(bots)]
    return {
        "name": plan.name,
        "mode": plan.mode.value,
        "clock": "none",
        **{f"seat{number}": seat for number, seat in enumerate(seats, start=1)},
    }


async def _serve(lineup: Lineup, fields: dict[str, str], *, opens: bool) -> None:
    """Run a server until this is cancelled, or until the server ends."""
    folder = new_folder()
    tokens = IssuedTokens(folder / TOKENS_FILE)
    organiser = tokens.for_role(Role.ORGANISER)
    remark(f"starting a server with {', '.join(lineup.names)}; Ctrl-C ends it")
    server = start_server(
        OwnServer(store=own_store(folder)),
        Lineup(),
        tokens=tokens.path,
        folder=folder,
        web=True,
        house=lineup.reference_bots,
    )
    try:
        await server.address()
        link = f"{server.web}/play?{urlencode({**fields, 'token': organiser})}"
        typer.echo(f"play: {link}")
        if opens:
            await asyncio.to_thread(webbrowser.open, link)
        await server.wait()
        raise ProcessError(server.exit_summary())
    finally:
        await server.stop()
        keep_played(folder, "the games")
