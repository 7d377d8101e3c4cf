"""Scripted MCP clients: they play by the tools alone, as an agent does."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from happycity_client import Settings
from happycity_mcp.agents import Agents
from happycity_mcp.server import mcp_server


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@dataclass
class Player:
    client: Client
    name: str
    key: str = ""
    texts: list[str] = field(default_factory=list)
    """What was read so far."""

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, which must not refuse; return its fields."""
        result = await self.client.call_tool(tool, {"key": self.key, **arguments})
        assert not result.is_error, text_of(result)
        assert isinstance(result.structured_content, dict)
        self.texts.append(text_of(result))
        return result.structured_content

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """Call a tool, which must refuse; return what a model reads."""
        result = await self.client.call_tool(tool, {"key": self.key, **arguments})
        assert result.is_error
        return text_of(result)

    async def play(self, update: dict[str, Any], move: int = 0) -> dict[str, Any]:
        """Play the legal move at a position of the list; return what comes next."""
        return await self.call(
            "play_move",
            match=update["match"],
            decision_id=update["decision_id"],
            move=update["legal_moves"][move],
        )

    async def play_to_end(self, update: dict[str, Any], move: int = 0) -> list[dict[str, Any]]:
        while not update["results"]:
            if update["state"] == "your_turn":
                update = await self.play(update, move)
            else:
                update = await self.call("wait_for_turn", timeout=50)
        results: list[dict[str, Any]] = update["results"]
        return results


async def joined(client: Client, name: str) -> Player:
    player = Player(client, name)
    player.key = (await player.call("join", name=name))["key"]
    return player


def stdio(address: str) -> Client:
    """Return a client that starts the command, as agents' programs do."""
    arguments = ["-m", "happycity", "mcp", "--server", address]
    return Client(StdioServerParameters(command=sys.executable, args=arguments))


def agents_of(address: str, *, is_shared: bool = True, clock: Callable[[], float] | None = None) -> Agents:
    clock = clock or asyncio.get_running_loop().time
    return Agents(settings_at(address), clock, is_shared=is_shared)


def settings_at(address: str) -> Callable[[str], Settings]:
    return lambda name: Settings(name=name, server=address, games=1)


@asynccontextmanager
async def in_process(address: str, *, is_shared: bool = True) -> AsyncIterator[Client]:
    agents = agents_of(address, is_shared=is_shared)
    try:
        async with Client(mcp_server(agents)) as client:
            yield client
    finally:
        await agents.close()


@asynccontextmanager
async def playing(address: str, name: str = "ann") -> AsyncIterator[Player]:
    async with in_process(address) as client:
        yield await joined(client, name)


def golden(name: str) -> Any:
    return json.loads((Path(__file__).parent / "golden" / name).read_text())
