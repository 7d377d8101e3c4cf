"""The folder of a run: its tournament, server and bots, so that it can be continued from another process."""

# ruff: noqa: PLC0415 - a run starts its processes before it imports what reads databases

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from happycity.errors import ConfigError, HappyCityError
from happycity_runtime.environment import SERVER_VARIABLE
from happycity_runtime.files import replacing
from happycity_runtime.transport import DEFAULT_ADDRESS, Access, Target
from happycity_tournament.lineup import Lineup

RUNS = Path("runs")
"""Where the folders of runs are made."""
RUN_FILE = "run.json"
STORE_FILE = "games.sqlite"
"""The store of a run without another one."""
TOKENS_FILE = "tokens.json"
"""The tokens of a run's own server, as hashes."""
USAGE_FILE = "usage.jsonl"
"""A line for each process of bots that has ended, with the CPU time that it took."""
REPLAYS_FOLDER = "replays"
"""Where `happycity show --browser` writes the pages of a run's games."""
SERVER_FILE = "server.json"
"""Where a run's own server is, with the organiser's token, as long as the run lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServer:
    """A server that the run starts."""

    store: str
    """The URL of its store."""
    workers: int = 0
    """Processes that play games beside it."""
    ray: str | None = None
    """The Ray cluster on whose nodes these are; there, 0 workers are as many as the nodes have CPUs for."""
    hosted: Path | None = None
    """The folder of submissions that it plays; None: it hosts no bots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteServer:
    """A server that runs already."""

    address: str
    access: Access = field(default_factory=Access)
    """How it lets the organiser in."""

    @property
    def url(self) -> str:
        """The address with its scheme, as commands take it."""
        return str(Target.parse(self.address))

    @classmethod
    def at(cls, address: str | None, *, setting: str = "--server", bot: str = "") -> Self:
        """Return the server with an address, by default that of HAPPYCITY_SERVER, else the usual one here.

        The token is the environment's: that of `bot`, which it may have among others. ConfigError if the
        address can't be one; `setting` is what names it.
        """
        text = address
        if not text:
            text, setting = os.environ.get(SERVER_VARIABLE) or DEFAULT_ADDRESS, SERVER_VARIABLE
        Target.parse(text, setting=setting)
        return cls(address=text, access=Access.of_bot(bot) if bot else Access.from_env())

    @classmethod
    def of_run(cls, folder: Path) -> Self | None:
        """Return a run's own server by the run's folder; None if the folder names none.

        A run that was killed leaves the file behind.
        """
        try:
            content = json.loads((folder / SERVER_FILE).read_text(encoding="utf-8"))
            return cls(address=str(content["address"]), access=Access(token=str(content["token"])))
        except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError):
            return None

    @contextmanager
    def announced(self, folder: Path) -> Iterator[None]:
        """Let other commands of the same user find a run's own server while the context lasts."""
        path = folder / SERVER_FILE
        content = {"address": self.address, "token": self.access.token}
        with replacing(path, private=True) as partial:
            partial.write_text(json.dumps(content) + "\n", encoding="utf-8")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


ServerChoice = OwnServer | RemoteServer
"""Where a tournament is played."""


