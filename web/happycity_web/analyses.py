"""Analyses of finished matches, made by `happycity analyse` in processes of low priority."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from happycity.records.record import Json
from happycity_web.background import output_of

KEPT = 200
"""Analyses that are kept, those asked for last."""
COSTLIEST = 3
"""Decisions of each seat that become questions."""
_OF_DECISION = ("decision", "round", "phase", "loss", "losses", "line")


async def analysis_of(record: str) -> Json:
    """Return the analysis of a match's record, by the evaluator of the installed version.

    `places` has the expected places of all seats at each decision, and at the end, `seats` by seat the
    loss and the `costliest` decisions, as `happycity analyse --json` has them.
    """
    with tempfile.TemporaryDirectory(prefix="happycity-") as folder:
        file = Path(folder, "game.json")
        await asyncio.to_thread(file.write_text, record, encoding="utf-8")
        output = await output_of("happycity", "analyse", str(file), "--every-seat", "--json")
    return _shown(json.loads(output))


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
