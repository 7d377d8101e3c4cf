"""What it takes to play a tournament, and the file by which a run that ended early can be gone on with."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from sqlalchemy import URL, make_url

from happycity import ConfigError
from happycity.records import Json
from happycity_tournament.access import Access
from happycity_tournament.config import TournamentConfig
from happycity_tournament.sources import path_of

PLAN_FILE = "plan.json"
FORMAT = "happycity-plan/1"
RUNS = Path("runs")
"""Where the folders of runs are made."""
STORE_FILE = "games.sqlite"
"""The store of a run that was given no other, in its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A tournament and the processes that it takes."""

    config: TournamentConfig | None = None
    """What to set up; None goes on with a tournament that is there."""
    tournament_id: int | None = None
    """The tournament to go on with; None sets one up."""
    builtin: tuple[str, ...] = ()
    """Reference bots to start, `NAME` or `NAME=BOT`."""
    commands: tuple[tuple[str, str], ...] = ()
    """Other bots to start: name and command."""
    join: tuple[str, ...] = ()
    """Bots that connect by themselves."""
    server: str | None = None
    """Address of a running server; None starts one."""
    address: str | None = None
    """Where the server that was started listens; of use as long as that runs."""
    access: Access = field(default_factory=Access)
    """How to be let in by a running server."""
    store: str
    """Database URL for the server that is started; of no use where a server runs."""
    logs: Path
    """Folder for the output of all processes."""
    processes: int = 1
    """Among how many processes the reference bots are shared out."""
    directory: Path = field(default_factory=Path.cwd)
    """Where the commands of bots are started."""

    @property
    def names(self) -> list[str]:
        """The names of all bots."""
        return [
            *(entry.partition("=")[0] for entry in self.builtin),
            *(name for name, _ in self.commands),
            *self.join,
        ]

    @property
    def where(self) -> str:
        """Where the games are kept, without a password."""
        if self.server is not None:
            return f"the store of {self.server}"
        return make_url(self.store).render_as_string(hide_password=True)

    @property
    def has_output(self) -> bool:
        """Whether processes are started for it, whose output is kept in its folder."""
        return self.server is None or bool(self.builtin or self.commands)

    @property
    def file(self) -> Path:
        """The file that `save` writes."""
        return self.logs / PLAN_FILE

    @property
    def resume_command(self) -> str | None:
        """What a person may type to go on with it; None if it was never begun."""
        if self.file.exists():
            return f"tournament resume {self.logs}"
        if self.server is not None and self.tournament_id is not None:
            return f"tournament resume --server {self.server} {self.tournament_id}"
        return None

    def save(self, tournament_id: int) -> None:
        """Write down what it takes to go on with a tournament; neither a token nor a password is in it."""
        text = json.dumps({"format": FORMAT, "tournament": tournament_id, **self._json()}, indent=2) + "\n"
        unfinished = self.file.with_suffix(".tmp")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self.file)  # so that whoever is killed leaves a whole file or none

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote into a run's folder.

        Raises:
            ConfigError: there is nothing of the kind.
        """
        path = folder / PLAN_FILE
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            if told["format"] != FORMAT:
                raise ConfigError(
                    f"{path}: its format is {told['format']!r}, and this version reads {FORMAT}"
                )
            return cls(**_fields(told, folder))
        except FileNotFoundError:
            raise ConfigError(
                f"{folder} is no folder of a run that began its tournament: there is no {path}"
            ) from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"{path} can't be read as a plan: {error!r}") from None

    def at(self, *, store: str | None, access: Access) -> Self:
        """Return the plan with another URL of its store, as with a password in it, and ways to be let in."""
        return replace(self, store=store or self.store, access=_merged(self.access, access))

    def with_bots(self, more: Plan) -> Self:
        """Return the plan with the bots of another one too."""
        return replace(
            self,
            builtin=(*self.builtin, *more.builtin),
            commands=(*self.commands, *more.commands),
            join=(*self.join, *more.join),
        )

    def without_bot(self, name: str) -> Self:
        """Return the plan without a bot."""
        return replace(
            self,
            builtin=tuple(entry for entry in self.builtin if entry.partition("=")[0] != name),
            commands=tuple((bot, command) for bot, command in self.commands if bot != name),
            join=tuple(bot for bot in self.join if bot != name),
        )

    def _json(self) -> Json:
        access = self.access
        return {
            "server": self.server,
            "address": self.address,
            "tls": access.tls,
            **{name: _absolute(getattr(access, name)) for name in ("ca", "cert", "key")},
            "store": None if self.server is not None else _kept(self.store, self.logs),
            "builtin": list(self.builtin),
            "commands": dict(self.commands),
            "join": list(self.join),
            "processes": self.processes,
            "directory": str(self.directory),
        }


def new_folder() -> Path:
    """Make a folder for a run, named after the time."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number = 1
    while True:
        folder = RUNS / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return folder


def _fields(told: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    ca, cert, key = (Path(told[name]) if told[name] else None for name in ("ca", "cert", "key"))
    return {
        "tournament_id": int(told["tournament"]),
        "builtin": tuple(told["builtin"]),
        "commands": tuple(told["commands"].items()),
        "join": tuple(told["join"]),
        "server": told["server"],
        "address": told.get("address"),  # plans of earlier versions have none
        "access": Access(tls=bool(told["tls"]), ca=ca, cert=cert, key=key),
        "store": told["store"] or f"sqlite:///{(folder / STORE_FILE).as_posix()}",
        "logs": folder,
        "processes": int(told["processes"]),
        "directory": Path(told["directory"]),
    }


def _kept(store: str, folder: Path) -> str | None:
    """Return a store's URL as it holds from anywhere, without its password; None for the folder's own store.

    So a folder may be moved. PostgreSQL has places of its own for passwords.
    """
    path = path_of(store)
    if path is None:
        return _without_password(make_url(store)).render_as_string(hide_password=False)
    if path.resolve() == (folder / STORE_FILE).resolve():
        return None
    return make_url(store).set(database=str(path.resolve())).render_as_string(hide_password=False)


def _without_password(url: URL) -> URL:
    bare = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    return bare.difference_update_query(["password"])


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def _merged(kept: Access, given: Access) -> Access:
    return Access(
        token=given.token,
        tls=given.tls or kept.tls,
        ca=given.ca or kept.ca,
        cert=given.cert or kept.cert,
        key=given.key or kept.key,
    )
