"""What games of this machine cost a bot: the tool by which an agent improves a bot of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from typing import Any

from pydantic import BaseModel, Field

from happycity import HappyCityError
from happycity.match import one_line

SECONDS = 50.0
"""How long an analysis may take: clients give up after a minute."""
MOST_LISTED = 10
"""Costliest decisions that are returned."""


class BotAnalysis(BaseModel):
    """What a bot's decisions cost, in expected places; those of several games for each game."""

    bot: str
    diagnosis: str = Field(description="Where most is lost, in a sentence.")
    loss_by_phase: dict[str, float]
    decisions: list[dict[str, Any]] = Field(
        description="The costliest ones first: round, phase, move, best, why and loss."
    )

    @property
    def text(self) -> str:
        """The same for reading."""
        lines = [
            f"- game {one['game']}, decision {one['decision']}, round {one['round']}: {one['move']} cost "
            f"{one['loss']:.2f} places; better: {'; '.join((one['best'], *one['why']))}"
            for one in self.decisions
        ]
        look = "Look at a position with: happycity show SOURCE GAME --from DECISION"
        return "\n".join((f"{self.diagnosis}.", *lines, look))


async def analyse_games(source: str, game: int | None, bot: str, limit: int) -> BotAnalysis:
    """Analyse a game, or without one all games of a source.

    HappyCityError if the command refuses, in its own words, or is too slow.
    """
    named = [f"--bot={bot}"] if bot else []
    places = [part for part in (source, "" if game is None else str(game)) if part]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "happycity", "analyse", "--json", f"--limit={limit}", *named, "--", *places),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        async with asyncio.timeout(SECONDS):
            output, errors = await process.communicate()
    except TimeoutError:
        raise HappyCityError(f"it took more than {SECONDS:.0f} s: ask for fewer games by limit") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()  # `wait` would leave pipes open that are still to be read
    if process.returncode:
        raise HappyCityError(one_line(errors.decode(errors="replace").removeprefix("error: ")))
    found = json.loads(output)
    decisions = [{"game": found.get("game"), **one} for one in found["decisions"][:MOST_LISTED]]
    return BotAnalysis.model_validate({**found, "decisions": decisions})
