"""Analyses of finished matches, made by `happycity analyse` in processes of low priority."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from happycity.records.record import Json
from happycity_server.broadcast import SharedValues
from happycity_web.background import Turns, module_output

KEPT = 200
"""Analyses that are kept, those asked for last."""
COSTLIEST = 3
"""Decisions of each seat that become questions."""
_OF_DECISION = ("decision", "round", "phase", "loss", "losses", "line")


class Analyses:
    """Analyses by match, each made once by the evaluator of the installed version."""

    def __init__(self) -> None:
        self._made = SharedValues[int, Json](kept=KEPT)
        self._turns = Turns("analyses")

    def __contains__(self, match_id: int) -> bool:
        """Return whether an analysis is kept, or being made."""
        return match_id in self._made

    async def get(self, match_id: int, record: str) -> Json:
        """Return the analysis of a match's record.

        `places` has the expected places of all seats at each decision, and at the end, `seats` by seat the
        loss and the `costliest` decisions, as `happycity analyse --json` has them.

        Raises:
            ApiError: too many analyses are wanted already.
        """
        return await self._made.get(match_id, lambda: self._turns.take(lambda: _made(record)))


async def _made(record: str) -> Json:
    return _shown(json.loads(await _analysed(record)))


async def _analysed(record: str) -> bytes:
    """Return what the command prints of a record."""
    with tempfile.TemporaryDirectory(prefix="happycity-") as folder:
        file = Path(folder, "game.json")
        await asyncio.to_thread(file.write_text, record, encoding="utf-8")
        return await module_output("happycity", "analyse", str(file), "--every-seat", "--json")


def _shown(content: Json) -> Json:
    """Return what pages show of an analysis; all decisions with their positions would fill the memory."""
    seats = content["seats"]
    return {
        "evaluator": seats[0]["evaluator"],
        "places": content["places"],
        "seats": [
            {
                "loss": seat["loss"],
                "costliest": [
                    {name: decision[name] for name in _OF_DECISION}
                    for decision in seat["decisions"][:COSTLIEST]
                    if decision["line"]
                ],
            }
            for seat in seats
        ],
    }
