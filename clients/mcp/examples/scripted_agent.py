"""Play one practice game by MCP: a script in the place of an agent."""

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "happycity", "mcp"], env=dict(os.environ))


async def main(opponents: list[str]) -> None:
    """Join as `script`, play the last legal move each time, and print the result."""
    async with Client(SERVER) as arena:
        await arena.call_tool("join", {"name": "script"})
        answer = await arena.call_tool("practice", {"against": opponents})
        while not answer.is_error and not (turn := answer.structured_content)["results"]:
            if turn["state"] == "your_turn":
                answer = await arena.call_tool(
                    "play_move",
                    {
                        "match": turn["match"],
                        "decision_id": turn["decision_id"],
                        "move": turn["legal_moves"][-1],
                    },
                )
            else:
                answer = await arena.call_tool("wait_for_turn", {})
        print(*(part.text for part in answer.content if part.type == "text"))


asyncio.run(main(sys.argv[1:] or ["greedy"]))
