"""The agents that play by this server, one bot each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from happycity_client import Settings
from happycity_mcp.agent import Agent, AgentError
from happycity_runtime.addresses import network_of
from happycity_runtime.fair_share import FairShare

MAX_AGENTS = 32
"""How many agents may play at once; for a further one, an address with more of them loses one."""
IDLE_SECONDS = 1800.0
"""An agent that has called nothing in this time has gone, and its bot leaves the arena."""
ROOM_SECONDS = 60.0
"""An agent that has called nothing in this time leaves the arena if another one needs its place."""
SWEEP_SECONDS = 10.0
"""How often idle agents are looked for."""


class Agents:
    """Keeps the agents that have joined.

    MCP has no sessions from version 2026-07-28 on, so over HTTP an agent shows the key that it got when it
    joined. Over stdio there is one agent, and it needs none.
    """

    def __init__(
        self, settings_of: Callable[[str], Settings], clock: Callable[[], float], *, is_shared: bool
    ) -> None:
        """Begin without agents; `is_shared` says whether several may join."""
        self.is_shared = is_shared
        self.clock = clock
        """Seconds."""
        self._settings_of = settings_of
        self._agents: dict[str, Agent] = {}  # by key
        self._places = FairShare[Agent](
            MAX_AGENTS, choose=lambda own: min(own, key=lambda agent: agent.last_used)
        )

    async def join(self, name: str, caller: str = "") -> Agent:
        """Connect a bot for an agent, which calls from the address `caller`.

        Where all places are taken, an idle agent leaves, or one of the caller that has the most.

        Raises:
            AgentError: it plays here already, or there is no room.
            HappyCityError: the arena can't be reached, or refuses the bot.
        """
        settings = self._settings_of(name)
        for ended in [agent for agent in self._agents.values() if agent.has_ended]:
            await self.leave(ended)
        taken = {agent.name for agent in self._agents.values()}
        if settings.name in taken:
            raise AgentError(f"{settings.name} plays here already; choose another name, or leave first")
        if taken and not self.is_shared:
            raise AgentError(f"you play as {next(iter(taken))} already; call leave first")
        idle = [agent for agent in self._agents.values() if agent.is_idle(ROOM_SECONDS)]
        if idle and len(self._agents) >= self._places.most:
            await self.leave(min(idle, key=lambda agent: agent.last_used))
        agent = Agent(settings, self.clock)
        leaving = self._places.take(network_of(caller), agent)
        if leaving is agent:
            raise AgentError(f"{self._places.most} agents play here already; try again later")
        self._agents[agent.key] = agent
        try:
            if leaving is not None:
                await self.leave(leaving)
            with self.using(agent.key):
                await agent.connect()
        except BaseException:
            await self.leave(agent)
            raise
        return agent

    @contextmanager
    def using(self, key: str) -> Iterator[Agent]:
        """Yield the agent with a key, and note that it is there; AgentError if there is none."""
        agent = self._agents.get(key)
        if agent is None and not self.is_shared and not key:
            agent = next(iter(self._agents.values()), None)
        if agent is None:
            what = f"key: {key[:40]!r} belongs to no bot" if key else "you have not joined"
            also = " and give the key that it returns" if self.is_shared else ""
            raise AgentError(f"{what}; call join first{also}")
        agent.calls += 1
        try:
            yield agent
        finally:
            agent.calls -= 1
            agent.last_used = self.clock()

    async def leave(self, agent: Agent) -> None:
        """Disconnect an agent's bot."""
        self._agents.pop(agent.key, None)
        self._places.leave(agent)
        await agent.close()

    async def sweep(self) -> None:
        """Let idle agents leave, until this is cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.end_idle()

    async def end_idle(self) -> None:
        """Let those agents leave that have called nothing for long."""
        for agent in [*self._agents.values()]:
            if agent.is_idle(IDLE_SECONDS):
                await self.leave(agent)

    async def close(self) -> None:
        """Disconnect all."""
        await asyncio.gather(*map(self.leave, [*self._agents.values()]))
