"""Where a tournament or its games are, as every command takes it.

| address | what is meant |
|---|---|
| `runs/x` | the folder of a run: its tournament, on its server or in its store |
| `runs/x#3` | tournament 3 of the server or store of a run |
| `games.sqlite#3`, `postgresql://host/db#3` | tournament 3 of a store |
| `grpc://host:port#3`, `grpcs://host:port#3` | tournament 3 of a server |
| `games.jsonl`, a folder of records | games of no tournament |

Without `#3`, a tournament is the latest one of its store or server. Without an address, the place is the
server of HAPPYCITY_SERVER, else the latest run. A HappyCityError says why an address can't be used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from happycity.errors import ConfigError, suggestion
from happycity.match import one_line
from happycity_runtime.environment import SERVER_VARIABLE
from happycity_runtime.transport import Access, is_unix
from happycity_tournament.client.connection import call_server
from happycity_tournament.client.run_folder import (
    RUN_FILE,
    TOKENS_FILE,
    OwnServer,
    RemoteServer,
    Run,
    latest_run,
    run_folders,
    without_password,
)
from happycity_tournament.client.server_source import ServerSource
from happycity_tournament.config import COMMITMENT_FILE
from happycity_tournament.games import LARGEST_ID, FinishedGame
from happycity_tournament.recorded_games import RecordedGame
from happycity_tournament.standings.counted import configs_of
from happycity_tournament.storage.sources import LIST_GAMES, RecordSource, Source, StoreSource, is_sqlite
from happycity_tournament.storage.store import Store

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d{1,5}")
_SHOWN = 80
"""Characters of a wrong address that are repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A server, or a store by its URL, and which of its tournaments is meant."""

    at: RemoteServer | str
    tournament_id: int | None = None
    """None: not said."""
    run: Run | None = None
    """The run whose folder was named, if one was."""

    @property
    def name(self) -> str:
        """The server or store, for people: without a password."""
        return self.at.url if isinstance(self.at, RemoteServer) else without_password(self.at)

    @property
    def address(self) -> str:
        """The tournament as commands take it."""
        known = None if self.run is None else self.run.tournament_id
        number = "" if self.tournament_id == known else f"#{self.tournament_id}"
        return f"{self.name if self.run is None else self.run.folder}{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentLocation(Location):
    """A tournament on a server, or in a store that no server uses or that is only read."""

    tournament_id: int


def location_at(address: str | None) -> Location:
    """Return the server or store that an address names."""
    text, number = _split(address or "")
    if not text:
        if os.environ.get(SERVER_VARIABLE):
            return Location(at=RemoteServer.at(None), tournament_id=number)
        return _location_of_run(latest_run(), number)
    if is_unix(text) or text.startswith(("grpc://", "grpcs://")):
        return Location(at=RemoteServer.at(text, setting="ADDRESS"), tournament_id=number)
    if "://" in text:
        return Location(at=text, tournament_id=number)
    path = Path(text)
    if is_run(path):
        return _location_of_run(path, number)
    if os.path.exists(path) and is_sqlite(path):
        return Location(at=url_of(text), tournament_id=number)
    raise ConfigError(_not_a_location(text))


def find_tournament(address: str | None, *, only: bool = False) -> TournamentLocation:
    """Return the tournament that an address names, by default the latest one of its server or store.

    With `only`, one of several has to be named by its number. If a run is being played, its tournament is on
    the run's own server.
    """
    location = location_at(address)
    number = location.tournament_id
    if number is None:
        ids = _ids(location)
        if not ids:
            raise ConfigError(f"{location.name} has no tournament")
        if only and len(ids) > 1:
            how = f"name one by its number: {location.name}#{ids[0]}"
            raise ConfigError(f"{location.name} has {len(ids)} tournaments; {how}")
        number = ids[0]
    at, run = location.at, location.run
    if run is not None and not isinstance(at, RemoteServer):
        with Store.existing(at) as store:
            server = RemoteServer.of_run(run.folder) if store.is_claimed() else at
        if server is None:
            raise ConfigError(
                f"the store of {run.folder} is in use by a server that the run didn't start; "
                f"name the tournament on that server: grpc://HOST:PORT#{run.tournament_id}"
            )
        at = server
    return TournamentLocation(at=at, tournament_id=number, run=run)


def with_tournament(address: str | None) -> str:
    """Return the address with the number of its tournament, by default the latest one there."""
    text, _ = _split(address or "")
    return f"{text}#{find_tournament(address).tournament_id}"


@contextmanager
def open_sources(addresses: Sequence[str | None], *, luck_games: int | None = None) -> Iterator[list[Source]]:
    """Open the games at some addresses: those of a tournament, of a whole store, or of records.

    With `luck_games`, games have what their seats won by chance, so that it is taken off their scores; see
    `luck_adjusted.luck_evaluator`.
    """
    with ExitStack() as opened:
        sources = [opened.enter_context(closing(_source(address))) for address in addresses]
        configs = (config for source in sources for config in configs_of(source.tournaments()).values())
        if luck_games is not None or any(config.luck_evaluator for config in configs):  # of a sequential test
            from happycity_tournament import luck_adjusted  # it imports numpy

            if luck_games is not None:
                opened.enter_context(luck_adjusted.refusing_large_luck())
            sources = [luck_adjusted.LuckAdjusted(source, luck_games=luck_games) for source in sources]
        yield sources


def refuse_overwriting(source: Source, out: Path) -> None:
    """Refuse to overwrite a source."""
    if out.exists() and any(file.samefile(out) for file in source.files):
        raise ConfigError(f"--out: {out} is the source itself")


def find_game(source: str | None, game: str | None) -> tuple[FinishedGame, str]:
    """Return the game that `[SOURCE] [GAME]` names, with its record.

    GAME is a match id, or a game's number in a file of records. A single number is a GAME of the default
    place. A game that has no record is refused.
    """
    found, record = _named_game(*game_arguments(source, game))
    if record is None:
        raise ConfigError(
            f"game {found.match_id} was stored without a record, so nothing is known of its moves"
        )
    return found, record


def game_arguments(source: str | None, game: str | None) -> tuple[str | None, int | None]:
    """Return the source and the match id of `[SOURCE] [GAME]`; a single number that is no file is a GAME."""
    if game is None and source is not None and source.isdecimal() and not os.path.exists(source):
        source, game = None, source
    if game is None:
        return source, None
    number = _number(game)
    if not number:
        raise ConfigError(f"GAME: {game[:40]!r} is not the id of a game; this lists games: {LIST_GAMES}")
    return source, number


def find_run(address: str | None) -> Run | None:
    """Return the run that an address names, by default the latest one; None for any other place.

    With a number, it is the run as if it had played that tournament.
    """
    text, number = _split(address or "")
    if not is_run(Path(text)) if text else os.environ.get(SERVER_VARIABLE):
        return None
    run = _load_run(Path(text) if text else latest_run())
    return run.model_copy(update={"tournament_id": number or run.tournament_id})


def server_playing(address: str | None) -> RemoteServer:
    """Return the server that an address names, or the one on which its run is being played."""
    location = location_at(address)
    if isinstance(location.at, RemoteServer):
        return location.at
    run = location.run
    server = None if run is None else RemoteServer.of_run(run.folder)
    if server is None:
        name = location.name if run is None else run.folder
        raise ConfigError(f"{name} is not being played now; look at its finished games without --follow")
    return server


def url_of(store: str) -> str:
    """Return the URL of a store that is named by its URL or its SQLite file."""
    return store if "://" in store else f"sqlite:///{Path(store).as_posix()}"


def is_run(path: Path) -> bool:
    """Return whether a path is the folder of a run."""
    return os.path.isfile(path / RUN_FILE)


def _split(text: str) -> tuple[str, int | None]:
    """Split an address at its last `#`, unless it is the path of a file."""
    place, mark, number = text.rpartition("#")
    if not mark or os.path.exists(text):
        return text, None
    value = _number(number)
    if not value:
        raise ConfigError(f"{text[:_SHOWN]}: {number[:40]!r} is not the number of a tournament")
    return place, value


def _number(text: str) -> int:
    """Return a number from 1 to the largest id; 0 if the text is something else."""
    # Its length first: Python refuses to read a number of thousands of digits.
    if not text.isdecimal() or len(text) > len(str(LARGEST_ID)) or int(text) > LARGEST_ID:
        return 0
    return int(text)


def _location_of_run(folder: Path, number: int | None) -> Location:
    run = _load_run(folder)
    at = run.venue.store if isinstance(run.venue, OwnServer) else run.venue
    return Location(at=at, tournament_id=number or run.tournament_id, run=run)


def _load_run(folder: Path) -> Run:
    """Return the run of a folder, with the token of the environment if others run its server."""
    run = Run.load(folder)
    if isinstance(run.venue, OwnServer):
        return run
    saved, present = run.venue.access, Access.from_env()
    access = Access(
        token=present.token,
        ca=present.ca or saved.ca,
        cert=present.cert or saved.cert,
        key=present.key or saved.key,
    )
    return run.model_copy(update={"venue": replace(run.venue, access=access)})


def _ids(location: Location) -> list[int]:
    """Return the numbers of all tournaments of a place, newest first."""
    if isinstance(location.at, RemoteServer):
        snapshots = call_server(location.at, lambda connection: connection.tournaments())
        return [snapshot.tournament_id for snapshot in snapshots]
    with Store.existing(location.at) as store:
        return [stored.id for stored in store.tournaments(None)]


def _source(address: str | None) -> Source:
    text, number = _split(address or "")
    if (records := _records(text)) is not None:
        if number is not None:
            raise ConfigError(f"{text}: records don't name their tournament; leave #{number} out")
        return RecordSource(records)
    location = location_at(address)
    if isinstance(location.at, RemoteServer):
        return ServerSource(location.at, find_tournament(address).tournament_id)
    if location.run is None and "://" in text:
        return StoreSource(location.at, tournament=number)
    name = f"{text if location.run is None else location.run.folder}{'' if number is None else f'#{number}'}"
    return StoreSource(location.at, name=name, tournament=location.tournament_id)


def _named_game(source: str | None, match_id: int | None) -> RecordedGame:
    text, number = _split(source or "")
    if match_id is not None and number is None and _records(text) is None:
        location = location_at(source)
        if isinstance(location.at, RemoteServer) and location.run is None:
            # A game of any tournament, or of none.
            return call_server(location.at, lambda connection: connection.game(match_id))
    with open_sources([source]) as (opened,):
        return opened.game(match_id)


def _records(text: str) -> Path | None:
    """Return the file or folder of records that a text names; None if it names something else."""
    path = Path(text)
    is_place = not text or "://" in text or not os.path.exists(text) or is_run(path)
    return None if is_place or is_sqlite(path) or _is_unbegun(path) else path


def _is_unbegun(folder: Path) -> bool:
    """Return whether a folder without a tournament has what is in that of a run."""
    return any(os.path.exists(folder / name) for name in (COMMITMENT_FILE, TOKENS_FILE))


def _not_a_location(text: str) -> str:
    """Return why a text that is no run, store or server can't be used, and what may be meant."""
    shown = one_line(text)[:_SHOWN]
    if _HOST_AND_PORT.fullmatch(text):
        return f"{shown}: there is no such file or folder; a server is named by grpc://{shown}"
    if text.isdecimal() and not os.path.exists(text):
        return f"{shown}: a tournament is named by its place too, such as grpc://HOST:PORT#{shown}"
    if _is_unbegun(Path(text)):
        return f"{shown}: no tournament began in it; what its programs printed is in its *.log files"
    if os.path.exists(text):
        return f"{shown} is neither a run's folder nor a store"
    runs = list(map(str, run_folders()))
    return f"{shown}: there is no such file or folder" + (f"; {suggestion(shown, runs)}" if runs else "")
