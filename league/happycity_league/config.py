"""What a league consists of: the file that `happycity league run` reads."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from happycity import Config, ConfigError, Mode
from happycity.errors import FieldError, HappyCityError, suggestion
from happycity.match import REFERENCE_BOTS
from happycity_runtime.child import split_command
from happycity_runtime.settings import CommandSettings, load
from happycity_tournament.config import check_bots

_Text = Annotated[str, Field(strict=True, min_length=1)]
_Count = Annotated[int, Field(strict=True, ge=1)]
_Seconds = Annotated[float, Field(gt=0, le=7 * 86400)]
MOST_CYCLES = 1000


class AgentConfig(CommandSettings):
    """One agent, with its first project and the command that edits it."""

    name: _Text
    """Its name; its versions play as NAME-0, NAME-1 and so on."""
    project: _Text
    """The folder of its first project, relative to the league's file."""
    command: str = ""
    """What edits and builds the project, in its folder; "" for an agent that never edits it."""
    wait: bool = False
    """Whether a person edits the project: the league stops, and goes on when it is resumed."""
    seconds: _Seconds = 3600.0
    """The time that an edit may take."""
    cpu_seconds: _Seconds = 3600.0
    """The CPU time of all its processes."""
    memory_mb: _Count = 4096
    """The memory of all its processes."""
    disk_mb: _Count = 1024
    """The size of the project's folder."""
    network: bool = True
    """Whether edits have the network; bots never have."""
    writable: tuple[str, ...] = ()
    """Folders outside of the project that edits may change, such as a cache; agents must not share one."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.wait and self.command:
            raise ValueError("command: it has no effect with wait, as a person edits the project")
        try:
            if self.command:
                split_command(self.command)
        except HappyCityError as error:
            raise ValueError(f"{error}") from None
        return self


class LeagueConfig(CommandSettings):
    """The whole league."""

    cycles: Annotated[int, Field(strict=True, ge=1, le=MOST_CYCLES)] = 15
    """How often all agents edit; cycle 0 plays the first projects before that."""
    deals: Annotated[int, Field(strict=True, ge=2, le=100_000)] = 100
    """Deals of each table in a cycle, each in all rotations of the seats."""
    seats: Annotated[int, Field(strict=True, ge=2, le=5)] = 4
    """Seats at a table."""
    mode: Mode = Mode.FAMILY
    """Rules and special buildings."""
    anchors: tuple[_Text, ...] = ("greedy", "careless", "planner")
    """Reference bots that stay; the rating of the first one is fixed."""
    decision_seconds: _Seconds = 10.0
    """Seconds for each decision of a bot."""
    share_games: bool = False
    """Whether agents see all games of the last cycle, and not those of their own version alone."""
    share_code: bool = False
    """Whether agents see the projects of all others as they were at the end of the last cycle."""
    seed: Annotated[int, Field(strict=True, ge=0, le=2**63)] | None = None
    """Seed of all deals; random by default."""
    salt: Annotated[str, Field(min_length=16, max_length=256)] | None = None
    """Random text that hides the seed in the commitment; random by default."""
    agents: tuple[AgentConfig, ...]
    """The agents."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            if unknown := [anchor for anchor in self.anchors if anchor not in REFERENCE_BOTS]:
                text = f"{unknown[0]!r} is not a reference bot; {suggestion(unknown[0], REFERENCE_BOTS)}"
                raise FieldError("anchors", text)
            check_bots([*self.anchors, *(agent.name for agent in self.agents)])
            check_bots([version_name(agent.name, MOST_CYCLES) for agent in self.agents])
        except ConfigError as error:
            raise ValueError(f"{error}".replace("bots: ", "agents: ")) from None
        if not self.agents:
            raise ValueError("agents: there are none; name one by [[agents]]")
        if len(self.anchors) < self.seats - 1:
            few = f"{len(self.anchors)} are too few for a table of {self.seats} seats"
            raise ValueError(f"anchors: {few}; name {self.seats - 1} reference bots at least")
        return self

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file; SettingsError or ConfigError if it can't be one, or a first project isn't there."""
        read, agents = load(cls, {}, file=file), []
        for number, agent in enumerate(read.agents, start=1):
            project = (file.parent / agent.project).resolve()
            if not (project / "bot.toml").is_file():
                text = f"there is no {project}/bot.toml; make a project by: happycity new-bot"
                raise FieldError(f"{file}: agents[{number}].project", text)
            agents.append(agent.model_copy(update={"project": str(project)}))
        return read.model_copy(update={"agents": tuple(agents)})

    @property
    def game(self) -> Config:
        """The kind of game."""
        return Config(players=self.seats, mode=self.mode)

    def public(self) -> dict[str, Any]:
        """Return what is committed to, as JSON."""
        return self.model_dump(mode="json", exclude={"seed", "salt"})


def version_name(agent: str, cycle: int) -> str:
    """Return the name under which the version of a cycle plays."""
    return f"{agent}-{cycle}"


def cycle_seed(seed: int, salt: str, cycle: int, table: str) -> int:
    """Return the seed of a cycle's tables, below 2^53; without seed and salt no one can know it before."""
    digest = hashlib.sha256(f"happycity league {seed} {salt} {cycle} {table}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11
