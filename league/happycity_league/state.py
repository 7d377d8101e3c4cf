"""Where a league stands: one file, in which each phase of each cycle is noted when it is done.

A phase that was killed is begun again, from what the phases before it left.
"""

from __future__ import annotations

import fcntl
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from happycity.errors import ConfigError, other_format
from happycity_league.config import LeagueConfig, version_name
from happycity_runtime.files import replacing
from happycity_tournament.client.run_folder import STORE_FILE, own_store
from happycity_tournament.plain_json import adapter
from happycity_tournament.proof.commitment import Commitment, bots_digest, digest_of
from happycity_tournament.ratings.comparison import BotComparison
from happycity_tournament.storage.sources import StoreSource

STATE_FILE = "league.json"
_FORMAT = "happycity-league/1"


class EditOutcome(Enum):
    """What became of an edit."""

    WAITING = "waiting"
    """A person edits now."""
    EDITED = "edited"
    """There is a new version, or a first one, which was not tried yet."""
    ACCEPTED = "accepted"
    """The new version passed its trial, and plays."""
    UNCHANGED = "unchanged"
    """The files that are submitted are those of the version before."""
    FAILED = "failed"
    """The command failed, or exceeded a limit; the project is that of the cycle before again."""
    REJECTED = "rejected"
    """The new version can't be submitted, or failed its trial; the project stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What an agent did in a cycle."""

    outcome: EditOutcome = EditOutcome.EDITED
    reason: tuple[str, ...] = ()
    """Why it failed or was rejected, or how the trial went, in lines for people."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    changed_lines: int = 0
    """Lines that were added or removed."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """What the agent itself reports: tokens, money."""
    digest: str = ""
    """SHA-256 of the new version as it was submitted; "" without one."""
    content: str = ""
    """The same of the last version that was submitted, without its name: equal for equal files."""
    plays: str = ""
    """The version that plays for the agent from now on; "" as long as none has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One cycle: edits, trials, games."""

    number: int
    edits: Mapping[str, Edit] = field(default_factory=dict)
    """By agent, in the order of the file."""
    chain: str = ""
    """The head of the chain of commitments, from the trials on, before the first deal; "" before them."""
    is_played: bool = False
    """Whether all games are stored."""
    gains: Mapping[str, BotComparison] = field(default_factory=dict)
    """By agent with a new version: its games compared with those of the version before on the same deals."""
    evaluator: str = ""
    """The digest of the evaluator that took the luck off the gains; "" before there are any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredLeague:
    """The content of the file."""

    format: str = _FORMAT
    cycles: list[Cycle]


@dataclass(slots=True)
class AgentLeague:
    """A league in its folder."""

    folder: Path
    config: LeagueConfig
    commitment: Commitment
    cycles: list[Cycle]

    @classmethod
    def create(cls, folder: Path, config: LeagueConfig) -> Self:
        """Make the folder of a new league, with its commitment."""
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            advice = f"continue with: happycity league resume {folder}"
            raise ConfigError(f"{folder} is there already; {advice}, or name another by --out") from None
        commitment = Commitment(
            seed=secrets.randbits(53) if config.seed is None else config.seed,
            salt=config.salt or secrets.token_hex(32),
            config=config.public(),
            programs={anchor: f"{anchor} {bots_digest()}" for anchor in config.anchors},
        )
        commitment.save(folder)
        league = cls(folder.resolve(), config, commitment, [])
        league.save()
        return league

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a league from its folder; ConfigError if that is not one."""
        path = folder / STATE_FILE
        try:
            stored = adapter(_StoredLeague).validate_json(path.read_bytes())
            if stored.format != _FORMAT:
                raise ConfigError(f"{path}: {other_format(stored.format, _FORMAT)}")
            commitment = Commitment.load(folder)
            config = LeagueConfig.model_validate(commitment.config)
        except (FileNotFoundError, NotADirectoryError):
            raise ConfigError(f"{folder} is not the folder of a league: there is no {path}") from None
        except ValidationError as error:
            raise ConfigError(f"{path} can't be read as a league: {error.errors()[0]['msg']}") from None
        return cls(folder.resolve(), config, commitment, stored.cycles)

    def save(self) -> None:
        """Store where the league stands; a kill leaves the whole file or the one before."""
        with replacing(self.folder / STATE_FILE) as partial:
            stored = _StoredLeague(cycles=self.cycles)
            partial.write_bytes(adapter(_StoredLeague).dump_json(stored, indent=1) + b"\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other programs from running the league; ConfigError if one does."""
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigError(f"{self.folder}: another program runs this league") from None
            yield

    @property
    def is_over(self) -> bool:
        """Whether all cycles were played."""
        return len(self.cycles) > self.config.cycles and self.cycles[-1].is_played

    @property
    def tables(self) -> dict[str, int]:
        """The tournaments in its store: their ids, by title."""
        if not (self.folder / STORE_FILE).exists():
            return {}
        with closing(self.games()) as source:
            return {one.config["title"]: one.id for one in source.tournaments()}

    def games(self, title: str = "") -> StoreSource:
        """Return its games, or those of the tournament with a title; the caller closes the source."""
        return StoreSource(own_store(self.folder), tournament=self.tables[title] if title else None)

    def begin_cycle(self) -> None:
        """Begin a new cycle if the last one was played."""
        if not self.cycles or self.cycles[-1].is_played:
            self.cycles.append(Cycle(number=len(self.cycles)))

    def change(self, **fields: Any) -> None:
        """Change the last cycle, and store it."""
        self.cycles[-1] = replace(self.cycles[-1], **fields)
        self.save()

    def before(self, agent: str, cycle: Cycle) -> Edit:
        """Return the agent's edit of the cycle before; an empty one in cycle 0."""
        return self.cycles[cycle.number - 1].edits[agent] if cycle.number else Edit()

    def compared(self, cycle: Cycle) -> dict[str, tuple[str, str]]:
        """Return the agents with a new version in a cycle: the one before, and the new one."""
        pairs = {
            name: (self.before(name, cycle).plays, edit.plays)
            for name, edit in cycle.edits.items()
            if edit.outcome is EditOutcome.ACCEPTED
        }
        return {name: pair for name, pair in pairs.items() if pair[0]}

    @property
    def renamed(self) -> dict[str, str]:
        """By name under which a version played: how people call it, NAME@CYCLE."""
        return {
            version_name(agent, cycle.number): f"{agent}@{cycle.number}"
            for cycle in self.cycles
            for agent, edit in cycle.edits.items()
            if edit.outcome is EditOutcome.ACCEPTED
        }

    def link(self, cycle: Cycle) -> str:
        """Return the head of the chain of commitments after a cycle's trials."""
        before = self.cycles[cycle.number - 1].chain if cycle.number else self.commitment.hash
        versions = {name: [edit.plays, edit.digest] for name, edit in cycle.edits.items()}
        return digest_of([before, cycle.number, versions])
