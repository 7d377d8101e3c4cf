"""Find the tournament or the games that the arguments of a command name; the rules are the same for all.

A HappyCityError says if they name nothing or several tournaments, contradict each other, or can't be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import fields, replace
from pathlib import Path

from happycity import ConfigError
from happycity.errors import suggestion
from happycity.runtime.transport import Access
from happycity_tournament.arena.locations import (
    Location,
    ServerLocation,
    ServerSource,
    StoreLocation,
    call_server,
)
from happycity_tournament.arena.run_folder import (
    RUN_FILE,
    OwnServer,
    RemoteServer,
    Run,
    latest_run,
    run_folders,
)
from happycity_tournament.cli.settings import ConnectionSettings
from happycity_tournament.games import FinishedGame
from happycity_tournament.storage import Store
from happycity_tournament.storage.schema import LARGEST_ID
from happycity_tournament.storage.sources import (
    LIST_GAMES,
    RecordedGame,
    Source,
    StoreSource,
    is_sqlite,
    open_source,
)

LONGEST_ID = len(str(LARGEST_ID))


def locate(which: str | None, connection: ConnectionSettings, store: str | None) -> Location:
    """Return the tournament that `WHICH`, `--server` and `--store` name; by default the latest run's."""
    check_place(connection, store)
    if connection.server is not None:
        server = RemoteServer(address=connection.server, access=connection.access)
        return ServerLocation(server=server, tournament_id=_id_on_server(which, server))
    if store is not None and (which is None or which.isdecimal()):
        return _in_store(store, which)
    if which is not None and (_is_url(which) or is_sqlite(Path(which))):
        if store is not None:
            raise ConfigError(f"--store: {which} is a store itself; name a tournament in it by its id")
        return _in_store(which, None)
    if which is not None and which.isdecimal() and not Path(which).exists():
        raise ConfigError(f"{which}: add --server or --store to say where the tournament with this id is")
    return _location_of(load_run(which, connection, store))


def check_place(connection: ConnectionSettings, store: str | None) -> None:
    """Refuse `--server` together with `--store`."""
    if connection.server is not None and store is not None:
        raise ConfigError("--store, --server: a server has a store of its own; name one of them")


def load_run(which: str | None, connection: ConnectionSettings, store: str | None = None) -> Run:
    """Return the run in a folder, by default the latest one, with the secrets that its file doesn't keep.

    These are the token of `connection`, and the password in the URL of the store.
    """
    if which is not None:
        _check_exists(which)
    run = Run.load(latest_run() if which is None else Path(which))
    if isinstance(run.venue, OwnServer):
        return run if store is None else replace(run, venue=replace(run.venue, store=url_of(store)))
    if store is not None:
        raise ConfigError(f"--store: the tournament of {run.folder} is on the server {run.venue.address}")
    access = _merged(run.venue.access, connection.access)
    return replace(run, venue=RemoteServer(address=run.venue.address, access=access))


def _location_of(run: Run) -> Location:
    """Return where a run's tournament is: on a server, or in a store that no server uses."""
    if isinstance(run.venue, RemoteServer):
        return ServerLocation(server=run.venue, tournament_id=run.tournament_id, run=run)
    with Store.existing(run.venue.store) as store:
        claimed = store.is_claimed()
    if not claimed:
        return StoreLocation(url=run.venue.store, tournament_id=run.tournament_id, run=run)
    server = RemoteServer.of_run(run.folder)
    if server is None:
        raise ConfigError(
            f"the store of {run.folder} is in use by a server that the run didn't start; "
            f"name the tournament by its id on that server: {run.tournament_id} --server ADDRESS"
        )
    return ServerLocation(server=server, tournament_id=run.tournament_id, run=run)


@contextmanager
def sources_of(
    texts: Sequence[str | None], connection: ConnectionSettings, store: str | None, *, tournament: int | None
) -> Iterator[list[Source]]:
    """Open the games that `SOURCE...`, `--server` and `--store` name; for None those of the latest run.

    With a server or a store, a text may be a tournament's id.
    """
    check_place(connection, store)
    with ExitStack() as opened:
        sources = (_source(text, connection, store, tournament=tournament) for text in texts)
        yield [opened.enter_context(closing(source)) for source in sources]


def find_game(
    source: str | None, game: str | None, connection: ConnectionSettings, store: str | None
) -> tuple[FinishedGame, str]:
    """Return the game that `[SOURCE] [GAME]`, `--server` and `--store` name, with its record.

    GAME is a match id, or a game's number in a record file. A single number that is no file is a GAME: one of
    the latest run, or with a server or a store any game there. A game that has no record is refused.
    """
    found, record = _named_game(source, game, connection, store)
    if record is None:
        raise ConfigError(
            f"game {found.match_id} was stored without a record, so nothing is known of its moves"
        )
    return found, record


def _named_game(
    source: str | None, game: str | None, connection: ConnectionSettings, store: str | None
) -> RecordedGame:
    source, match_id = game_arguments(source, game)
    if connection.server is not None and source is None and match_id is not None:
        check_place(connection, store)
        server = RemoteServer(address=connection.server, access=connection.access)
        return call_server(server, lambda opened: opened.game(match_id))
    with sources_of([source], connection, store, tournament=None) as (opened,):
        return opened.game(match_id)


