"""Plays with several reference bots in one process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from happycity.match import check_reference_bot
from happycity_bots.catalogue import BOTS, factory_of, info_of
from happycity_bots.halving import TrialBudget
from happycity_client import Settings, play, run_until_stopped


def play_bots(
    entries: Sequence[str],
    *,
    server: str | None = None,
    token: str | None = None,
    games: int = 0,
    budget: str | None = None,
    mistakes: float | None = None,
) -> None:
    """Play with reference bots, `[NAME=]BOT` each, until the server shuts down.

    The server "-" is read from a line of the standard input. What isn't given comes from the environment.
    The `budget` is what a decision may cost: see `TrialBudget.parse`. `mistakes` is the share of
    decisions that `careless` takes at random.

    Raises:
        HappyCityError: there is no such reference bot or budget, or `play` fails.
    """
    named = [_split_entry(entry) for entry in entries]
    limit = TrialBudget.parse(budget) if budget is not None else None
    if server == "-":
        server = sys.stdin.readline().strip()
        if not server:
            return  # what started the bots has ended before there was a server
    players = [
        (
            factory_of(builtin, limit, mistakes),
            Settings.from_env(
                name,
                name=name,
                server=server,
                token=token or None,
                games=games,
                info=info_of(BOTS[builtin]),
            ),
        )
        for name, builtin in named
    ]

    async def play_all() -> None:
        await asyncio.gather(*(play(factory, settings) for factory, settings in players))

    run_until_stopped(play_all())


def _split_entry(entry: str) -> tuple[str, str]:
    """Split `NAME=BOT`; a bot without another name has its own."""
    name, _, builtin = entry.rpartition("=")
    return name or builtin, check_reference_bot(builtin)
