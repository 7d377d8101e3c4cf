"""`python -m benchmarks.ladder_guests SERVER VERSION NAME...`: guests of a ladder, until SIGTERM."""

from __future__ import annotations

import asyncio
import sys

from happycity import BotInfo
from happycity.runtime.transport import Access
from happycity_bots.catalogue import BOTS
from happycity_client import Settings, play, run_until_stopped

WAIT_SECONDS = 60.0
"""How long a server that is killed may be away."""
KINDS = ("greedy", "random")
"""What the guests play, by turns."""


async def _play(server: str, version: str, names: list[str]) -> None:
    async with asyncio.timeout(WAIT_SECONDS), Access().channel(server) as channel:
        await channel.channel_ready()
    await asyncio.gather(
        *(
            play(
                BOTS[KINDS[number % len(KINDS)]],
                Settings(
                    name=name,
                    server=server,
                    games=8,
                    reconnect=WAIT_SECONDS,
                    info=BotInfo(version=version, language="Python"),
                ),
            )
            for number, name in enumerate(names)
        )
    )


if __name__ == "__main__":
    run_until_stopped(_play(sys.argv[1], sys.argv[2], sys.argv[3:]))