def game_arguments(source: str | None, game: str | None) -> tuple[str | None, int | None]:
    """Return the source and the match id of `[SOURCE] [GAME]`; a single number that is no file is a GAME."""
    if game is None and source is not None and source.isdecimal() and not Path(source).exists():
        source, game = None, source
    if game is None:
        return source, None
    if not game.isdecimal() or len(game) > LONGEST_ID or not 0 < int(game) <= LARGEST_ID:
        raise ConfigError(f"GAME: {game[:40]!r} is not the id of a game; this lists games: {LIST_GAMES}")
    return source, int(game)


def run_of(text: str | None, connection: ConnectionSettings, store: str | None) -> Run | None:
    """Return the run that `SOURCE` names, by default the latest one; None if it isn't a run."""
    if connection.server is not None or store is not None or (text is not None and not _is_run(text)):
        return None
    return load_run(text, connection, store)


def server_of(source: str | None, connection: ConnectionSettings) -> RemoteServer:
    """Return the server that `--server` names, or the one on which a run is being played."""
    if connection.server is not None:
        return RemoteServer(address=connection.server, access=connection.access)
    run = load_run(source, connection)
    server = run.venue if isinstance(run.venue, RemoteServer) else RemoteServer.of_run(run.folder)
    if server is None:
        raise ConfigError(
            f"{run.folder} is not being played now; look at its finished games without --follow"
        )
    return server


def one_tournament(source: Source) -> int | None:
    """Return the id of a source's only tournament, None if it has none; refuse a source with several."""
    tournaments = source.tournaments()
    if len(tournaments) > 1:
        raise ConfigError(f"{source.name} has {len(tournaments)} tournaments; name one with --tournament")
    return tournaments[0].id if tournaments else None


def _source(
    text: str | None, connection: ConnectionSettings, store: str | None, *, tournament: int | None
) -> Source:
    if connection.server is not None or store is not None:
        if text is not None and tournament is not None and text != str(tournament):
            raise ConfigError(f"{text}, --tournament: name the tournament by one of them")
        text = text or (str(tournament) if tournament is not None else None)
    if connection.server is not None:
        location = locate(text, connection, store)
        assert isinstance(location, ServerLocation)
        return ServerSource(location.server, location.tournament_id)
    if store is not None and (text is None or text.isdecimal()):
        return StoreSource(url_of(store), tournament=None if text is None else _id(text, "in the store"))
    if text is None or _is_run(text):
        run = load_run(text, connection, store)
        chosen = run.tournament_id if tournament is None else tournament
        if isinstance(run.venue, RemoteServer):
            return ServerSource(run.venue, chosen)
        return StoreSource(run.venue.store, name=str(run.folder), tournament=chosen)
    if store is not None:
        raise ConfigError(f"--store: {text} is read without a store; name one of them")
    _check_exists(text)
    return open_source(text, tournament=tournament)


def _check_exists(text: str) -> None:
    """Refuse a file or folder that isn't there; where there are runs, one of them may be meant."""
    runs = list(map(str, run_folders()))
    if runs and not _is_url(text) and not Path(text).exists():
        raise ConfigError(f"{text}: there is no such file or folder; {suggestion(text, runs)}")


def _is_run(text: str) -> bool:
    return not _is_url(text) and (Path(text) / RUN_FILE).is_file()


def _is_url(text: str) -> bool:
    return "://" in text


def url_of(store: str) -> str:
    """Return the URL of a store that is named by its URL or its SQLite file."""
    return store if _is_url(store) else f"sqlite:///{Path(store).as_posix()}"


def _in_store(store: str, which: str | None) -> StoreLocation:
    url = url_of(store)
    if which is not None:
        return StoreLocation(url=url, tournament_id=_id(which, "in the store"))
    with Store.existing(url) as opened:
        name, ids = opened.url, [tournament.id for tournament in opened.tournaments(None)]
    return StoreLocation(url=url, tournament_id=_only(ids, name, "--store"))


def _id_on_server(which: str | None, server: RemoteServer) -> int:
    if which is not None:
        return _id(which, f"on {server.address}")
    snapshots = call_server(server, lambda connection: connection.tournaments())
    return _only([snapshot.tournament_id for snapshot in snapshots], server.address, "--server")


def _id(text: str, place: str) -> int:
    """Read the id of a tournament, by its digits first: Python reads no number of thousands of them."""
    if not text.isdecimal() or len(text) > LONGEST_ID or int(text) > LARGEST_ID:
        raise ConfigError(f"{text[:40]!r} is not the id of a tournament {place}")
    return int(text)


def _only(ids: Sequence[int], place: str, flag: str) -> int:
    if len(ids) != 1:
        how = f"; name one by its id: ID {flag} {place}" if ids else ""
        raise ConfigError(f"{place} has {len(ids) or 'no'} tournaments{how}")
    return ids[0]


def _merged(saved: Access, present: Access) -> Access:
    """Return the access of a run's file, with the settings that the command was called with."""
    names = [entry.name for entry in fields(Access)]
    return Access(**{name: getattr(present, name) or getattr(saved, name) for name in names})