class Run(BaseModel):
    """A tournament, with all that is needed to continue it; its file has neither a token nor a password."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal["happycity-run/1"] = "happycity-run/1"
    folder: Path = Field(default=Path(), exclude=True)
    """Where its file and the output of its processes are."""
    tournament_id: int = Field(
        validation_alias=AliasChoices("tournament", "tournament_id"), serialization_alias="tournament"
    )
    created_at: float
    """Unix time of the tournament's creation, as its store has it."""
    venue: OwnServer | RemoteServer
    """In the file, a store in the run's folder is "", so that the folder may be moved."""
    lineup: Lineup

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a run from its folder; ConfigError if that is not one, or its file can't be read."""
        path = folder / RUN_FILE
        try:
            run = cls.model_validate_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise ConfigError(f"{folder} is not the folder of a run: there is no {path}") from None
        except ValidationError as error:
            problem = error.errors()[0]
            where = "".join(f"{part}: " for part in problem["loc"])
            raise ConfigError(f"{path} can't be read as a run: {where}{problem['msg']}") from None
        venue = run.venue
        if isinstance(venue, OwnServer):
            venue = replace(venue, store=venue.store or own_store(folder))
        return run.model_copy(update={"folder": folder, "venue": venue})

    def save(self) -> None:
        """Write the file of the run; a kill leaves the whole file or none."""
        content = self.model_copy(update={"venue": self._saved_venue()})
        with replacing(self.folder / RUN_FILE) as partial:
            partial.write_text(content.model_dump_json(indent=2, by_alias=True) + "\n", encoding="utf-8")

    def _saved_venue(self) -> ServerChoice:
        """Return where the run is played as it holds from anywhere, without secrets."""
        if isinstance(self.venue, OwnServer):
            return replace(self.venue, store=_stored_url(self.venue.store, self.folder))
        access = self.venue.access
        ca, cert, key = (path and path.absolute() for path in (access.ca, access.cert, access.key))
        return replace(self.venue, access=Access(ca=ca, cert=cert, key=key))

    def remove(self) -> None:
        """Remove what the run has made; other files stay, and so does a store that holds more."""
        from happycity_tournament.config import COMMITMENT_FILE
        from happycity_tournament.storage.claims import LOCK_SUFFIX
        from happycity_tournament.storage.store import Store

        made = [RUN_FILE, COMMITMENT_FILE, SERVER_FILE, TOKENS_FILE, USAGE_FILE, f".{TOKENS_FILE}.lock"]
        if isinstance(self.venue, OwnServer) and self.venue.store == own_store(self.folder):
            with Store.existing(self.venue.store) as store:
                is_empty = not store.tournaments(1) and not store.games(1)
            if is_empty:
                made += [f"{STORE_FILE}{suffix}" for suffix in ("", LOCK_SUFFIX, "-wal", "-shm")]
        for path in (*(self.folder / name for name in made), *self.folder.glob("*.log")):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # other files are left
            self.folder.rmdir()


def own_store(folder: Path) -> str:
    """Return the URL of the store in a run's folder."""
    return f"sqlite:///{(folder / STORE_FILE).as_posix()}"


def new_folder() -> Path:
    """Make a folder for a run, named after the time in UTC."""
    RUNS.mkdir(mode=0o700, parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    for number in count(1):
        folder = RUNS / (stamp if number == 1 else f"{stamp}-{number}")
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            return folder
    raise AssertionError("the numbers have no end")


@contextmanager
def discarded_unless_begun(folder: Path) -> Iterator[None]:
    """Remove a folder that `new_folder` made if its run ends before it is created.

    It stays if the error says that the cause is in it.
    """
    try:
        yield
    except BaseException as error:
        is_place = isinstance(error, HappyCityError) and str(folder) in str(error)
        if not (folder / RUN_FILE).exists() and not is_place:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def run_folders() -> list[Path]:
    """Return the folders of all runs, by what they say of their creation, the newest first.

    One that can't be read may be the newest, so it comes before the others.
    """
    return sorted((path.parent for path in RUNS.glob(f"*/{RUN_FILE}")), key=_creation, reverse=True)


def _creation(folder: Path) -> tuple[float, str]:
    try:
        return Run.load(folder).created_at, folder.name
    except ConfigError:
        return math.inf, folder.name


def latest_run() -> Path:
    """Return the folder of the newest run, or raise a ConfigError."""
    folders = run_folders()
    if not folders:
        raise ConfigError(f"there is no run in {RUNS}/; name a tournament, or start one with: tournament run")
    return folders[0]


def without_password(store: str) -> str:
    """Return a store's URL without its password."""
    from sqlalchemy import URL, make_url

    url = make_url(store)
    bare = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    return bare.difference_update_query(["password"]).render_as_string(hide_password=False)


def _stored_url(store: str, folder: Path) -> str:
    """Return a store's URL as it holds from anywhere; "" for the folder's own store.

    PostgreSQL has places of its own for passwords.
    """
    if store == own_store(folder):  # without SQLAlchemy, for which a run would wait
        return ""

    from sqlalchemy import make_url

    from happycity_tournament.storage.sources import path_of

    path = path_of(store)
    if path is None:
        return without_password(store)
    if path.resolve() == (folder / STORE_FILE).resolve():
        return ""
    return make_url(store).set(database=str(path.resolve())).render_as_string(hide_password=False)
